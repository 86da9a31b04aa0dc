// SPDX-License-Identifier: Apache-2.0
//! An engine's file for tests of the probe, and the least of an executor.

use std::fs::{File, OpenOptions};
use std::future::Future;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once};
use std::task::{Context, Poll, Wake, Waker};
use weft::ctp::{Epoch, Header, Station};

const STATIONS: u32 = 512;
static START: Once = Once::new();
static mut FILE: Option<File> = None;

fn make() -> File {
    let path = std::env::temp_dir().join(format!("weft-rust-ctp.{}", std::process::id()));
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .expect("a file");
    let mut header = Header::ZERO;

    header.magic = weft::ctp::MAGIC;
    header.version = weft::ctp::VERSION;
    header.max_stations = STATIONS;
    header.clock_id = 1;
    header.extension = weft::ctp::EXTENSION;
    header.features = 1; // comes by itself
    header.dirty_shift = 6;
    file.set_len(1024 * (1 + u64::from(STATIONS)))
        .expect("room");
    file.write_all_at(&header.to_bytes(), 0).expect("written");
    std::env::set_var("CTP_SHM_PATH", &path);
    std::env::remove_var("CTP_SOCK_PATH");
    std::env::remove_var("CTP_MAX_STATIONS");
    // The probe opens it now; then nobody needs its name.
    drop(weft::coro::Tracing::new().trace(std::future::pending::<()>()));
    std::fs::remove_file(&path).expect("removed");
    file
}

/// The file of this process, made before its first coroutine.
pub fn file() -> &'static File {
    // SAFETY: written once, by who comes first, while the others wait.
    unsafe {
        START.call_once(|| FILE = Some(make()));
        (*std::ptr::addr_of!(FILE)).as_ref().expect("made")
    }
}

fn station_at(index: u64) -> Station {
    let mut bytes = [0; 1024];

    file()
        .read_exact_at(&mut bytes, 1024 * (1 + index))
        .expect("as long as it was made");
    Station::from_bytes(bytes)
}

/// The station of the coroutine that was given this number.
pub fn station(id: u64) -> Station {
    (0..u64::from(STATIONS))
        .map(station_at)
        .find(|station| station.probe_id == id)
        .expect("it has a station")
}

/// Its last eight events at the most, in order.
pub fn events(id: u64) -> Vec<Epoch> {
    let mut all: Vec<_> = station(id)
        .slots
        .iter()
        .copied()
        .filter(|slot| slot.seq != 0)
        .collect();

    all.sort_by_key(|slot| slot.seq);
    all
}

/// "RS": resumed, suspended.
pub fn shape(id: u64) -> String {
    events(id)
        .iter()
        .map(|event| if event.is_active == 1 { 'R' } else { 'S' })
        .collect()
}

/// Is it code of this program?
pub fn is_code(address: u64) -> bool {
    std::fs::read_to_string("/proc/self/maps")
        .expect("maps")
        .lines()
        .filter(|line| line.contains(" r-xp "))
        .filter_map(|line| line.split(' ').next()?.split_once('-'))
        .any(|(from, to)| {
            let number = |hex| u64::from_str_radix(hex, 16).expect("hex");

            (number(from)..number(to)).contains(&address)
        })
}

/// Counts what an executor would queue.
#[derive(Default)]
pub struct Counter(pub AtomicU32);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

pub fn poll_with<F: Future + ?Sized>(
    future: Pin<&mut F>,
    counter: &Arc<Counter>,
) -> Poll<F::Output> {
    let waker = Waker::from(Arc::clone(counter));

    future.poll(&mut Context::from_waker(&waker))
}

pub fn poll<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    poll_with(future, &Arc::new(Counter::default()))
}

/// Pending once, leaving its waker where it is told to.
pub struct PendingOnce<'a> {
    pub keeps: &'a std::sync::Mutex<Option<Waker>>,
    pub was_polled: bool,
}

impl<'a> PendingOnce<'a> {
    pub fn new(keeps: &'a std::sync::Mutex<Option<Waker>>) -> PendingOnce<'a> {
        PendingOnce {
            keeps,
            was_polled: false,
        }
    }
}

impl Future for PendingOnce<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        *self.keeps.lock().expect("whole") = Some(context.waker().clone());
        if std::mem::replace(&mut self.was_polled, true) {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
