//! LISTEN and NOTIFY: messages between sessions of a database, sent when the sender commits and
//! delivered when the receiver is between transactions.

use base::{Lsn, Oid};
use os::sync::{Mutex, MutexGuard, RwLock};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The sender's number.
    pub pid: i32,
    /// Its channel.
    pub channel: Arc<str>,
    /// What it says.
    pub payload: Arc<str>,
}

impl Note {
    /// Bytes that it takes while it waits, as PostgreSQL's queue counts them.
    fn size(&self) -> u64 {
        const HEAD: usize = 16;
        (HEAD + self.channel.len() + self.payload.len() + 2).next_multiple_of(4) as u64
    }
}

/// Where a session's messages wait; each with what must be flushed before it is told.
#[derive(Default)]
pub struct Mailbox {
    notes: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    notes: VecDeque<(Lsn, Note)>,
    /// Their sizes together.
    bytes: u64,
}

impl Mailbox {
    /// True if nothing waits.
    pub fn is_empty(&self) -> bool {
        self.notes.lock().notes.is_empty()
    }

    /// Takes all that waits.
    pub fn take(&self) -> Vec<(Lsn, Note)> {
        std::mem::take(&mut *self.notes.lock()).notes.into()
    }
}

type Channel = (Oid, Arc<str>);

/// Wakes whoever serves idle sessions.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// Who listens to what, in all databases.
#[derive(Default)]
pub struct Switchboard {
    listeners: Mutex<HashMap<Channel, Vec<Arc<Mailbox>>>>,
    waker: RwLock<Option<Waker>>,
}

/// Held over a commit, so that messages come in the order of commits.
pub struct Publishing<'a> {
    listeners: MutexGuard<'a, HashMap<Channel, Vec<Arc<Mailbox>>>>,
}

impl Switchboard {
    /// Sets who serves idle sessions.
    pub fn set_waker(&self, waker: Waker) {
        *self.waker.write() = Some(waker);
    }

    /// Begins a commit that sends messages.
    pub fn publish(&self) -> Publishing<'_> {
        Publishing { listeners: self.listeners.lock() }
    }

    /// True if all who listen to these messages' channels have room for them: `limit` bytes may
    /// wait for each.
    pub fn has_room(&self, database: Oid, notes: &[(usize, Note)], limit: u64) -> bool {
        let listeners = self.listeners.lock();
        let new: u64 = notes.iter().map(|(_, n)| n.size()).sum();
        let mut told = notes
            .iter()
            .map(|(_, n)| &n.channel)
            .flat_map(|channel| listeners.get(&(database, channel.clone())).into_iter().flatten());
        told.all(|mailbox| mailbox.notes.lock().bytes + new <= limit)
    }

    /// Bytes that wait for the session that has most to read.
    pub fn most_waiting(&self) -> u64 {
        let listeners = self.listeners.lock();
        listeners.values().flatten().map(|m| m.notes.lock().bytes).max().unwrap_or(0)
    }

    /// Has those look who have got something.
    pub fn wake(&self) {
        if let Some(waker) = &*self.waker.read() {
            waker();
        }
    }

    /// A session listens to a channel from now on.
    pub fn listen(&self, database: Oid, channel: &Arc<str>, mailbox: &Arc<Mailbox>) {
        let mut all = self.listeners.lock();
        let list = all.entry((database, channel.clone())).or_default();
        if !list.iter().any(|m| Arc::ptr_eq(m, mailbox)) {
            list.push(mailbox.clone());
        }
    }

    /// A session does not listen any more.
    pub fn unlisten(&self, database: Oid, channel: &Arc<str>, mailbox: &Arc<Mailbox>) {
        let mut all = self.listeners.lock();
        let key = (database, channel.clone());
        if let Some(list) = all.get_mut(&key) {
            list.retain(|m| !Arc::ptr_eq(m, mailbox));
            if list.is_empty() {
                all.remove(&key);
            }
        }
    }
}

impl Publishing<'_> {
    /// Puts messages into the mailboxes; true if there was one.
    pub fn send(&self, database: Oid, notes: &[Note], lsn: Lsn) -> bool {
        let mut any = false;
        for note in notes {
            let key = (database, note.channel.clone());
            for mailbox in self.listeners.get(&key).into_iter().flatten() {
                let mut waiting = mailbox.notes.lock();
                waiting.bytes += note.size();
                waiting.notes.push_back((lsn, note.clone()));
                any = true;
            }
        }
        any
    }
}

/// What a transaction does to channels.
#[derive(Clone, Debug)]
enum Action {
    Listen(Arc<str>),
    Unlisten(Arc<str>),
    UnlistenAll,
}

/// A session's part.
#[derive(Default)]
pub struct Listening {
    /// Where its messages wait.
    pub mailbox: Arc<Mailbox>,
    channels: BTreeSet<Arc<str>>,
    /// What the transaction has said, with how many savepoints were open.
    actions: Vec<(usize, Action)>,
    notes: Vec<(usize, Note)>,
}

