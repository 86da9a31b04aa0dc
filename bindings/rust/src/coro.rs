// SPDX-License-Identifier: Apache-2.0
//! Futures that tell where they run and where they wait, by the probe of weft/coro.h: for
//! `weft coro run` and other engines of cTP, and where libweft is linked (the feature `context`),
//! with a context that goes from thread to thread with the future.
//!
//! ```
//! use weft::coro::Traced;
//!
//! async fn serve(order: u64) -> u64 {
//!     std::future::ready(order).here().await + 1
//! }
//! let task = serve(7).traced(); // to be polled by whatever executor
//! # drop(task);
//! ```
//!
//! A future is born by [`Traced::traced`], resumed at each poll, suspended where a poll is
//! pending, and over when it is ready, panics or is dropped. Its waker is wrapped, so that it is
//! known from when it could have run.
//!
//! Where it waits is the address of its `poll` function, which names the `async` block or function,
//! and better: of the innermost `.await` that is marked by [`Traced::here`] and is pending.
//!
//! In a traced future the context is set by [`set`](crate::set) and
//! [`set_label`](crate::set_label), which stay the future's own over each `.await`. Guards are for
//! code between two of them.
//!
//! Without an engine and without libweft each poll is a few instructions more; `traced()`
//! allocates once.

use crate::sys;
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::future::Future;
use std::os::raw::c_void;
use std::panic::Location;
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// An address of code, as the trace has it; 0 = not told.
type Address = usize;

thread_local! {
    /// The marked `.await` that has just turned out to be pending.
    static PENDING_AT: Cell<Address> = const { Cell::new(0) };
}

/// Where it is called, in the caller that it is inlined into.
#[inline(always)]
fn address_here() -> Address {
    // SAFETY: takes nothing.
    unsafe { sys::weft_rs_here() as Address }
}

/// The code of a future: its symbol is the name of the `async` function or block.
fn code_of<F: Future>() -> Address {
    let poll: fn(Pin<&mut F>, &mut Context<'_>) -> Poll<F::Output> = F::poll;

    poll as Address
}

/// What goes with the future, in libweft.
fn carry() -> *const c_void {
    #[cfg(feature = "context")]
    #[allow(unused_unsafe)] // older compilers want it
    // SAFETY: its address alone.
    let carry = unsafe { ptr::addr_of!(sys::weft_coro_carry_v1) };
    #[cfg(not(feature = "context"))]
    let carry = ptr::null::<u8>();

    carry.cast()
}

/// A coroutine as the probe knows it, and as wakers hold it.
struct Shared {
    memory: UnsafeCell<sys::Coro>,
    /// Wakes may come at any time, but not after its end.
    is_alive: Mutex<bool>,
}

// SAFETY: all but wake() is called by who polls or drops the future, and has it exclusively;
// wake() may come from any thread while it is alive, which the lock says.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn new(options: &Tracing, site: Address) -> Arc<Shared> {
        let shared = Arc::new(Shared {
            memory: UnsafeCell::new(sys::Coro::ZERO),
            is_alive: Mutex::new(true),
        });

        // SAFETY: the memory stays where it is, and nobody else knows it yet.
        unsafe {
            sys::weft_rs_coro_create(
                shared.memory.get(),
                options.id,
                site as *const _,
                options.flags,
                carry(),
            )
        };
        shared
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_alive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        let mut is_alive = self.lock();

        if std::mem::replace(&mut *is_alive, false) {
            // SAFETY: the owner calls; no wake is under way.
            unsafe { sys::weft_rs_coro_destroy(self.memory.get()) };
        }
    }

    fn wake(&self) {
        let is_alive = self.lock();

        if *is_alive {
            // SAFETY: it is alive as long as the lock is held.
            unsafe { sys::weft_rs_coro_wake(self.memory.get()) };
        }
    }
}

/// The executor's waker, and what the trace is to know of it.
struct TellingWaker {
    shared: Arc<Shared>,
    inner: Waker,
}

impl Wake for TellingWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// Told first: afterwards it may run, and be over.
    fn wake_by_ref(self: &Arc<Self>) {
        self.shared.wake();
        self.inner.wake_by_ref();
    }
}

/// How a future is traced; [`Traced::traced`] is all defaults.
#[derive(Clone, Debug, Default)]
pub struct Tracing {
    id: u64,
    flags: u32,
    leaves_waker: bool,
}

impl Tracing {
    /// All defaults.
    pub fn new() -> Tracing {
        Tracing::default()
    }

    /// Its number in the trace. 0: one that no other has.
    pub fn id(mut self, id: u64) -> Tracing {
        self.id = id;
        self
    }

    /// It begins with no context, rather than with that of who creates it.
    pub fn detached(mut self) -> Tracing {
        self.flags |= sys::CORO_DETACHED;
        self
    }

    /// The waker is passed on as it is: wakes are not told.
    pub fn without_wakes(mut self) -> Tracing {
        self.leaves_waker = true;
        self
    }

    /// Traces this future.
    #[track_caller]
    #[inline(always)]
    pub fn trace<F: Future>(&self, future: F) -> TracedFuture<F> {
        self.trace_at(future, address_here(), Location::caller())
    }

    fn trace_at<F: Future>(
        &self,
        future: F,
        site: Address,
        location: &'static Location<'static>,
    ) -> TracedFuture<F> {
        TracedFuture {
            shared: Shared::new(self, site),
            waker: None,
            leaves_waker: self.leaves_waker,
            waits_at: code_of::<F>(),
            location,
            future,
        }
    }
}

