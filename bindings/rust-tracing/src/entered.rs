// SPDX-License-Identifier: Apache-2.0
//! The spans that a thread has entered, each with the guard that puts back what was there before.
//!
//! Guards end in the reverse of their order. Spans may be exited in another: one that is not the
//! innermost stays in its place until those that were entered after it are exited, too.

use std::cell::RefCell;
use tracing_core::span::Id;

struct Entered {
    id: Id,
    is_over: bool,
    _guard: weft::Span,
}

struct Stack(Vec<Entered>);

impl Drop for Stack {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

thread_local! {
    static ENTERED: RefCell<Stack> = const { RefCell::new(Stack(Vec::new())) };
}

/// A thread that is nearly gone has no stack any more: nothing is shown for it.
fn with_stack<T: Default>(f: impl FnOnce(&mut Vec<Entered>) -> T) -> T {
    ENTERED
        .try_with(|stack| f(&mut stack.borrow_mut().0))
        .unwrap_or_default()
}

pub(crate) fn push(id: &Id, update: weft::Update<'_>) {
    with_stack(|stack| {
        stack.push(Entered {
            id: id.clone(),
            is_over: false,
            _guard: weft::Span::update(update),
        })
    });
}

pub(crate) fn pop(id: &Id) {
    with_stack(|stack| {
        if let Some(entered) = stack
            .iter_mut()
            .rev()
            .find(|one| !one.is_over && one.id == *id)
        {
            entered.is_over = true;
        }
        while stack.last().is_some_and(|one| one.is_over) {
            stack.pop();
        }
    });
}

pub(crate) fn is_innermost(id: &Id) -> bool {
    with_stack(|stack| stack.last().is_some_and(|one| one.id == *id))
}
