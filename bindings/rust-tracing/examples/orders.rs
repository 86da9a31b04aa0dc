// SPDX-License-Identifier: Apache-2.0
//! A program with spans of tracing: 70 % of its CPU time in checkout, 30 % in search.
//!
//!     weft record -o orders.jfr -- target/release/examples/orders [WAY [SECONDS]]
//!     weft report --by label:span.name orders.jfr
//!
//! WAY: plain (a span after the other), nested (both in a request's span), tasks (of tokio, which
//! take turns on two threads). It prints the CPU time of each span by its own measure, and the
//! span's id: name milliseconds id.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tracing::{info_span, Instrument};
use tracing_subscriber::prelude::*;

struct Work {
    name: &'static str,
    turn_us: u64,
    spent_us: AtomicU64,
    id: AtomicU64,
}

const fn work(name: &'static str, turn_us: u64) -> Work {
    Work {
        name,
        turn_us,
        spent_us: AtomicU64::new(0),
        id: AtomicU64::new(0),
    }
}

static REQUEST: Work = work("request", 0);
static CHECKOUT: Work = work("checkout", 7000);
static SEARCH: Work = work("search", 3000);

/// CPU time of this thread, in microseconds.
fn cpu_us() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };

    // SAFETY: fills in the struct.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}

impl Work {
    fn span(&self) -> tracing::Span {
        match self.name {
            "request" => info_span!("request", tenant = "acme"),
            "checkout" => info_span!("checkout"),
            _ => info_span!("search"),
        }
    }

    fn burn(&self) {
        let begin = cpu_us();
        let mut sum = 0u64;

        self.id.store(weft::current().span_id, Relaxed);
        while cpu_us() - begin < self.turn_us {
            sum = std::hint::black_box((0..500).fold(sum, |a, b| a.rotate_left(7) ^ b));
        }
        self.spent_us.fetch_add(cpu_us() - begin, Relaxed);
    }
}

fn plain(turns: u64) {
    for work in [&CHECKOUT, &SEARCH] {
        work.span()
            .in_scope(|| (0..turns).for_each(|_| work.burn()));
    }
}

fn nested(turns: u64) {
    let _request = REQUEST.span().entered();

    REQUEST.burn();
    for _ in 0..turns {
        for work in [&CHECKOUT, &SEARCH] {
            work.span().in_scope(|| work.burn());
        }
    }
}

async fn in_turns(work: &'static Work, turns: u64) {
    for _ in 0..turns {
        work.burn();
        tokio::task::yield_now().await;
    }
}

fn tasks(turns: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime");

    runtime.block_on(async {
        let tasks = [&CHECKOUT, &SEARCH, &CHECKOUT, &SEARCH]
            .map(|work| tokio::spawn(in_turns(work, turns / 2).instrument(work.span())));

        for task in tasks {
            task.await.expect("a task ends");
        }
    });
}

fn main() {
    let mut words = std::env::args().skip(1);
    let way = words.next().unwrap_or_else(|| "plain".into());
    let seconds: f64 = words.next().and_then(|n| n.parse().ok()).unwrap_or(2.0);
    let turns = (seconds * 100.0) as u64;

    tracing_subscriber::registry()
        .with(weft_tracing::layer().with_fields(["tenant"]))
        .init();
    match &*way {
        "plain" => plain(turns),
        "nested" => nested(turns),
        "tasks" => tasks(turns),
        _ => panic!("plain, nested, tasks"),
    }
    for work in [&REQUEST, &CHECKOUT, &SEARCH] {
        let ms = work.spent_us.load(Relaxed) / 1000;

        if work.id.load(Relaxed) != 0 {
            println!("{} {ms} {:016x}", work.name, work.id.load(Relaxed));
        }
    }
}
