// SPDX-License-Identifier: Apache-2.0
//! What `weft::coro` promises, seen in the shared file, which the test makes itself.

mod common;

use common::{events, is_code, poll, poll_with, shape, station, Counter, PendingOnce};
use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use weft::coro::{Traced, Tracing};
use weft::ctp::state;

type Kept = Mutex<Option<Waker>>;

fn with_id(id: u64) -> Tracing {
    common::file();
    Tracing::new().id(id)
}

async fn two_waits(kept: &Kept) -> u32 {
    PendingOnce::new(kept).here().await;
    PendingOnce::new(kept).here().await;
    7
}

#[test]
fn runs_and_waits() {
    let kept = Kept::default();
    let mut future = Box::pin(with_id(1001).trace(two_waits(&kept)));

    assert_eq!(station(1001).state, state::CREATED);
    assert_eq!(station(1001).language, 3);
    assert_eq!(shape(1001), "");
    assert!(poll(future.as_mut()).is_pending());
    assert_eq!(shape(1001), "RS");
    assert_eq!(station(1001).state, state::SUSPENDED);
    assert!(poll(future.as_mut()).is_pending());
    assert_eq!(poll(future.as_mut()), Poll::Ready(7));
    assert_eq!(shape(1001), "RSRSRS");
    assert_eq!(station(1001).is_dead, 1);
    drop(future);
    assert_eq!(shape(1001), "RSRSRS");

    let all = events(1001);
    assert!(all[..5].iter().all(|event| is_code(event.addr)));
    assert_eq!(all[1].addr, all[2].addr, "it goes on where it waited");
    assert_eq!(all[3].addr, all[4].addr);
    assert_ne!(all[1].addr, all[3].addr, "the two waits are told apart");
    assert!(is_code(station(1001).site));
    assert!(all
        .windows(2)
        .all(|two| two[0].timestamp <= two[1].timestamp));
}

#[test]
fn not_marked() {
    let kept = Kept::default();
    let mut future = Box::pin(with_id(1002).trace(async { PendingOnce::new(&kept).await }));

    assert!(poll(future.as_mut()).is_pending());
    let all = events(1002);
    assert_eq!(all[0].addr, all[1].addr, "the code of the future");
    assert!(is_code(all[0].addr));
    assert!(format!("{:?}", future).contains("coro.rs"));
    assert_eq!(future.location().file(), file!());
}

#[test]
fn dropped() {
    let kept = Kept::default();
    let mut waiting = Box::pin(with_id(1003).trace(two_waits(&kept)));
    let never = with_id(1004).trace(two_waits(&kept));

    assert!(poll(waiting.as_mut()).is_pending());
    drop(waiting);
    drop(never);
    assert_eq!(shape(1003), "RS");
    assert_eq!(station(1003).is_dead, 1);
    assert_eq!(shape(1004), "");
    assert_eq!(station(1004).is_dead, 1);
    assert!(!weft::coro::is_running());
}

#[test]
fn panics() {
    let mut future = Box::pin(with_id(1005).trace(async {
        if weft::coro::is_running() {
            panic!("as meant");
        }
    }));

    assert!(catch_unwind(AssertUnwindSafe(|| poll(future.as_mut()))).is_err());
    assert_eq!(shape(1005), "RS");
    assert_eq!(station(1005).is_dead, 1);
    assert!(!weft::coro::is_running());
}

#[test]
fn wakes() {
    let kept = Kept::default();
    let counter = Arc::new(Counter::default());
    let mut future = Box::pin(with_id(1006).trace(two_waits(&kept)));

    assert!(poll_with(future.as_mut(), &counter).is_pending());
    let waker = kept.lock().unwrap().take().unwrap();
    waker.wake_by_ref();
    assert_eq!(station(1006).state, state::READY);
    assert_eq!(station(1006).totals.wakes, 1);
    assert_ne!(station(1006).last_wake_ns, 0);
    assert!(poll_with(future.as_mut(), &counter).is_pending());
    let other = kept.lock().unwrap().take().unwrap();
    assert_eq!(station(1006).state, state::SUSPENDED);
    drop(future);
    other.wake();
    waker.wake();
    assert_eq!(
        counter.0.load(Ordering::SeqCst),
        3,
        "the executor hears all"
    );
    assert_eq!(
        station(1006).totals.wakes,
        1,
        "the trace none after its end"
    );
    assert_eq!(station(1006).is_dead, 1);
}

