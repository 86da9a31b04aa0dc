// SPDX-License-Identifier: Apache-2.0
//! Ids, tags and labels that change as one.

use crate::label::{chars, result_of};
use crate::{sys, Context, LabelResult, Refused};
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

/// Ids, tags and labels that change as one: a reader sees all of it or nothing.
///
/// ```
/// let mut update = weft::Update::new().set("tenant", "acme").remove("route");
/// update.apply().unwrap();
/// assert_eq!(update.result(1), Ok(weft::LabelSet::Absent));
/// # weft::clear_labels();
/// ```
#[must_use = "apply() does it, or Span::update()"]
pub struct Update<'a> {
    context: Option<Context>,
    labels: [MaybeUninit<sys::Label>; sys::LABELS_MOST],
    count: usize,
    flags: u32,
    overflown: bool,
    strings: PhantomData<&'a [u8]>,
}

impl Default for Update<'_> {
    fn default() -> Self {
        Update::new()
    }
}

impl<'a> Update<'a> {
    /// Nothing yet.
    pub fn new() -> Update<'a> {
        Update {
            context: None,
            labels: [MaybeUninit::uninit(); sys::LABELS_MOST],
            count: 0,
            flags: 0,
            overflown: false,
            strings: PhantomData,
        }
    }

    fn add(mut self, key: &'a [u8], value: Option<&'a [u8]>) -> Update<'a> {
        if self.count == sys::LABELS_MOST {
            self.overflown = true;
            return self;
        }
        self.labels[self.count] = MaybeUninit::new(sys::Label {
            key: chars(key),
            key_bytes: key.len(),
            value: value.map_or(ptr::null(), chars),
            value_bytes: value.map_or(0, <[u8]>::len),
            result: 0,
        });
        self.count += 1;
        self
    }

    /// Ids, trace id and tags.
    pub fn context(mut self, context: Context) -> Update<'a> {
        self.context = Some(context);
        self
    }

    /// A label. Of the same key the last one counts.
    pub fn set<K, V>(self, key: &'a K, value: &'a V) -> Update<'a>
    where
        K: AsRef<[u8]> + ?Sized,
        V: AsRef<[u8]> + ?Sized,
    {
        self.add(key.as_ref(), Some(value.as_ref()))
    }

    /// A label goes.
    pub fn remove<K: AsRef<[u8]> + ?Sized>(self, key: &'a K) -> Update<'a> {
        self.add(key.as_ref(), None)
    }

    /// Labels that are not named here go.
    pub fn replace(mut self) -> Update<'a> {
        self.flags |= sys::UPDATE_REPLACE;
        self
    }

    /// Does it. It may be done again.
    ///
    /// # Errors
    ///
    /// That of the first label that was refused; the others took effect.
    pub fn apply(&mut self) -> Result<(), Refused> {
        let context = self
            .context
            .as_ref()
            .map_or(ptr::null(), |c| c as *const Context);
        // SAFETY: the first @count labels are set, and their strings live as long as 'a.
        let code = unsafe {
            sys::weft_context_update(
                context,
                self.labels.as_mut_ptr().cast(),
                self.count,
                self.flags,
            )
        };

        result_of(code)?;
        if self.overflown {
            return Err(Refused::NoRoom);
        }
        Ok(())
    }

    /// What became of the `n`-th label, after [`Update::apply`].
    ///
    /// # Errors
    ///
    /// [`Refused`]; for a label behind the 32nd there was no room.
    pub fn result(&self, n: usize) -> LabelResult {
        if n >= self.count {
            return Err(Refused::NoRoom);
        }
        // SAFETY: the first @count are set.
        result_of(unsafe { self.labels[n].assume_init_ref() }.result)
    }
}

impl fmt::Debug for Update<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Update")
            .field("context", &self.context)
            .field("labels", &self.count)
            .finish_non_exhaustive()
    }
}
