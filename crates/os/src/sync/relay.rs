//! A bounded queue from one thread to another.

use super::{Condvar, Mutex, MutexGuard};
use crate::wait;
use base::WaitEvent;
use std::collections::VecDeque;

/// Hands things from one thread to another, which may fall behind by so many.
pub struct Relay<T> {
    state: Mutex<State<T>>,
    most: usize,
    /// The receiver waits for something.
    filled: Condvar,
    /// The sender waits for room.
    room: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    /// Nothing more will be sent.
    ended: bool,
    /// Nothing more will be received.
    abandoned: bool,
}

impl<T> Relay<T> {
    /// A queue of at most `most`.
    pub fn new(most: usize) -> Relay<T> {
        let state = State { items: VecDeque::with_capacity(most), ended: false, abandoned: false };
        let (filled, room) = (Condvar::new(), Condvar::new());
        Relay { state: Mutex::new(state), most, filled, room }
    }

    /// Sends one, waiting for room; gives it back if nobody will receive it.
    pub fn send(&self, item: T, event: WaitEvent) -> Result<(), T> {
        let full = |s: &State<T>| s.items.len() >= self.most && !s.abandoned;
        let mut state = self.await_change(&self.room, event, full);
        if state.abandoned {
            return Err(item);
        }
        state.items.push_back(item);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// The next one, waited for; none if no more will come.
    pub fn receive(&self, event: WaitEvent) -> Option<T> {
        let mut state = self.await_change(&self.filled, event, |s| s.items.is_empty() && !s.ended);
        let item = state.items.pop_front();
        drop(state);
        self.room.notify_one();
        item
    }

    /// The next one, if it is there.
    pub fn try_receive(&self) -> Option<T> {
        let item = self.state.lock().items.pop_front();
        self.room.notify_one();
        item
    }

    /// Nothing more will be sent. What was sent can still be received.
    pub fn end(&self) {
        self.state.lock().ended = true;
        self.filled.notify_all();
    }

    /// Nothing more will be received; what was sent is dropped.
    pub fn abandon(&self) {
        let mut state = self.state.lock();
        state.abandoned = true;
        state.ended = true;
        let dropped = std::mem::take(&mut state.items);
        drop(state);
        self.room.notify_all();
        self.filled.notify_all();
        drop(dropped);
    }

    fn await_change<'a>(
        &'a self,
        change: &Condvar,
        event: WaitEvent,
        waits: impl Fn(&State<T>) -> bool,
    ) -> MutexGuard<'a, State<T>> {
        let mut state = self.state.lock();
        if waits(&state) {
            drop(state);
            let waiting = wait::begin(event);
            state = self.state.lock();
            while waits(&state) {
                state = change.wait(state);
            }
            drop(waiting);
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const EVENT: WaitEvent = WaitEvent::MessageQueueSend;

    #[test]
    fn all_arrive_in_order() {
        let relay = Arc::new(Relay::new(3));
        let sender = Arc::clone(&relay);
        let thread = std::thread::spawn(move || {
            for i in 0..1000 {
                sender.send(i, EVENT).unwrap();
            }
            sender.end();
        });
        let got: Vec<i32> = std::iter::from_fn(|| relay.receive(EVENT)).collect();
        thread.join().unwrap();
        assert_eq!(got, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn who_waits_for_room_learns_that_nobody_receives() {
        let relay = Arc::new(Relay::new(1));
        let sender = Arc::clone(&relay);
        let thread = std::thread::spawn(move || {
            let mut sent = 0;
            while sender.send(sent, EVENT).is_ok() {
                sent += 1;
            }
            sent
        });
        assert_eq!(relay.receive(EVENT), Some(0));
        relay.abandon();
        assert!(thread.join().unwrap() >= 1);
        assert_eq!(relay.receive(EVENT), None);
    }
}
