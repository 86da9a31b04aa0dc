// SPDX-License-Identifier: Apache-2.0
//! What the crate promises. Each test has a thread of its own, and so its own labels.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::thread;
use weft::{get_label, Context, Ids, InContext, Label, LabelSet, Prepared, Refused, Span, Update};

fn ids(span_id: u64, root_span_id: u64) -> Ids {
    Ids {
        span_id,
        root_span_id,
    }
}

fn text(key: &str) -> Option<String> {
    get_label(key).map(|value| value.to_str().expect("UTF-8").to_owned())
}

#[test]
fn spans_nest() {
    let outer = Span::enter(1, 1);
    assert_eq!(weft::current(), ids(1, 1));
    {
        let inner = Span::enter(2, 1);
        assert_eq!(weft::current(), ids(2, 1));
        let moved = Box::new(inner);
        assert_eq!(weft::current(), ids(2, 1));
        drop(moved);
    }
    assert_eq!(weft::current(), ids(1, 1));
    assert_eq!(weft::set(7, 8), ids(1, 1));
    outer.leave();
    assert_eq!(weft::current(), ids(0, 0));
}

#[test]
fn whole_contexts() {
    let route = weft::tag_intern("/whole");
    let mut context = Context::new(3, 4);

    assert_ne!(route, 0);
    assert_eq!(weft::tag_intern("/whole"), route);
    assert_eq!(weft::tag_intern("a\0b"), 0);
    context.trace_id = *b"0123456789abcdef";
    context.trace_flags = 1;
    context.tags[2] = route;
    let outer = Span::with(&context);
    assert_eq!(weft::read(), context);
    {
        let _inner = Span::enter(5, 4);
        assert_eq!(weft::read().trace_id, [0; 16]);
        assert_eq!(weft::tag_set(2, 0), route);
        assert_eq!(weft::tag_set(weft::TAGS, 1), 0);
        assert_eq!(weft::tag_set(usize::MAX, 1), 0);
        weft::clear();
        assert_eq!(weft::read(), Context::default());
    }
    assert_eq!(weft::read(), context);
    drop(outer);
    assert_eq!(weft::read(), Context::default());
}

#[test]
fn names_of_tags() {
    assert!(weft::tag_name(9, "rust test").is_ok());
    assert!(weft::tag_name(9, "rust test").is_ok());
    assert!(weft::tag_name(9, "another").is_err());
    assert!(weft::tag_name(weft::TAGS, "x").is_err());
    assert!(weft::tag_name(usize::MAX, "x").is_err());
    assert!(weft::tag_name(8, "").is_err());
    assert!(weft::tag_name(8, "a\0b").is_err());
}

#[test]
fn labels_nest() {
    assert_eq!(weft::set_label("tenant", "acme"), Ok(LabelSet::Set));
    {
        let outer = Label::set("tenant", "other");
        assert_eq!(outer.result(), Ok(LabelSet::Updated));
        {
            let _inner = Label::set("tenant", "third");
            let _fresh = Label::set("route", "");
            assert_eq!(text("tenant").as_deref(), Some("third"));
            assert_eq!(text("route").as_deref(), Some(""));
        }
        assert_eq!(text("tenant").as_deref(), Some("other"));
        assert_eq!(text("route"), None);
        let moved = vec![outer];
        assert_eq!(text("tenant").as_deref(), Some("other"));
        drop(moved);
    }
    assert_eq!(text("tenant").as_deref(), Some("acme"));
    assert_eq!(weft::remove_label("tenant"), Ok(LabelSet::Removed));
    assert_eq!(weft::remove_label("tenant"), Ok(LabelSet::Absent));
    assert_eq!(weft::clear_labels(), 0);
}

#[test]
fn refused() {
    assert_eq!(Label::set("span-id", "1").result(), Err(Refused::Reserved));
    assert_eq!(weft::remove_label("root-span-id"), Err(Refused::Reserved));
    assert_eq!(weft::set_label("", "x"), Err(Refused::Invalid));
    assert!(!Refused::Invalid.to_string().is_empty());
    let mut result = Ok(LabelSet::Set);
    for i in 0..40 {
        result = weft::set_label(format!("key {}", i), "x");
    }
    assert_eq!(result, Err(Refused::NoRoom));
    let last = Label::set("no room", "x");
    assert_eq!(last.result(), Err(Refused::NoRoom));
    drop(last);
    assert_eq!(text("no room"), None);
    assert!(weft::clear_labels() > 0);
}