#[test]
fn same_waker_as_long_as_the_executor_has_the_same() {
    let kept = Kept::default();
    let waker = Waker::from(Arc::new(Counter::default()));
    let mut context = Context::from_waker(&waker);
    let mut future = Box::pin(with_id(1007).trace(two_waits(&kept)));
    let mut plain = Box::pin(Tracing::new().without_wakes().trace(two_waits(&kept)));

    assert!(future.as_mut().poll(&mut context).is_pending());
    let first = kept.lock().unwrap().take().unwrap();
    assert!(future.as_mut().poll(&mut context).is_pending());
    let second = kept.lock().unwrap().take().unwrap();
    assert!(first.will_wake(&second));
    assert!(!first.will_wake(&waker));
    assert!(plain.as_mut().poll(&mut context).is_pending());
    assert!(kept.lock().unwrap().take().unwrap().will_wake(&waker));
}

#[test]
fn one_within_another() {
    let kept = Kept::default();
    let inner = with_id(1009).trace(two_waits(&kept));
    let mut outer = Box::pin(with_id(1008).trace(async {
        let sum = 1 + inner.await;
        assert!(weft::coro::is_running());
        sum
    }));

    assert!(poll(outer.as_mut()).is_pending());
    assert_eq!((shape(1008), shape(1009)), ("RS".into(), "RS".into()));
    let (outside, inside) = (events(1008), events(1009));
    assert!(outside[0].timestamp <= inside[0].timestamp);
    assert!(inside[1].timestamp <= outside[1].timestamp);
    assert_ne!(
        outside[1].addr, inside[1].addr,
        "each has a place of its own"
    );
    assert!(poll(outer.as_mut()).is_pending());
    assert_eq!(poll(outer.as_mut()), Poll::Ready(8));
    assert_eq!(shape(1009), "RSRSRS");
    assert_eq!(station(1008).is_dead + station(1009).is_dead, 2);
}

#[test]
fn innermost_mark_counts() {
    async fn inner(kept: &Kept) {
        PendingOnce::new(kept).here().await;
    }
    let kept = Kept::default();
    let mut marked = Box::pin(with_id(1010).trace(async {
        inner(&kept).here().await;
        std::future::ready(()).here().await;
        PendingOnce::new(&kept).await;
    }));
    let mut alone = Box::pin(with_id(1011).trace(inner(&kept)));

    assert!(poll(marked.as_mut()).is_pending());
    assert!(poll(alone.as_mut()).is_pending());
    assert_eq!(events(1010)[1].addr, events(1011)[1].addr);
    assert!(poll(marked.as_mut()).is_pending());
    let all = events(1010);
    assert_eq!(all[3].addr, all[0].addr, "a mark that was ready is none");
}

#[test]
fn payloads() {
    let kept = Kept::default();
    let mut future = Box::pin(with_id(1012).trace(async {
        assert_eq!(weft::coro::payload("order 12"), 8);
        PendingOnce::new(&kept).await;
        assert_eq!(weft::coro::payload([9; 40]), 28);
    }));

    assert_eq!(weft::coro::payload("nobody's"), 0);
    assert!(poll(future.as_mut()).is_pending());
    let event = events(1012)[1];
    assert_eq!((event.holds, event.payload_bytes), (2, 8));
    assert_eq!(&event.reserved[..8], b"order 12");
}

