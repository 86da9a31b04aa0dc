// SPDX-License-Identifier: Apache-2.0
//! What turns.h says, for Rust: the same work, the same lines.
use std::ffi::{c_int, c_long};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub const TENANTS: [&str; 2] = ["acme", "globex"];
const CPU_MS: [u64; 3] = [7, 3, 2];
const NOBODY: usize = 2;

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

fn now(clock: c_int) -> u64 {
    let mut t = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };

    // SAFETY: fills in the struct.
    unsafe { clock_gettime(clock, &mut t) };
    t.seconds as u64 * 1_000_000_000 + t.nanoseconds as u64
}

fn cpu() -> u64 {
    now(3) // CLOCK_THREAD_CPUTIME_ID
}

/// What the calling thread has had: of a CPU, at all, and of a CPU or waiting for one.
struct Time([u64; 3]);

impl Time {
    fn read(schedstat: &File) -> Time {
        let mut text = [0; 128];
        let n = schedstat.read_at(&mut text, 0).expect("schedstat");
        let words = std::str::from_utf8(&text[..n]).expect("ASCII");
        let not_blocked = words
            .split_whitespace()
            .take(2)
            .map(|n| n.parse::<u64>().expect("a number"))
            .sum();

        Time([cpu(), now(1), not_blocked]) // CLOCK_MONOTONIC
    }
}

/// Of all workers; the last: whatever they did.
static SPENT: [[AtomicU64; 3]; 3] = [const { [const { AtomicU64::new(0) }; 3] }; 3];
static DONE: AtomicU64 = AtomicU64::new(0);

fn account(request: usize, since: &Time, now: &Time) {
    for (i, sum) in SPENT[request].iter().enumerate() {
        sum.fetch_add(now.0[i] - since.0[i], Relaxed);
    }
}

/// In user mode but for a clock now and then: the kernel's own ticks would meet the rest.
fn burn(ns: u64) {
    let from = cpu();
    let mut sum = 0u64;

    while cpu() - from < ns {
        sum = std::hint::black_box((0..2000).fold(sum, |a, b| a.rotate_left(7) ^ b));
    }
}

fn serve(schedstat: &File, request: usize) {
    let began = Time::read(schedstat);

    burn(CPU_MS[request] * 1_000_000);
    std::thread::sleep(Duration::from_millis(2 * CPU_MS[request]));
    if request != NOBODY {
        account(request, &began, &Time::read(schedstat));
    }
}

/// `within(request, work)` does the work while it shows the request, which is none for NOBODY.
fn work(turns: u64, within: fn(usize, &mut dyn FnMut())) {
    let schedstat = File::open("/proc/thread-self/schedstat").expect("schedstat");
    let began = Time::read(&schedstat);

    for _ in 0..turns {
        for request in 0..NOBODY {
            within(request, &mut || serve(&schedstat, request));
        }
        serve(&schedstat, NOBODY);
        DONE.fetch_add(1, Relaxed);
    }
    account(NOBODY, &began, &Time::read(&schedstat));
}

fn tell(name: &str, span: &str, t: [u64; 3]) {
    println!(
        "{name} {span} {} {} {}",
        t[0],
        t[1].saturating_sub(t[2]),
        t[1]
    );
}

/// The whole program; @span: its id by tenant, asked at the end.
pub fn run(within: fn(usize, &mut dyn FnMut()), span: fn(usize) -> u64) -> ! {
    let mut words = std::env::args().skip(1);
    let turns = words.next().and_then(|n| n.parse().ok()).expect("TURNS");
    let pause = words.next().and_then(|n| n.parse().ok()).expect("PAUSE");

    println!("ready");
    std::thread::sleep(Duration::from_secs_f64(pause));
    let workers = [(); 2].map(|()| {
        std::thread::Builder::new()
            .name("worker".into())
            .spawn(move || work(turns, within))
            .expect("a thread")
    });
    for worker in workers {
        worker.join().expect("it ends");
    }
    let spent = [0, 1, 2].map(|request: usize| [0, 1, 2].map(|i: usize| SPENT[request][i].load(Relaxed)));
    for (request, tenant) in TENANTS.iter().enumerate() {
        tell(tenant, &format!("{:016x}", span(request)), spent[request]);
    }
    tell("none", "-", [0, 1, 2].map(|i: usize| spent[2][i] - spent[0][i] - spent[1][i]));
    println!("turns {}", DONE.load(Relaxed));
    std::process::exit(3);
}
