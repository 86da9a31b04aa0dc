// SPDX-License-Identifier: Apache-2.0
// Generic and inlined code, closures and traits, as Rust describes them.
use std::collections::HashMap;

trait Shape {
    fn area(&self) -> u64;
}

struct Square(u64);

impl Shape for Square {
    #[inline(always)]
    fn area(&self) -> u64 {
        self.0.wrapping_mul(self.0)
    }
}

#[inline(never)]
fn total<T: Shape>(all: &[T]) -> u64 {
    all.iter().map(|shape| shape.area()).fold(0, |a, b| a.wrapping_add(b))
}

fn main() {
    let shapes: Vec<Square> = (0..std::env::args().count() as u64 * 10).map(Square).collect();
    let mut names = HashMap::new();
    names.insert("total".to_string(), total(&shapes));
    println!("{:?}", names);
}
