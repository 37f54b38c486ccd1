//! The simulated disk: files in memory that forget what was not synced.

use super::content::Inode;
use super::sched::{self, Sim};
use crate::error::{IoError, Result};
use crate::random::Rng;
use crate::{DirEntry, Metadata, OpenOptions, SharedBuf};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What goes wrong, and when. Operations are writes, syncs and changes of names, counted
/// from 1 in the order in which they happen.
#[derive(Clone, Default, Debug)]
pub struct Faults {
    /// The machine crashes at this operation; an unsynced write may be lost, kept or torn.
    pub crash_at: Option<u64>,
    /// This operation fails with EIO, if it is a sync.
    pub fail_sync_at: Option<u64>,
    /// This operation fails with EIO, if it is a write.
    pub fail_write_at: Option<u64>,
    /// Bytes the disk has; a write beyond gets ENOSPC.
    pub capacity: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Node {
    Dir,
    File(u64),
}

/// A change of names that no sync of its folder has covered yet.
#[derive(Clone, Debug)]
enum NameChange {
    Put(PathBuf, Node),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl NameChange {
    fn touches(&self, dir: &Path) -> bool {
        let inside = |p: &PathBuf| p.parent() == Some(dir);
        match self {
            NameChange::Put(p, _) | NameChange::Remove(p) => inside(p),
            NameChange::Rename(a, b) => inside(a) || inside(b),
        }
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, Node>) {
        match self {
            NameChange::Put(p, node) => {
                names.insert(p.clone(), *node);
            }
            NameChange::Remove(p) => {
                names.remove(p);
            }
            NameChange::Rename(a, b) => {
                let below: Vec<PathBuf> = names
                    .range(a.clone()..)
                    .map(|(p, _)| p.clone())
                    .take_while(|p| p.starts_with(a))
                    .collect();
                for old in below {
                    if let (Some(node), Ok(rest)) = (names.remove(&old), old.strip_prefix(a)) {
                        let new =
                            if rest.as_os_str().is_empty() { b.clone() } else { b.join(rest) };
                        names.insert(new, node);
                    }
                }
            }
        }
    }
}

struct State {
    names: BTreeMap<PathBuf, Node>,
    durable_names: BTreeMap<PathBuf, Node>,
    name_changes: Vec<NameChange>,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    faults: Faults,
    operations: u64,
    syncs: u64,
    crashed: bool,
    rng: Rng,
}

/// A simulated disk; clones share it.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

enum Op {
    Write,
    Sync,
    Names,
}

impl SimDisk {
    /// An empty disk; `seed` decides what a crash leaves.
    pub fn new(seed: u64, faults: Faults) -> SimDisk {
        SimDisk::from_state(State {
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            name_changes: vec![],
            inodes: BTreeMap::new(),
            next_inode: 1,
            faults,
            operations: 0,
            syncs: 0,
            crashed: false,
            rng: Rng::new(seed),
        })
    }

    fn from_state(state: State) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Operations so far: the range from which to choose a point to crash at.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Syncs so far.
    pub fn syncs(&self) -> u64 {
        self.lock().syncs
    }

    /// Bytes that files have.
    pub fn used(&self) -> u64 {
        self.lock().used()
    }

    /// Replaces the faults to come. Operations go on counting.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    /// True after a crash.
    pub fn is_crashed(&self) -> bool {
        self.lock().crashed
    }

    /// Crashes now: every later operation fails, and the simulation, if any, stops.
    pub fn crash(&self) {
        self.lock().crashed = true;
        Sim::crash();
    }

    /// The disk as the machine finds it when the power is back: of what was not synced each
    /// piece is lost, kept or torn, as `seed` says. This one stays as it was.
    pub fn power_cycle(&self, seed: u64) -> SimDisk {
        let old = self.lock();
        let mut rng = Rng::new(seed);
        let mut names = old.durable_names.clone();
        // A journal replays a prefix; without one, any subset may have arrived.
        let prefix = rng.one_in(2).then(|| rng.below(old.name_changes.len() as u64 + 1));
        for (i, change) in old.name_changes.iter().enumerate() {
            let arrived = match prefix {
                Some(n) => (i as u64) < n,
                None => rng.one_in(2),
            };
            if arrived {
                change.apply(&mut names);
            }
        }
        let inodes: BTreeMap<u64, Inode> = old
            .inodes
            .iter()
            .map(|(n, inode)| (*n, inode.clone().after_crash(&mut rng)))
            .filter(|(n, _)| names.values().any(|node| *node == Node::File(*n)))
            .collect();
        SimDisk::from_state(State {
            durable_names: names.clone(),
            names,
            name_changes: vec![],
            inodes,
            next_inode: old.next_inode,
            faults: Faults::default(),
            operations: 0,
            syncs: 0,
            crashed: false,
            rng,
        })
    }

