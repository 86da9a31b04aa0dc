// SPDX-License-Identifier: Apache-2.0
//! What weft has for the thread at each step of tracing's spans.

use std::future::Future;
use std::task::{Context, Poll, Waker};
use tracing::{info_span, Instrument, Span};
use tracing_subscriber::prelude::*;

/// Name and tenant of the current span; its id and root are not 0 where there is one.
fn seen() -> (Option<String>, Option<String>) {
    let text = |key| weft::get_label(key).map(|value| value.to_str().unwrap().to_owned());
    let ids = weft::current();

    assert_eq!(ids.span_id != 0, text("span.name").is_some());
    assert_eq!(ids.span_id != 0, ids.root_span_id != 0);
    (text("span.name"), text("tenant"))
}

fn named(name: &str) -> (Option<String>, Option<String>) {
    (Some(name.to_owned()), None)
}

fn of(name: &str, tenant: &str) -> (Option<String>, Option<String>) {
    (Some(name.to_owned()), Some(tenant.to_owned()))
}

const NOTHING: (Option<String>, Option<String>) = (None, None);

fn with_layer<T>(f: impl FnOnce() -> T) -> T {
    let layer = weft_tracing::layer().with_fields(["tenant"]);
    let subscriber = tracing_subscriber::registry().with(layer);

    tracing::subscriber::with_default(subscriber, f)
}

#[test]
fn spans_nest() {
    with_layer(|| {
        assert_eq!(seen(), NOTHING);
        let outer = info_span!("outer").entered();
        let root = weft::current();
        assert_eq!(seen(), named("outer"));
        assert_eq!(root.span_id, root.root_span_id);
        info_span!("inner").in_scope(|| {
            assert_eq!(seen(), named("inner"));
            assert_ne!(weft::current().span_id, root.span_id);
            assert_eq!(weft::current().root_span_id, root.span_id);
            info_span!(parent: None, "apart").in_scope(|| {
                assert_eq!(seen(), named("apart"));
                assert_eq!(weft::current().span_id, weft::current().root_span_id);
            });
        });
        assert_eq!(weft::current(), root);
        let outer = outer.exit();
        assert_eq!(seen(), NOTHING);
        let _again = outer.enter();
        assert_eq!(weft::current(), root);
    });
    assert_eq!(seen(), NOTHING);
}

#[test]
fn fields_are_labels() {
    with_layer(|| {
        let outer = info_span!("outer", tenant = "acme", other = 1).entered();
        assert_eq!(seen(), of("outer", "acme"));
        info_span!("inner").in_scope(|| assert_eq!(seen(), of("inner", "acme")));
        info_span!("inner", tenant = 7).in_scope(|| assert_eq!(seen(), of("inner", "7")));
        info_span!(parent: None, "apart").in_scope(|| assert_eq!(seen(), named("apart")));
        assert_eq!(seen(), of("outer", "acme"));
        outer.record("tenant", "globex");
        assert_eq!(seen(), of("outer", "globex"));
        assert!(weft::get_label("other").is_none());
    });
    assert_eq!(seen(), NOTHING);
}

#[test]
fn a_field_comes_late() {
    with_layer(|| {
        let span = info_span!("late", tenant = tracing::field::Empty);
        span.in_scope(|| assert_eq!(seen(), named("late")));
        span.in_scope(|| {
            span.record("tenant", tracing::field::display("acme"));
            assert_eq!(seen(), of("late", "acme"));
        });
        assert_eq!(seen(), NOTHING);
        span.in_scope(|| assert_eq!(seen(), of("late", "acme")));
    });
}

#[test]
fn what_was_there_comes_back() {
    let _own = weft::Span::enter(1, 2);
    let _label = weft::Label::set("tenant", "own");

    weft::tag_set(3, 77);
    with_layer(|| {
        info_span!("a", tenant = "acme").in_scope(|| {
            assert_eq!(seen(), of("a", "acme"));
            assert_eq!(weft::read().tags[3], 77);
        });
    });
    assert_eq!(weft::current().span_id, 1);
    assert_eq!(*weft::get_label("tenant").unwrap(), *b"own");
    weft::tag_set(3, 0);
}