impl Listening {
    /// LISTEN, at the commit.
    pub fn listen(&mut self, level: usize, channel: &str) {
        self.actions.push((level, Action::Listen(Arc::from(channel))));
    }

    /// UNLISTEN, at the commit; no channel is all.
    pub fn unlisten(&mut self, level: usize, channel: Option<&str>) {
        let action = match channel {
            Some(channel) => Action::Unlisten(Arc::from(channel)),
            None => Action::UnlistenAll,
        };
        self.actions.push((level, action));
    }

    /// NOTIFY, at the commit. The same message is sent once.
    pub fn notify(&mut self, level: usize, note: Note) {
        if !self.notes.iter().any(|(_, n)| *n == note) {
            self.notes.push((level, note));
        }
    }

    /// The channels listened to.
    pub fn channels(&self) -> Vec<Arc<str>> {
        self.channels.iter().cloned().collect()
    }

    /// True if the transaction has said something.
    pub fn is_pending(&self) -> bool {
        !self.actions.is_empty() || !self.notes.is_empty()
    }

    /// The messages that the transaction sends.
    pub fn notes(&self) -> Vec<Note> {
        self.notes.iter().map(|(_, n)| n.clone()).collect()
    }

    /// True if the transaction's messages can be sent, as [`Switchboard::has_room`] has it.
    pub fn has_room(&self, board: &Switchboard, database: Oid, limit: u64) -> bool {
        self.notes.is_empty() || board.has_room(database, &self.notes, limit)
    }

    /// True if the session listens to nothing yet and is about to.
    pub fn begins(&self) -> bool {
        let listens = |a: &(usize, Action)| matches!(a.1, Action::Listen(_));
        self.channels.is_empty() && self.actions.iter().any(listens)
    }

    /// What of UNLISTEN the log of developers has, for the session of this number.
    pub fn trace_unlistens(&self, pid: i32) -> Vec<String> {
        let text = |action: &Action| match action {
            Action::Listen(_) => None,
            Action::Unlisten(channel) => Some(format!("Exec_UnlistenCommit({channel},{pid})")),
            Action::UnlistenAll => Some(format!("Exec_UnlistenAllCommit({pid})")),
        };
        self.actions.iter().filter_map(|(_, action)| text(action)).collect()
    }

    /// Before the commit: who is to listen hears all that commits from now on.
    pub fn prepare(&self, board: &Switchboard, database: Oid) {
        for (_, action) in &self.actions {
            if let Action::Listen(channel) = action {
                board.listen(database, channel, &self.mailbox);
            }
        }
    }

    /// The transaction committed.
    pub fn committed(&mut self, board: &Switchboard, database: Oid) {
        for (_, action) in std::mem::take(&mut self.actions) {
            match action {
                Action::Listen(channel) => {
                    board.listen(database, &channel, &self.mailbox);
                    self.channels.insert(channel);
                }
                Action::Unlisten(channel) => {
                    board.unlisten(database, &channel, &self.mailbox);
                    self.channels.remove(&channel);
                }
                Action::UnlistenAll => self.forget(board, database),
            }
        }
        self.notes.clear();
    }

    /// The transaction was rolled back.
    pub fn aborted(&mut self, board: &Switchboard, database: Oid) {
        for (_, action) in std::mem::take(&mut self.actions) {
            if let Action::Listen(channel) = action
                && !self.channels.contains(&channel)
            {
                board.unlisten(database, &channel, &self.mailbox);
            }
        }
        self.notes.clear();
    }

    /// Savepoints above `level` were rolled back.
    pub fn rolled_back_to(&mut self, level: usize) {
        self.actions.retain(|(l, _)| *l <= level);
        self.notes.retain(|(l, _)| *l <= level);
    }

    /// Savepoints above `level` became part of what is around them.
    pub fn released_to(&mut self, level: usize) {
        self.actions.iter_mut().for_each(|(l, _)| *l = (*l).min(level));
        self.notes.iter_mut().for_each(|(l, _)| *l = (*l).min(level));
    }

    /// Listens to nothing any more.
    pub fn forget(&mut self, board: &Switchboard, database: Oid) {
        for channel in std::mem::take(&mut self.channels) {
            board.unlisten(database, &channel, &self.mailbox);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_to_those_who_listen() {
        let board = Switchboard::default();
        let mut session = Listening::default();
        let database = Oid(5);
        session.listen(0, "a");
        session.listen(1, "b");
        session.rolled_back_to(0);
        session.committed(&board, database);
        let note =
            |channel: &str| Note { pid: 1, channel: Arc::from(channel), payload: Arc::from("x") };
        let sent = board.publish().send(database, &[note("a"), note("b")], Lsn(7));
        assert!(sent);
        assert_eq!(board.most_waiting(), 20);
        assert!(board.has_room(database, &[(0, note("a"))], 40));
        assert!(!board.has_room(database, &[(0, note("a"))], 39));
        assert!(board.has_room(database, &[(0, note("b"))], 39));
        assert_eq!(session.mailbox.take(), vec![(Lsn(7), note("a"))]);
        session.forget(&board, database);
        assert!(!board.publish().send(database, &[note("a")], Lsn(8)));
    }
}