    /// The disk after the process alone died: nothing is lost, nothing is synced by that.
    pub fn process_restart(&self) -> SimDisk {
        let old = self.lock();
        SimDisk::from_state(State {
            names: old.names.clone(),
            durable_names: old.durable_names.clone(),
            name_changes: old.name_changes.clone(),
            inodes: old.inodes.clone(),
            next_inode: old.next_inode,
            faults: Faults::default(),
            operations: 0,
            syncs: 0,
            crashed: false,
            rng: old.rng.clone(),
        })
    }

    /// Counts an operation and lets the faults happen; the door of the scheduler.
    fn operation(&self, op: Op, path: &Path) -> Result<MutexGuard<'_, State>> {
        pass_door();
        let mut state = self.lock();
        if state.crashed {
            drop(state);
            Sim::crash();
            return Err(IoError::new("reach file", path, libc::EIO));
        }
        state.operations += 1;
        let now = Some(state.operations);
        let fails = match op {
            Op::Write => state.faults.fail_write_at == now,
            Op::Sync => {
                state.syncs += 1;
                state.faults.fail_sync_at == now
            }
            Op::Names => false,
        };
        if fails {
            let what = if matches!(op, Op::Sync) { "fsync file" } else { "write to file" };
            return Err(IoError::new(what, path, libc::EIO));
        }
        Ok(state)
    }

    /// After an operation took effect in memory: crashes if this is the one to crash at.
    fn crash_if_due(&self, mut state: MutexGuard<'_, State>, path: &Path) -> Result<()> {
        if state.faults.crash_at == Some(state.operations) {
            state.crashed = true;
            drop(state);
            Sim::crash();
            return Err(IoError::new("reach file", path, libc::EIO));
        }
        Ok(())
    }

    fn reading(&self, path: &Path) -> Result<MutexGuard<'_, State>> {
        pass_door();
        let state = self.lock();
        if state.crashed {
            drop(state);
            Sim::crash();
            return Err(IoError::new("reach file", path, libc::EIO));
        }
        Ok(state)
    }

    pub(crate) fn open(&self, path: &Path, options: &OpenOptions) -> Result<SimFile> {
        let err = |errno| IoError::new("open file", path, errno);
        let existing = self.reading(path)?.names.get(path).copied();
        let inode = match existing {
            Some(Node::Dir) => return Err(err(libc::EISDIR)),
            Some(Node::File(_)) if options.exclusive => return Err(err(libc::EEXIST)),
            Some(Node::File(n)) => n,
            None if options.create || options.exclusive => self.create(path)?,
            None => return Err(err(libc::ENOENT)),
        };
        let file = SimFile { disk: self.clone(), inode, path: path.into(), dsync: options.dsync };
        if options.truncate && existing.is_some() {
            file.truncate(0)?;
        }
        Ok(file)
    }

    fn create(&self, path: &Path) -> Result<u64> {
        let mut state = self.operation(Op::Names, path)?;
        state.check_parent("open file", path)?;
        let n = state.next_inode;
        state.next_inode += 1;
        state.inodes.insert(n, Inode::default());
        state.change_names(NameChange::Put(path.into(), Node::File(n)));
        self.crash_if_due(state, path)?;
        Ok(n)
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut state = self.operation(Op::Names, from)?;
        if !state.names.contains_key(from) {
            return Err(IoError::new("rename file", from, libc::ENOENT));
        }
        state.check_parent("rename file", to)?;
        state.change_names(NameChange::Rename(from.into(), to.into()));
        self.crash_if_due(state, from)
    }

    pub(crate) fn remove(&self, path: &Path) -> Result<()> {
        let mut state = self.operation(Op::Names, path)?;
        match state.names.get(path) {
            None => return Err(IoError::new("remove file", path, libc::ENOENT)),
            Some(Node::Dir) => return Err(IoError::new("remove file", path, libc::EISDIR)),
            Some(Node::File(_)) => {}
        }
        state.change_names(NameChange::Remove(path.into()));
        self.crash_if_due(state, path)
    }

    pub(crate) fn remove_dir_all(&self, path: &Path) -> Result<()> {
        let mut state = self.operation(Op::Names, path)?;
        let all: Vec<PathBuf> =
            state.names.keys().filter(|p| p.starts_with(path)).cloned().collect();
        if all.is_empty() {
            return Err(IoError::new("remove directory", path, libc::ENOENT));
        }
        for p in all.into_iter().rev() {
            state.change_names(NameChange::Remove(p));
        }
        self.crash_if_due(state, path)
    }