#[test]
fn long_and_binary() {
    let value = "v".repeat(300);
    let key = "k".repeat(127) + "é";

    weft::set_label(&key, "before").unwrap();
    {
        let guard = Label::set(&key, &value);
        assert_eq!(guard.result(), Ok(LabelSet::Truncated));
        assert_eq!(get_label(&key).unwrap(), value[..256]);
        assert_eq!(get_label(&key[..127]).unwrap(), value[..256]);
    }
    assert_eq!(text(&key).as_deref(), Some("before"));
    weft::set_label(b"bytes", [0xffu8, 0, 1]).unwrap();
    assert_eq!(*get_label("bytes").unwrap(), [0xff, 0, 1]);
    assert_eq!(get_label("bytes").unwrap().to_str(), None);
    weft::set_label("é", "ü".repeat(128) + "x").unwrap();
    assert_eq!(get_label("é").unwrap(), "ü".repeat(128).as_str());
    assert_eq!(weft::clear_labels(), 3);
}

#[test]
fn updates() {
    weft::set_label("old", "1").unwrap();
    {
        let mut update = Update::new()
            .context(Context::new(8, 7))
            .set("tenant", "acme")
            .set("span-id", "x")
            .remove("nothing");
        assert_eq!(update.apply(), Err(Refused::Reserved));
        assert_eq!(update.result(0), Ok(LabelSet::Set));
        assert_eq!(update.result(1), Err(Refused::Reserved));
        assert_eq!(update.result(2), Ok(LabelSet::Absent));
        assert_eq!(update.result(3), Err(Refused::NoRoom));
        assert_eq!(weft::current(), ids(8, 7));
        let owned = String::from("2");
        let span = Span::update(Update::new().set("new", &owned).replace());
        assert_eq!(weft::current(), ids(8, 7));
        assert_eq!((text("tenant"), text("old")), (None, None));
        assert_eq!(text("new").as_deref(), Some("2"));
        drop(owned);
        assert_eq!(text("new").as_deref(), Some("2"));
        drop(span);
    }
    assert_eq!(text("tenant").as_deref(), Some("acme"));
    assert_eq!(text("old").as_deref(), Some("1"));
    let pairs = weft::labels();
    assert!(pairs.contains(&(b"tenant".to_vec(), b"acme".to_vec())));
    assert!(pairs.contains(&(b"span-id".to_vec(), b"8".to_vec())));
    assert_eq!(pairs.len(), 4);
    let mut many = Update::new();
    for _ in 0..33 {
        many = many.set("same", "x");
    }
    assert_eq!(many.apply(), Err(Refused::NoRoom));
    assert_eq!(text("same").as_deref(), Some("x"));
    weft::clear();
    weft::clear_labels();
}

#[test]
fn panics_end_guards() {
    let _span = Span::enter(1, 1);
    let _label = Label::set("depth", "none");
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let _span = Span::enter(2, 1);
        let _label = Label::set("depth", "deep");
        panic!("as meant");
    }));

    assert!(caught.is_err());
    assert_eq!(weft::current(), ids(1, 1));
    assert_eq!(text("depth").as_deref(), Some("none"));
}

/// Any order of ends, with labels changed in between: nothing breaks, and what comes later works.
#[test]
fn any_order() {
    let mut seed = 1u64;
    let mut random = move |below: u64| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    let mut spans = Vec::new();
    let mut labels = Vec::new();

    for turn in 0..20_000u64 {
        match random(6) {
            0 if spans.len() < 12 => spans.push(Span::enter(turn, 1)),
            1 if spans.len() < 12 => {
                let value = "v".repeat(random(300) as usize);
                spans.push(Span::update(Update::new().set("u", &value)));
            }
            2 if labels.len() < 12 => {
                labels.push(Label::set(
                    format!("key {}", random(5)),
                    "x".repeat(random(260) as usize),
                ));
            }
            3 if !spans.is_empty() => drop(spans.swap_remove(random(spans.len() as u64) as usize)),
            4 if !labels.is_empty() => {
                drop(labels.swap_remove(random(labels.len() as u64) as usize));
            }
            5 => {
                let _ = weft::set_label(format!("key {}", random(5)), format!("{}", turn));
            }
            _ => {
                for (key, value) in weft::labels() {
                    assert!(!key.is_empty() && key.len() <= 128 && value.len() <= 256);
                }
            }
        }
    }
    while let Some(span) = spans.pop() {
        drop(span);
    }
    labels.clear();
    weft::clear();
    weft::clear_labels();
    {
        let _span = Span::enter(1, 2);
        let _label = Label::set("a", "1");
        assert_eq!(text("a").as_deref(), Some("1"));
    }
    assert_eq!(weft::current(), ids(0, 0));
    assert_eq!(text("a"), None);
}

