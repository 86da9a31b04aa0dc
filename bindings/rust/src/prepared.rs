// SPDX-License-Identifier: Apache-2.0
//! Contexts with their labels, prepared once and attached by pointer: for tasks and futures.

use crate::label::{chars, result_of};
use crate::{sys, Context, LabelResult};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
use std::task::{self, Poll};

struct Owned(*mut sys::Prepared);

// SAFETY: what it leads to never changes, and may be attached and freed on any thread.
unsafe impl Send for Owned {}
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: made by weft_context_prepare(), or null; nobody attaches it any more.
        unsafe { sys::weft_context_free(self.0) }
    }
}

/// A context with its labels, made once. Clones are the same one; any number of threads may have it
/// attached.
///
/// ```
/// let request = weft::Prepared::new(&weft::Context::new(7, 7), &[("tenant", "acme")]);
/// let worker = {
///     let request = request.clone();
///     std::thread::spawn(move || {
///         let _attached = request.attach();
///         assert_eq!(weft::current().span_id, 7);
///         assert_eq!(weft::get_label("tenant").unwrap(), *"acme");
///     })
/// };
/// worker.join().unwrap();
/// ```
#[derive(Clone)]
pub struct Prepared {
    of: Arc<Owned>,
}

impl Prepared {
    /// With these labels, of which those that are refused are left out: see
    /// [`Prepared::with_results`]. Tags of the context are not looked at.
    pub fn new<K: AsRef<[u8]>, V: AsRef<[u8]>>(context: &Context, labels: &[(K, V)]) -> Prepared {
        Prepared::with_results(context, labels, |_, _| ())
    }

    /// The same; tells what became of each label. Only the first 32 are looked at.
    pub fn with_results<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        context: &Context,
        labels: &[(K, V)],
        mut tell: impl FnMut(usize, LabelResult),
    ) -> Prepared {
        let none = sys::Label {
            key: ptr::null(),
            key_bytes: 0,
            value: ptr::null(),
            value_bytes: 0,
            result: 0,
        };
        let mut batch = [none; sys::LABELS_MOST];
        let count = labels.len().min(batch.len());

        for (to, (key, value)) in batch.iter_mut().zip(labels) {
            let (key, value) = (key.as_ref(), value.as_ref());
            *to = sys::Label {
                key: chars(key),
                key_bytes: key.len(),
                value: chars(value),
                value_bytes: value.len(),
                result: 0,
            };
        }
        // SAFETY: the first @count labels are set, and nothing of them is kept.
        let of = unsafe { sys::weft_context_prepare(context, batch.as_mut_ptr(), count) };
        for (n, label) in batch[..count].iter().enumerate() {
            tell(n, result_of(label.result));
        }
        Prepared {
            of: Arc::new(Owned(of)),
        }
    }

    /// The thread works for it until the guard is dropped.
    pub fn attach(&self) -> Attached {
        let mut before = MaybeUninit::uninit();

        // SAFETY: fills in the struct, which may be moved; @of lives.
        unsafe {
            sys::weft_context_attach(before.as_mut_ptr(), self.of.0);
            Attached {
                before: before.assume_init(),
                not_send: PhantomData,
            }
        }
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
}

/// What the thread works for is a [`Prepared`] until this is dropped; then everything is as it was.
#[must_use = "it ends where the guard is dropped"]
#[derive(Debug)]
pub struct Attached {
    before: sys::Attached,
    not_send: PhantomData<*mut ()>,
}

impl Attached {
    /// Ends it, as dropping does.
    pub fn detach(self) {}
}

impl Drop for Attached {
    fn drop(&mut self) {
        // SAFETY: filled in by weft_context_attach(), on this thread.
        unsafe { sys::weft_context_detach(&mut self.before) }
    }
}

/// A future that has a context wherever it is polled: see [`InContext::in_context`].
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct WithContext<F> {
    prepared: Prepared,
    future: F,
}

impl<F: Future> Future for WithContext<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        // SAFETY: @future is not moved out of its place, which is pinned with this.
        let this = unsafe { self.get_unchecked_mut() };
        let _attached = this.prepared.attach();

        // SAFETY: as above.
        unsafe { Pin::new_unchecked(&mut this.future) }.poll(cx)
    }
}

/// For all futures.
///
/// ```
/// use weft::InContext;
///
/// async fn handle() -> u64 {
///     weft::current().span_id // on whichever thread, before and after each `.await`
/// }
/// let request = weft::Prepared::new(&weft::Context::new(7, 7), &[("tenant", "acme")]);
/// let task = handle().in_context(&request); // spawn(task), on any executor
/// # let waker = std::sync::Arc::new(Nobody).into();
/// # struct Nobody;
/// # impl std::task::Wake for Nobody { fn wake(self: std::sync::Arc<Self>) {} }
/// # let mut task = Box::pin(task);
/// # match task.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
/// #     std::task::Poll::Ready(span) => assert_eq!(span, 7),
/// #     std::task::Poll::Pending => unreachable!(),
/// # }
/// # use std::future::Future;
/// # assert_eq!(weft::current().span_id, 0);
/// ```
pub trait InContext: Future + Sized {
    /// The context is attached for each poll, and detached after it: the task has it on whichever
    /// thread it runs, and the thread has its own in between. What the future sets itself lasts to
    /// the end of the poll.
    fn in_context(self, prepared: &Prepared) -> WithContext<Self> {
        WithContext {
            prepared: prepared.clone(),
            future: self,
        }
    }
}

impl<F: Future> InContext for F {}