    pub(crate) fn create_dir_all(&self, path: &Path) -> Result<()> {
        let mut state = self.operation(Op::Names, path)?;
        let mut missing: Vec<&Path> = vec![];
        for p in path.ancestors().filter(|p| p.parent().is_some() && !p.as_os_str().is_empty()) {
            match state.names.get(p) {
                Some(Node::Dir) => break,
                Some(Node::File(_)) => {
                    return Err(IoError::new("create directory", path, libc::ENOTDIR));
                }
                None => missing.push(p),
            }
        }
        for p in missing.into_iter().rev() {
            state.change_names(NameChange::Put(p.into(), Node::Dir));
        }
        self.crash_if_due(state, path)
    }

    pub(crate) fn sync_dir(&self, path: &Path) -> Result<()> {
        let mut state = self.operation(Op::Sync, path)?;
        if state.faults.crash_at == Some(state.operations) {
            return self.crash_if_due(state, path);
        }
        let last = state.name_changes.iter().rposition(|c| c.touches(path));
        let State { name_changes, durable_names, .. } = &mut *state;
        if let Some(last) = last {
            // Changes elsewhere that came before go with it, as in a journal.
            for change in name_changes.drain(..=last) {
                change.apply(durable_names);
            }
        }
        Ok(())
    }

    pub(crate) fn list(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let state = self.reading(path)?;
        if !is_root(path) && state.names.get(path) != Some(&Node::Dir) {
            return Err(IoError::new("open directory", path, libc::ENOENT));
        }
        let inside = state.names.iter().filter(|(p, _)| p.parent() == Some(path));
        let entry = |(p, node): (&PathBuf, &Node)| DirEntry {
            name: p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
            is_dir: *node == Node::Dir,
        };
        Ok(inside.map(entry).collect())
    }

    pub(crate) fn metadata(&self, path: &Path) -> Result<Metadata> {
        let state = self.reading(path)?;
        match state.names.get(path) {
            Some(Node::File(n)) => {
                Ok(Metadata { len: state.inodes[n].seen.len(), is_dir: false, modified_micros: 0 })
            }
            Some(Node::Dir) => Ok(Metadata { len: 0, is_dir: true, modified_micros: 0 }),
            None if is_root(path) => Ok(Metadata { len: 0, is_dir: true, modified_micros: 0 }),
            None => Err(IoError::new("stat file", path, libc::ENOENT)),
        }
    }
}

fn is_root(path: &Path) -> bool {
    path.parent().is_none()
}

fn pass_door() {
    if let Some(sched) = sched::current() {
        sched.door();
    }
}

impl State {
    fn change_names(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.name_changes.push(change);
    }

    fn check_parent(&self, op: &'static str, path: &Path) -> Result<()> {
        match path.parent() {
            None => Err(IoError::new(op, path, libc::EINVAL)),
            Some(p) if is_root(p) || self.names.get(p) == Some(&Node::Dir) => Ok(()),
            Some(_) => Err(IoError::new(op, path, libc::ENOENT)),
        }
    }

    fn used(&self) -> u64 {
        let named = self.names.values().filter_map(|node| match node {
            Node::File(n) => self.inodes.get(n),
            Node::Dir => None,
        });
        named.map(|i| i.seen.len()).sum()
    }

    fn check_room(&self, path: &Path, more: u64) -> Result<()> {
        let Some(capacity) = self.faults.capacity else { return Ok(()) };
        // Space is counted by what files of the disk span, so that preallocation counts.
        if self.used() + more > capacity {
            return Err(IoError::new("write to file", path, libc::ENOSPC));
        }
        Ok(())
    }
}

/// An open simulated file.
pub struct SimFile {
    disk: SimDisk,
    inode: u64,
    path: PathBuf,
    dsync: bool,
}

