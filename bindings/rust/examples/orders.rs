// SPDX-License-Identifier: Apache-2.0
//! Threads that work for tenants, a span for each order:
//! `weft record -o orders.jfr -- target/release/examples/orders`, then
//! `weft report --by label:tenant orders.jfr`.

use std::thread;
use weft::{Label, Span};

fn price(items: u64) -> u64 {
    (0..items * 20_000).fold(items, |sum, i| sum.rotate_left(7).wrapping_mul(31) ^ i)
}

fn handle(order: u64, tenant: &str) -> u64 {
    let _span = Span::enter(order, order);
    let _label = Label::set("tenant", tenant);

    price(1 + order % 5)
}

fn main() {
    let orders = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(2000);
    let workers: Vec<_> = ["acme", "globex", "initech"]
        .iter()
        .map(|tenant| {
            thread::spawn(move || {
                (1..=orders)
                    .map(|order| handle(order, tenant))
                    .fold(0, u64::wrapping_add)
            })
        })
        .collect();

    for worker in workers {
        println!("{:x}", worker.join().expect("a worker ends"));
    }
}
