// SPDX-License-Identifier: Apache-2.0
//! Requests as futures, one of which never comes back: what `stuck.c` does, with the same
//! arguments, for
//!
//! ```text
//! weft coro run --extended -o stuck.jsonl -- stuck-rust --lose
//! weft coro report --stuck 500ms stuck.jsonl
//! ```

mod executor;

use executor::{Executor, Mailbox, Reply};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;
use weft::coro::Traced;

#[derive(Default)]
struct Request {
    number: u64,
    loses: bool,
    reply: Reply,
}

#[derive(Default)]
struct Shop {
    executor: Executor,
    store: Mailbox<Arc<Request>>,
    served: AtomicU64,
    sum: AtomicU64,
}

#[inline(never)]
fn compute(seed: u64, rounds: u64) -> u64 {
    (0..rounds * 1000).fold(seed, |sum, i| sum.rotate_left(7).wrapping_mul(31) ^ i)
}

/// The store's coroutine.
async fn store(shop: Arc<Shop>) {
    loop {
        let request = shop.store.receive().here().await;

        request.reply.put(compute(request.number, 50));
    }
}

async fn serve(shop: Arc<Shop>, request: Arc<Request>) {
    const ROUTES: [&str; 3] = ["/cart", "/checkout", "/search"];
    let id = 0x1000 + request.number;

    weft::set(id, id);
    let _ = weft::set_label("route", ROUTES[request.number as usize % 3]);
    let mut value = compute(request.number, 200);
    shop.store.send(Arc::clone(&request));
    if request.loses {
        // What it saw is old when it waits.
        while !request.reply.is_there() {
            shop.executor.sleep(Duration::from_millis(1)).here().await;
        }
        value ^= request.reply.take_unseen().here().await;
    } else {
        value ^= request.reply.take().here().await;
    }
    let rest = Duration::from_millis(request.number % 4);
    shop.executor.sleep(rest).here().await;
    shop.sum.fetch_add(compute(value, 200), Ordering::Relaxed);
    shop.served.fetch_add(1, Ordering::Relaxed);
}

async fn host(shop: Arc<Shop>, requests: u64, loses: u64) {
    shop.executor.spawn(store(Arc::clone(&shop)));
    for number in 1..=requests {
        let request = Arc::new(Request {
            number,
            loses: number == loses,
            ..Request::default()
        });

        shop.executor.spawn(serve(Arc::clone(&shop), request));
        shop.executor.sleep(Duration::from_millis(1)).here().await;
    }
    let mut left = 100;
    while left > 0 && shop.served.load(Ordering::Relaxed) < requests {
        let question = Arc::new(Request::default());

        shop.store.send(Arc::clone(&question)); // the store is seen to be well meanwhile
        question.reply.take().here().await;
        shop.executor.sleep(Duration::from_millis(10)).here().await;
        if shop.served.load(Ordering::Relaxed) + 1 >= requests {
            left -= 1;
        }
    }
    shop.executor.stop();
}

fn main() {
    let mut arguments: Vec<_> = std::env::args().skip(1).collect();
    let is_lossy = arguments.first().map_or(false, |word| word == "--lose");

    if is_lossy {
        arguments.remove(0);
    }
    let number = |n: usize, otherwise| arguments.get(n).map_or(Some(otherwise), |a| a.parse().ok());
    let (requests, threads) = match (number(0, 60), number(1, 3)) {
        (Some(requests), Some(threads)) if requests > 0 && threads > 0 => (requests, threads),
        _ => {
            eprintln!("usage: stuck-rust [--lose] [REQUESTS [THREADS]]");
            std::process::exit(2);
        }
    };
    let shop = Arc::new(Shop::default());
    let loses = if is_lossy { (requests + 1) / 2 } else { 0 };

    shop.executor
        .spawn(host(Arc::clone(&shop), requests, loses));
    shop.executor.run(threads as usize);
    println!(
        "served {} of {} ({:x})",
        shop.served.load(Ordering::Relaxed),
        requests,
        shop.sum.load(Ordering::Relaxed)
    );
    // Who still waits holds the shop, and the shop holds it: ended, not unwound.
    std::process::exit(0);
}