#[test]
fn forgotten_guards_put_nothing_back() {
    std::mem::forget(Span::enter(4, 4));
    std::mem::forget(Label::set("left", "behind"));
    assert_eq!(weft::current(), ids(4, 4));
    assert_eq!(text("left").as_deref(), Some("behind"));
    weft::clear();
    weft::clear_labels();
}

thread_local! {
    static LAST: std::cell::RefCell<Vec<Span>> = const { std::cell::RefCell::new(Vec::new()) };
}

#[test]
fn threads() {
    let _span = Span::enter(1, 1);
    let _label = Label::set("thread", "main");
    let workers: Vec<_> = (2..6u64)
        .map(|i| {
            thread::spawn(move || {
                assert_eq!(weft::current(), ids(0, 0));
                assert_eq!(text("thread"), None);
                for turn in 0..2000 {
                    let _span = Span::enter(i, turn);
                    let _label = Label::set("thread", i.to_string());
                    assert_eq!(weft::current(), ids(i, turn));
                    assert_eq!(text("thread"), Some(i.to_string()));
                }
                // A guard that outlives what the thread has otherwise.
                LAST.with(|last| last.borrow_mut().push(Span::enter(9, 9)));
            })
        })
        .collect();

    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(weft::current(), ids(1, 1));
    assert_eq!(text("thread").as_deref(), Some("main"));
}

#[test]
fn prepared_contexts() {
    let _span = Span::enter(1, 2);
    let _label = Label::set("worker", "w");
    let mut results = Vec::new();
    let request = Prepared::with_results(
        &Context::new(7, 8),
        &[("tenant", "acme"), ("span-id", "1")],
        |n, result| results.push((n, result)),
    );

    assert_eq!(
        results,
        [(0, Ok(LabelSet::Set)), (1, Err(Refused::Reserved))]
    );
    for _ in 0..3 {
        let attached = request.attach();
        assert_eq!(weft::current(), ids(7, 8));
        assert_eq!(text("tenant").as_deref(), Some("acme"));
        assert_eq!(text("worker"), None);
        let inner = Label::set("tenant", "inner");
        assert_eq!(text("tenant").as_deref(), Some("inner"));
        inner.leave();
        let moved = Box::new(attached);
        moved.detach();
        assert_eq!(weft::current(), ids(1, 2));
        assert_eq!(text("worker").as_deref(), Some("w"));
    }
    let attached = request.attach();
    drop(request);
    for _ in 0..100 {
        drop(Prepared::new::<&str, &str>(&Context::new(9, 9), &[]));
    }
    assert_eq!(text("tenant").as_deref(), Some("acme"));
    attached.detach();
    assert_eq!(text("tenant"), None);
}

struct Nobody;

impl std::task::Wake for Nobody {
    fn wake(self: std::sync::Arc<Self>) {}
}

/// Pending once, so that it is polled twice.
struct Once(bool);

impl std::future::Future for Once {
    type Output = ();

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<()> {
        let was = std::mem::replace(&mut self.0, true);

        if was {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    }
}

/// Each poll is on a thread of its own, as executors do.
#[test]
fn futures_have_their_context_on_every_thread() {
    let request = Prepared::new(&Context::new(7, 8), &[("tenant", "acme")]);
    let inner = Prepared::new(&Context::new(9, 8), &[("tenant", "inner")]);
    let task = async move {
        assert_eq!(weft::current(), ids(7, 8));
        Once(false).await;
        assert_eq!(weft::current(), ids(7, 8));
        async {
            assert_eq!(text("tenant").as_deref(), Some("inner"));
            Once(false).await;
            assert_eq!(weft::current(), ids(9, 8));
        }
        .in_context(&inner)
        .await;
        assert_eq!(text("tenant").as_deref(), Some("acme"));
    };
    let mut task: std::pin::Pin<Box<dyn std::future::Future<Output = ()> + Send>> =
        Box::pin(task.in_context(&request));
    use std::future::Future;
    let mut polls = 0;

    loop {
        let (back, ready) = thread::spawn(move || {
            let waker = std::sync::Arc::new(Nobody).into();
            let mut cx = std::task::Context::from_waker(&waker);
            let ready = task.as_mut().poll(&mut cx).is_ready();

            assert_eq!(weft::current(), ids(0, 0));
            assert_eq!(text("tenant"), None);
            (task, ready)
        })
        .join()
        .unwrap();

        task = back;
        polls += 1;
        if ready {
            break;
        }
    }
    assert_eq!(polls, 3);
}