#[test]
fn spans_end_in_any_order() {
    with_layer(|| {
        let (a, b) = (info_span!("a"), info_span!("b"));
        let (entered_a, entered_b) = (a.enter(), b.enter());

        drop(entered_a);
        assert_eq!(seen(), named("b"));
        drop(entered_b);
        assert_eq!(seen(), NOTHING);
        let _caught = std::panic::catch_unwind(|| {
            let _a = info_span!("a").entered();
            std::panic::resume_unwind(Box::new(()));
        });
        assert_eq!(seen(), NOTHING);
        let (once, twice) = (a.enter(), a.enter());
        drop(once);
        assert_eq!(seen(), named("a"));
        drop(twice);
        assert_eq!(seen(), NOTHING);
    });
}

#[test]
fn futures_carry_their_span() {
    async fn work(name: &str) {
        for _ in 0..3 {
            assert_eq!(seen(), named(name));
            tokio::task::yield_now().await;
        }
    }
    with_layer(|| {
        let mut futures = vec![
            Box::pin(work("a").instrument(info_span!("a"))),
            Box::pin(work("b").instrument(info_span!("b"))),
        ];
        let mut context = Context::from_waker(noop());

        while !futures.is_empty() {
            futures.retain_mut(|one| one.as_mut().poll(&mut context) == Poll::Pending);
            assert_eq!(seen(), NOTHING);
        }
    });
}

fn noop() -> &'static Waker {
    struct Nothing;
    impl std::task::Wake for Nothing {
        fn wake(self: std::sync::Arc<Self>) {}
    }
    Box::leak(Box::new(std::sync::Arc::new(Nothing).into()))
}

#[test]
fn a_span_goes_to_another_thread() {
    with_layer(|| {
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let outer = info_span!("outer", tenant = "acme").entered();
        let root = weft::current().span_id;
        let inner = info_span!("inner");

        std::thread::scope(|threads| {
            threads.spawn(|| {
                tracing::dispatcher::with_default(&dispatch, || {
                    inner.in_scope(|| {
                        assert_eq!(seen(), of("inner", "acme"));
                        assert_eq!(weft::current().root_span_id, root);
                    });
                    assert_eq!(seen(), NOTHING);
                });
            });
        });
        assert_eq!(weft::current().span_id, root);
        drop(outer);
    });
}

#[test]
fn the_name_has_a_label_of_choice_or_none() {
    let named = weft_tracing::layer().with_name_label("operation");
    let unnamed = weft_tracing::layer().with_name_label(None);

    tracing::subscriber::with_default(tracing_subscriber::registry().with(named), || {
        info_span!("a").in_scope(|| {
            assert_eq!(*weft::get_label("operation").unwrap(), *b"a");
            assert!(weft::get_label("span.name").is_none());
        });
    });
    tracing::subscriber::with_default(tracing_subscriber::registry().with(unnamed), || {
        info_span!("a").in_scope(|| assert!(weft::get_label("span.name").is_none()));
    });
}

#[test]
fn ids_of_another_layer() {
    let layer = weft_tracing::layer().with_ids(|span, _| {
        Some(weft_tracing::Ids {
            span_id: span.into_u64() + (7 << 60),
            trace_id: [3; 16],
            trace_flags: 1,
        })
    });

    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        let (a, b) = (info_span!("a"), info_span!("b"));
        let _a = a.enter();
        let c = info_span!("c");
        c.in_scope(|| {
            let id = |span: &Span| span.id().unwrap().into_u64() + (7 << 60);
            let now = weft::read();
            assert_eq!((now.span_id, now.root_span_id), (id(&c), id(&a)));
            assert_eq!((now.trace_id, now.trace_flags), ([3; 16], 1));
        });
        drop(b);
    });
}
