//! Combo command ids. A row that its own transaction inserted and then deleted needs two command
//! ids, and has room for one number: it names the pair, which lives as long as the transaction.

use crate::snapshot::Snapshot;
use base::CommandId;
use hashbrown::HashMap;

/// The pairs of a session's running transaction.
#[derive(Default)]
pub(crate) struct Combos {
    pairs: Vec<(CommandId, CommandId)>,
    numbers: HashMap<(CommandId, CommandId), u32>,
}

impl Combos {
    fn number(&mut self, pair: (CommandId, CommandId)) -> u32 {
        let Combos { pairs, numbers } = self;
        *numbers.entry(pair).or_insert_with(|| {
            pairs.push(pair);
            pairs.len() as u32 - 1
        })
    }

    /// At the end of the transaction.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.numbers.clear();
    }
}

impl Snapshot {
    /// The commands that inserted and deleted a row of the snapshot's own transaction.
    pub fn combo(&self, number: u32) -> (CommandId, CommandId) {
        let none = (CommandId(0), CommandId(0));
        let Some(hold) = &self.hold else { return none };
        hold.backend.combos.lock().pairs.get(number as usize).copied().unwrap_or(none)
    }

    /// The number that stands for a row's two commands; 0 for a snapshot without a session.
    pub fn make_combo(&self, cmin: CommandId, cmax: CommandId) -> u32 {
        match &self.hold {
            Some(hold) => hold.backend.combos.lock().number((cmin, cmax)),
            None => 0,
        }
    }
}