/// Many futures go from thread to thread while others wake them, and drop them.
#[test]
fn from_thread_to_thread() {
    const WORKERS: usize = 3;
    const TURNS: u32 = 300;
    struct Again(u32);
    impl Future for Again {
        type Output = ();
        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            if self.0 == 0 {
                return Poll::Ready(());
            }
            self.0 -= 1;
            context.waker().wake_by_ref();
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake()); // perhaps after its end
            Poll::Pending
        }
    }
    common::file();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..WORKERS).map(|_| mpsc::channel()).unzip();
    let (finished, ends) = mpsc::channel();
    let workers: Vec<_> = receivers
        .into_iter()
        .enumerate()
        .map(|(n, receiver)| {
            let next = senders[(n + 1) % WORKERS].clone();
            let finished = finished.clone();
            thread::spawn(move || {
                type Task = Option<Pin<Box<dyn Future<Output = ()> + Send>>>;
                while let Some(mut task) = receiver.recv().ok().and_then(|task: Task| task) {
                    if poll(task.as_mut()).is_pending() {
                        let _ = next.send(Some(task));
                    } else {
                        finished.send(()).unwrap();
                    }
                }
            })
        })
        .collect();

    for id in 2000..2003 {
        let future: Pin<Box<dyn Future<Output = ()> + Send>> =
            Box::pin(with_id(id).trace(Again(TURNS)));
        senders[0].send(Some(future)).unwrap();
    }
    for _ in 2000..2003 {
        ends.recv().unwrap();
    }
    for sender in &senders {
        sender.send(None).unwrap();
    }
    for worker in workers {
        worker.join().unwrap();
    }
    for id in 2000..2003 {
        let station = station(id);
        assert_eq!(station.totals.resumes, u64::from(TURNS) + 1);
        assert_eq!(station.totals.suspends, u64::from(TURNS) + 1);
        assert_eq!(station.is_dead, 1);
        let tids: std::collections::HashSet<_> = events(id).iter().map(|e| e.tid).collect();
        assert_eq!(tids.len(), WORKERS);
    }
}

#[cfg(feature = "context")]
#[test]
fn context_goes_with_it() {
    let kept = Kept::default();
    let future = async {
        weft::set(70, 71);
        weft::set_label("tenant", "acme").unwrap();
        PendingOnce::new(&kept).await;
        let first = (weft::current().span_id, label());
        weft::set(72, 71);
        PendingOnce::new(&kept).await;
        (first, (weft::current().span_id, label()))
    };
    fn label() -> Option<String> {
        weft::get_label("tenant").and_then(|value| Some(value.to_str()?.to_owned()))
    }
    let mut task = Box::pin(with_id(1020).detached().trace(future));

    weft::set(5, 5);
    assert!(poll(task.as_mut()).is_pending());
    assert_eq!(weft::current().span_id, 5, "the thread has its own again");
    assert_eq!(label(), None);
    thread::scope(|scope| {
        scope.spawn(|| {
            weft::set(6, 6);
            assert!(poll(task.as_mut()).is_pending());
            assert_eq!((weft::current().span_id, label()), (6, None));
        });
    });
    let acme = Some("acme".to_owned());
    assert_eq!(
        poll(task.as_mut()),
        Poll::Ready(((70, acme.clone()), (72, acme)))
    );
    assert_eq!((weft::current().span_id, label()), (5, None));
    assert_eq!(&station(1020).context.prefix.span_id, &72u64.to_be_bytes());
    weft::clear();
}

/// In a process of its own, that no engine looks at.
#[test]
fn without_an_engine() {
    if std::env::var_os("WEFT_TEST_ALONE").is_some() {
        let kept = Kept::default();
        let mut future = Box::pin(two_waits(&kept).traced());

        assert!(poll(future.as_mut()).is_pending());
        assert!(poll(future.as_mut()).is_pending());
        assert_eq!(poll(future.as_mut()), Poll::Ready(7));
        kept.lock().unwrap().take().unwrap().wake();
        return;
    }
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "without_an_engine"])
        .env("WEFT_TEST_ALONE", "1")
        .env_remove("CTP_SHM_PATH")
        .status();
    assert!(status.unwrap().success());
}
