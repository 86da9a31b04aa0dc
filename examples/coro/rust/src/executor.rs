// SPDX-License-Identifier: Apache-2.0
//! A small executor: a few threads, one run queue, timers, and a reply and a mailbox to wait for.
//! All of weft here is `.traced()` in [`spawn`]: runs, waits and wakes follow from polls and
//! wakers.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use weft::coro::Traced;

type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Task {
    /// None once it is over, and while it is polled.
    body: Mutex<Option<Body>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<Arc<Task>>,
    timers: BTreeMap<(Instant, u64), Waker>,
    timers_ever: u64,
    is_over: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let shared = Arc::clone(&self.shared);

        shared.queue.lock().unwrap().ready.push_back(self);
        shared.changed.notify_one();
    }
}

/// Knows where to spawn, to sleep and to stop.
#[derive(Clone, Default)]
pub struct Executor(Arc<Shared>);

impl Executor {
    /// A future of its own, from here on.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let task = Arc::new(Task {
            body: Mutex::new(Some(Box::pin(future.traced()))),
            shared: Arc::clone(&self.0),
        });

        task.wake();
    }

    pub fn sleep(&self, time: Duration) -> Sleep {
        Sleep {
            shared: Arc::clone(&self.0),
            due: Instant::now() + time,
        }
    }

    pub fn stop(&self) {
        self.0.queue.lock().unwrap().is_over = true;
        self.0.changed.notify_all();
    }

    /// Until stop().
    pub fn run(&self, threads: usize) {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let shared = Arc::clone(&self.0);
                thread::spawn(move || while shared.run_one() {})
            })
            .collect();

        for worker in workers {
            worker.join().unwrap();
        }
    }
}

impl Shared {
    /// False: it is over.
    fn run_one(&self) -> bool {
        let task = match self.next() {
            Some(task) => task,
            None => return false,
        };
        let waker = Waker::from(Arc::clone(&task));
        // Locked during the poll: who is woken meanwhile, and popped by another thread, waits here.
        let mut body = task.body.lock().unwrap();

        if let Some(future) = body.as_mut() {
            if future
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
            {
                *body = None;
            }
        }
        true
    }

    fn next(&self) -> Option<Arc<Task>> {
        let mut queue = self.queue.lock().unwrap();

        loop {
            let now = Instant::now();
            let mut due = Vec::new();

            if queue.is_over {
                return None;
            }
            while let Some(&key) = queue.timers.keys().next().filter(|key| key.0 <= now) {
                due.extend(queue.timers.remove(&key));
            }
            if !due.is_empty() {
                drop(queue); // a waker takes the lock
                due.into_iter().for_each(Waker::wake);
                queue = self.queue.lock().unwrap();
                continue;
            }
            if let Some(task) = queue.ready.pop_front() {
                return Some(task);
            }
            let first = queue.timers.keys().next().map(|key| key.0 - now);
            queue = match first {
                Some(time) => self.changed.wait_timeout(queue, time).unwrap().0,
                None => self.changed.wait(queue).unwrap(),
            };
        }
    }
}

pub struct Sleep {
    shared: Arc<Shared>,
    due: Instant,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut queue = self.shared.queue.lock().unwrap();

        if Instant::now() >= self.due {
            return Poll::Ready(());
        }
        queue.timers_ever += 1;
        let key = (self.due, queue.timers_ever);
        queue.timers.insert(key, context.waker().clone());
        self.shared.changed.notify_one();
        Poll::Pending
    }
}

/// One value from one task to another.
#[derive(Default)]
pub struct Reply(Mutex<(Option<u64>, Option<Waker>)>);

impl Reply {
    pub fn put(&self, value: u64) {
        let waiter = {
            let mut inside = self.0.lock().unwrap();

            inside.0 = Some(value);
            inside.1.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    pub fn is_there(&self) -> bool {
        self.0.lock().unwrap().0.is_some()
    }

    /// Looks and waits in one step.
    pub fn take(&self) -> Take<'_> {
        Take(self, false)
    }

    /// Does not look before it waits: for who has seen that it is not there, which may be old by
    /// then.
    pub fn take_unseen(&self) -> Take<'_> {
        Take(self, true)
    }
}

pub struct Take<'a>(&'a Reply, bool);

impl Future for Take<'_> {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        let looks_away = std::mem::replace(&mut self.1, false);
        let mut inside = self.0 .0.lock().unwrap();

        match inside.0 {
            Some(value) if !looks_away => Poll::Ready(value),
            _ => {
                inside.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Messages for one task.
pub struct Mailbox<T>(Mutex<(VecDeque<T>, Option<Waker>)>);

impl<T> Default for Mailbox<T> {
    fn default() -> Mailbox<T> {
        Mailbox(Mutex::new((VecDeque::new(), None)))
    }
}

impl<T> Mailbox<T> {
    pub fn send(&self, message: T) {
        let waiter = {
            let mut inside = self.0.lock().unwrap();

            inside.0.push_back(message);
            inside.1.take()
        };
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }

    pub fn receive(&self) -> Receive<'_, T> {
        Receive(self)
    }
}

pub struct Receive<'a, T>(&'a Mailbox<T>);

impl<T> Future for Receive<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut inside = self.0 .0.lock().unwrap();

        match inside.0.pop_front() {
            Some(message) => Poll::Ready(message),
            None => {
                inside.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
