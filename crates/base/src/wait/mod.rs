//! Wait events: what a session is waiting for, as `pg_stat_activity` shows it. The list is
//! `data/wait_events.tsv`, in the order of `pg_wait_events`.

#[rustfmt::skip]
mod generated;
pub use generated::{EVENTS, WaitEvent};

impl WaitEvent {
    /// The event of this number, as kept in a shared word.
    pub fn from_u16(n: u16) -> WaitEvent {
        match (n as usize).checked_sub(1).and_then(|i| EVENTS.get(i)) {
            Some(event) => event.0,
            None => WaitEvent::None,
        }
    }

    fn row(self) -> Option<&'static (WaitEvent, &'static str, &'static str, &'static str)> {
        (self as usize).checked_sub(1).and_then(|i| EVENTS.get(i))
    }

    /// The type: `IO`, `Lock`, `LWLock`, ... ; `None` while not waiting.
    pub fn class(self) -> Option<&'static str> {
        self.row().map(|r| r.1)
    }

    /// The name; `None` while not waiting.
    pub fn name(self) -> Option<&'static str> {
        self.row().map(|r| r.2)
    }

    /// What it means.
    pub fn description(self) -> Option<&'static str> {
        self.row().map(|r| r.3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enum_is_the_list() {
        let list = include_str!("../../data/wait_events.tsv");
        assert_eq!(list.lines().count(), EVENTS.len());
        for (i, line) in list.lines().enumerate() {
            let mut f = line.split('\t');
            let event = WaitEvent::from_u16(i as u16 + 1);
            assert_eq!(event as usize, i + 1);
            assert_eq!(event.class(), f.next());
            assert_eq!(event.name(), f.next());
            assert_eq!(event.description(), f.next());
        }
    }
}