impl SimFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let state = self.disk.reading(&self.path)?;
        Ok(state.inodes.get(&self.inode).map_or(0, |i| i.seen.read(buf, offset)))
    }

    pub(crate) fn write_at(&self, data: &[u8], offset: u64) -> Result<()> {
        let mut state = self.disk.operation(Op::Write, &self.path)?;
        let end = offset + data.len() as u64;
        let more = end.saturating_sub(state.inodes.get(&self.inode).map_or(0, |i| i.seen.len()));
        if more > 0 {
            state.check_room(&self.path, more)?;
        }
        let crashes = state.faults.crash_at == Some(state.operations);
        if let Some(inode) = state.inodes.get_mut(&self.inode) {
            inode.write(data, offset);
            if self.dsync && !crashes {
                inode.sync_last();
            }
        }
        self.disk.crash_if_due(state, &self.path)
    }

    pub(crate) fn write_shared_at(
        &self,
        buf: &SharedBuf,
        at: usize,
        len: usize,
        off: u64,
    ) -> Result<()> {
        let mut copy = vec![0; len];
        buf.load(at / 8, &mut copy);
        self.write_at(&copy, off)
    }

    pub(crate) fn sync(&self) -> Result<()> {
        let result = self.disk.operation(Op::Sync, &self.path);
        let mut state = match result {
            Ok(state) => state,
            Err(e) => {
                let mut state = self.disk.lock();
                let State { inodes, rng, crashed, .. } = &mut *state;
                if let (Some(inode), false) = (inodes.get_mut(&self.inode), *crashed) {
                    inode.lose_pending(rng);
                }
                return Err(e);
            }
        };
        if state.faults.crash_at != Some(state.operations)
            && let Some(inode) = state.inodes.get_mut(&self.inode)
        {
            inode.sync();
        }
        self.disk.crash_if_due(state, &self.path)
    }

    pub(crate) fn truncate(&self, len: u64) -> Result<()> {
        let mut state = self.disk.operation(Op::Write, &self.path)?;
        if let Some(inode) = state.inodes.get_mut(&self.inode) {
            inode.set_len(len);
        }
        self.disk.crash_if_due(state, &self.path)
    }

    pub(crate) fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        let mut state = self.disk.operation(Op::Write, &self.path)?;
        let seen = state.inodes.get(&self.inode).map_or(0, |i| i.seen.len());
        let more = (offset + len).saturating_sub(seen);
        if more > 0 {
            state.check_room(&self.path, more)?;
        }
        if let Some(inode) = state.inodes.get_mut(&self.inode) {
            inode.allocate(offset + len);
        }
        self.disk.crash_if_due(state, &self.path)
    }

    pub(crate) fn len(&self) -> Result<u64> {
        let state = self.disk.reading(&self.path)?;
        Ok(state.inodes.get(&self.inode).map_or(0, |i| i.seen.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disk, OpenOptions};

    fn disk() -> (SimDisk, Disk) {
        let sim = SimDisk::new(1, Faults::default());
        (sim.clone(), Disk::simulated(sim))
    }

    #[test]
    fn synced_data_survives_and_unsynced_may_not() {
        let mut outcomes = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let (sim, disk) = disk();
            let file = disk.open(Path::new("f"), &OpenOptions::new().create()).unwrap();
            disk.sync_dir(Path::new("")).unwrap();
            file.write_at(&[1; 1024], 0).unwrap();
            file.sync().unwrap();
            file.write_at(&[2; 1024], 0).unwrap();
            let after = Disk::simulated(sim.power_cycle(seed));
            let data = after.read(Path::new("f")).unwrap();
            assert_eq!(data.len(), 1024);
            assert!(data[..512].iter().all(|b| *b == data[0]), "torn inside a sector");
            outcomes.insert((data[0], data[512]));
        }
        assert_eq!(outcomes.len(), 4);
    }

    #[test]
    fn names_need_a_sync_of_the_folder() {
        let mut kept = 0;
        for seed in 0..100 {
            let (sim, disk) = disk();
            disk.create_dir_all(Path::new("d")).unwrap();
            disk.sync_dir(Path::new("")).unwrap();
            let file = disk.open(Path::new("d/f"), &OpenOptions::new().create()).unwrap();
            file.write_at(b"x", 0).unwrap();
            file.sync().unwrap();
            let after = Disk::simulated(sim.power_cycle(seed));
            kept += after.exists(Path::new("d/f")) as u32;
            disk.sync_dir(Path::new("d")).unwrap();
            assert!(Disk::simulated(sim.power_cycle(seed)).exists(Path::new("d/f")));
        }
        assert!(kept > 10 && kept < 90);
    }

    #[test]
    fn faults_happen_once() {
        let (sim, disk) = disk();
        let file = disk.open(Path::new("f"), &OpenOptions::new().create()).unwrap();
        sim.set_faults(Faults { fail_sync_at: Some(sim.operations() + 2), ..Faults::default() });
        file.write_at(b"x", 0).unwrap();
        assert!(file.sync().is_err());
        assert!(file.sync().is_ok());
        sim.set_faults(Faults { capacity: Some(4096), ..Faults::default() });
        assert!(file.write_at(&[1; 8192], 0).unwrap_err().is_full());
        assert!(file.write_at(&[1; 100], 0).is_ok());
    }

    #[test]
    fn write_atomic_is_all_or_nothing() {
        for at in 1..12 {
            let sim = SimDisk::new(at, Faults::default());
            let disk = Disk::simulated(sim.clone());
            disk.write_atomic(Path::new("f"), b"old").unwrap();
            let crash_at = Some(sim.operations() + at);
            sim.set_faults(Faults { crash_at, ..Faults::default() });
            let done = disk.write_atomic(Path::new("f"), &[7; 9000]).is_ok();
            for seed in 0..20 {
                let data = Disk::simulated(sim.power_cycle(seed)).read(Path::new("f")).unwrap();
                assert!(data == [7; 9000] || (!done && data == b"old"));
            }
        }
    }
}