/// What every future can do then.
pub trait Traced: Future + Sized {
    /// This future is a coroutine of its own in traces: for what is spawned.
    #[track_caller]
    #[inline(always)]
    fn traced(self) -> TracedFuture<Self> {
        Tracing::default().trace_at(self, address_here(), Location::caller())
    }

    /// When this future is pending, then the traced one around it waits here: for what is awaited.
    #[track_caller]
    #[inline(always)]
    fn here(self) -> Here<Self> {
        Here {
            address: address_here(),
            location: Location::caller(),
            future: self,
        }
    }
}

impl<F: Future> Traced for F {}

/// A future that tells; of [`Traced::traced`].
#[must_use = "futures do nothing unless polled"]
pub struct TracedFuture<F> {
    shared: Arc<Shared>,
    waker: Option<(Waker, Arc<TellingWaker>)>,
    leaves_waker: bool,
    waits_at: Address,
    location: &'static Location<'static>,
    future: F,
}

impl<F> TracedFuture<F> {
    /// Where it was made.
    pub fn location(&self) -> &'static Location<'static> {
        self.location
    }
}

/// The waker that tells, for the executor's; the same one as long as that is the same.
fn telling<'a>(
    kept: &'a mut Option<(Waker, Arc<TellingWaker>)>,
    shared: &Arc<Shared>,
    inner: &Waker,
) -> &'a Waker {
    if !matches!(kept, Some((_, telling)) if telling.inner.will_wake(inner)) {
        let telling = Arc::new(TellingWaker {
            shared: Arc::clone(shared),
            inner: inner.clone(),
        });

        *kept = Some((Waker::from(Arc::clone(&telling)), telling));
    }
    kept.as_ref().map(|(waker, _)| waker).expect("just made")
}

/// From resume to the end of a poll, whichever way that is left.
struct Running<'a> {
    shared: &'a Shared,
    outer: Address,
}

impl Running<'_> {
    fn begin(shared: &Shared, address: Address) -> Running<'_> {
        let outer = PENDING_AT.with(|at| at.replace(0));

        // SAFETY: it is polled, so nobody else resumes it.
        unsafe { sys::weft_rs_coro_resume(shared.memory.get(), address as *const _) };
        Running { shared, outer }
    }

    /// Where it waits now, or where it did.
    fn suspend(self, before: Address) -> Address {
        let marked = PENDING_AT.with(|at| at.replace(self.outer));
        let address = if marked == 0 { before } else { marked };

        // SAFETY: as above.
        unsafe { sys::weft_rs_coro_suspend(self.shared.memory.get(), address as *const _) };
        std::mem::forget(self);
        address
    }
}

/// Ready, or a panic: it is over.
impl Drop for Running<'_> {
    fn drop(&mut self) {
        PENDING_AT.with(|at| at.set(self.outer));
        self.shared.end();
    }
}

impl<F: Future> Future for TracedFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is not moved: it is pinned as long as this is, and there is no other
        // way to it.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        let running = Running::begin(&this.shared, this.waits_at);
        let polled = if this.leaves_waker {
            future.poll(context)
        } else {
            let waker = telling(&mut this.waker, &this.shared, context.waker());

            future.poll(&mut Context::from_waker(waker))
        };

        if polled.is_pending() {
            this.waits_at = running.suspend(code_of::<F>());
        }
        polled
    }
}

/// It ends before what is in it is dropped.
impl<F> Drop for TracedFuture<F> {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl<F> fmt::Debug for TracedFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracedFuture")
            .field("location", &format_args!("{}", self.location))
            .field("waits_at", &(self.waits_at as *const u8))
            .finish_non_exhaustive()
    }
}

/// A future that is awaited at a known place; of [`Traced::here`].
#[must_use = "futures do nothing unless polled"]
pub struct Here<F> {
    address: Address,
    location: &'static Location<'static>,
    future: F,
}

impl<F> Here<F> {
    /// Where it is awaited.
    pub fn location(&self) -> &'static Location<'static> {
        self.location
    }
}

impl<F: Future> Future for Here<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is not moved, as above.
        let this = unsafe { self.get_unchecked_mut() };
        let before = PENDING_AT.with(|at| at.replace(0));
        // SAFETY: as above.
        let polled = unsafe { Pin::new_unchecked(&mut this.future) }.poll(context);

        PENDING_AT.with(|at| {
            if polled.is_ready() {
                at.set(before);
            } else if at.get() == 0 {
                at.set(this.address); // else something within has said it better
            }
        });
        polled
    }
}

impl<F> fmt::Debug for Here<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Here")
            .field("location", &format_args!("{}", self.location))
            .finish_non_exhaustive()
    }
}

/// Up to 28 bytes of the program's own, to go along with the next event of the traced future that
/// runs on this thread. How many were taken; 0 where none runs.
pub fn payload(bytes: impl AsRef<[u8]>) -> usize {
    let bytes = bytes.as_ref();

    // SAFETY: read during the call.
    unsafe { sys::weft_rs_coro_payload(bytes.as_ptr().cast(), bytes.len()) }
}

/// Does a traced future (or another language's coroutine) run on this thread?
pub fn is_running() -> bool {
    // SAFETY: takes nothing.
    unsafe { sys::weft_rs_coro_is_running() != 0 }
}

impl sys::Coro {
    /// As the probe wants it before create.
    pub(crate) const ZERO: sys::Coro = sys::Coro {
        words: [0; sys::CORO_WORDS],
    };
}
