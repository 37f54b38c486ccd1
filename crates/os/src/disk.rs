//! Files and folders, real or simulated.

use crate::error::{IoError, Result};
use crate::real;
use crate::sim::{SimDisk, SimFile};
use crate::{AlignedBuf, SharedBuf};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A disk, real or simulated; cheap to clone. Relative paths start at the disk's root.
#[derive(Clone)]
pub struct Disk(Arc<Kind>);

enum Kind {
    Real(PathBuf),
    Simulated(SimDisk),
}

/// How to open a file. Files are always readable.
#[derive(Clone, Copy, Default, Debug)]
pub struct OpenOptions {
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) direct: bool,
    pub(crate) dsync: bool,
    pub(crate) read_only: bool,
    pub(crate) append: bool,
}

impl OpenOptions {
    /// An existing file, for reading and writing, through the page cache.
    pub fn new() -> OpenOptions {
        OpenOptions::default()
    }

    /// Creates the file if it is missing.
    pub fn create(mut self) -> OpenOptions {
        self.create = true;
        self
    }

    /// Creates the file and fails if it exists.
    pub fn exclusive(mut self) -> OpenOptions {
        self.exclusive = true;
        self
    }

    /// Empties the file.
    pub fn truncate(mut self) -> OpenOptions {
        self.truncate = true;
        self
    }

    /// Goes past the page cache where the file system can; see [`File::direct_align`].
    pub fn direct(mut self, yes: bool) -> OpenOptions {
        self.direct = yes;
        self
    }

    /// Each write is durable when it returns.
    pub fn dsync(mut self, yes: bool) -> OpenOptions {
        self.dsync = yes;
        self
    }

    /// Whatever is written goes to the end of the file, wherever that is by then.
    pub fn append(mut self) -> OpenOptions {
        self.append = true;
        self
    }

    /// For reading only.
    pub fn read_only(mut self) -> OpenOptions {
        self.read_only = true;
        self
    }
}

/// What a folder holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DirEntry {
    /// The name within the folder.
    pub name: String,
    /// True for a folder.
    pub is_dir: bool,
}

/// Facts about a file or folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// Size in bytes; 0 for a folder.
    pub len: u64,
    /// True for a folder.
    pub is_dir: bool,
    /// Time of the last change in microseconds since 1970.
    pub modified_micros: i64,
}

impl Disk {
    /// The machine's file systems; relative paths start at the working folder.
    pub fn real() -> Disk {
        Disk::real_in("")
    }

    /// The machine's file systems; relative paths start at `root`.
    pub fn real_in(root: impl Into<PathBuf>) -> Disk {
        Disk(Arc::new(Kind::Real(root.into())))
    }

    /// A simulated disk.
    pub fn simulated(disk: SimDisk) -> Disk {
        Disk(Arc::new(Kind::Simulated(disk)))
    }

    /// The simulated disk, if this is one.
    pub fn as_simulated(&self) -> Option<&SimDisk> {
        match &*self.0 {
            Kind::Real(_) => None,
            Kind::Simulated(s) => Some(s),
        }
    }

    /// Opens a file.
    pub fn open(&self, path: &Path, options: &OpenOptions) -> Result<File> {
        let inner = match &*self.0 {
            Kind::Real(root) => FileKind::Real(real::RealFile::open(&root.join(path), options)?),
            Kind::Simulated(s) => FileKind::Simulated(s.open(path, options)?),
        };
        Ok(File(Arc::new(inner)))
    }

    /// Renames a file or folder, over what has the new name. Durable after
    /// [`Disk::sync_dir`] of the folder.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        match &*self.0 {
            Kind::Real(root) => real::rename(&root.join(from), &root.join(to)),
            Kind::Simulated(s) => s.rename(from, to),
        }
    }

    /// Removes a file.
    pub fn remove(&self, path: &Path) -> Result<()> {
        match &*self.0 {
            Kind::Real(root) => real::remove(&root.join(path)),
            Kind::Simulated(s) => s.remove(path),
        }
    }

    /// Removes a folder and all in it.
    pub fn remove_dir_all(&self, path: &Path) -> Result<()> {
        match &*self.0 {
            Kind::Real(root) => real::remove_dir_all(&root.join(path)),
            Kind::Simulated(s) => s.remove_dir_all(path),
        }
    }

    /// Makes a link to a folder.
    pub fn symlink(&self, to: &Path, link: &Path) -> Result<()> {
        match &*self.0 {
            Kind::Real(root) => real::symlink(to, &root.join(link)),
            // Files behind it lie under the link's own name there.
            Kind::Simulated(s) => s.create_dir_all(link),
        }
    }

    /// Removes a link to a folder, or an empty folder; fine if there is none.
    pub fn unlink(&self, link: &Path) -> Result<()> {
        match &*self.0 {
            Kind::Real(root) => real::unlink(&root.join(link)),
            Kind::Simulated(s) => s.remove_dir_all(link),
        }
    }

    /// What a link to a folder leads to; none if it is no link.
    pub fn link_target(&self, link: &Path) -> Option<PathBuf> {
        match &*self.0 {
            Kind::Real(root) => real::link_target(&root.join(link)),
            Kind::Simulated(_) => None,
        }
    }

    /// Creates a folder and those above it, private to this user; fine if it exists.
    pub fn create_dir_all(&self, path: &Path) -> Result<()> {
        match &*self.0 {
            Kind::Real(root) => real::create_dir_all(&root.join(path)),
            Kind::Simulated(s) => s.create_dir_all(path),
        }
    }

    /// What the folder holds, sorted by name.
    pub fn list(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let mut all = match &*self.0 {
            Kind::Real(root) => real::list(&root.join(path))?,
            Kind::Simulated(s) => s.list(path)?,
        };
        all.sort();
        Ok(all)
    }

    /// Makes the names in the folder durable.
    pub fn sync_dir(&self, path: &Path) -> Result<()> {
        match &*self.0 {
            Kind::Real(root) => real::sync_dir(&root.join(path)),
            Kind::Simulated(s) => s.sync_dir(path),
        }
    }

    /// Facts about a file or folder.
    pub fn metadata(&self, path: &Path) -> Result<Metadata> {
        match &*self.0 {
            Kind::Real(root) => real::metadata(&root.join(path)),
            Kind::Simulated(s) => s.metadata(path),
        }
    }

    /// True if there is something of that name.
    pub fn exists(&self, path: &Path) -> bool {
        self.metadata(path).is_ok()
    }

    /// A whole file.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>> {
        let file = self.open(path, &OpenOptions::new().read_only())?;
        let mut data = vec![0; file.len()? as usize];
        let n = file.read_at(&mut data, 0)?;
        data.truncate(n);
        Ok(data)
    }

    /// Replaces a whole file durably: readers, and a crash, see the old or the new contents.
    pub fn write_atomic(&self, path: &Path, data: &[u8]) -> Result<()> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".tmp");
        let temporary = path.with_file_name(name);
        let file = self.open(&temporary, &OpenOptions::new().create().truncate())?;
        file.write_at(data, 0)?;
        file.sync()?;
        drop(file);
        self.rename(&temporary, path)?;
        self.sync_dir(path.parent().unwrap_or(Path::new("")))
    }

    /// Copies a file that has all its bytes on disk to a new one, by sharing them where the file
    /// system can.
    pub fn clone_file(&self, from: &Path, to: &Path) -> Result<()> {
        match &*self.0 {
            Kind::Real(root) => real::clone_file(&root.join(from), &root.join(to)),
            Kind::Simulated(_) => {
                let bytes = self.read(from)?;
                self.open(to, &OpenOptions::new().create().truncate())?.write_at(&bytes, 0)
            }
        }
    }

    /// Syncs every file and folder below `path`. Crash recovery starts with it: the process
    /// that died may have written pages that it never synced, and redo will find them new
    /// enough to leave them alone.
    pub fn sync_tree(&self, path: &Path) -> Result<()> {
        match &*self.0 {
            Kind::Real(root) => real::sync_filesystem(&root.join(path)),
            Kind::Simulated(_) => self.sync_each(path),
        }
    }

    /// The same, one file after the other: what it does not find need not be written.
    pub fn sync_each(&self, path: &Path) -> Result<()> {
        for entry in self.list(path)? {
            let child = path.join(&entry.name);
            if entry.is_dir {
                self.sync_each(&child)?;
            } else {
                match self.open(&child, &OpenOptions::new().read_only()) {
                    Ok(file) => file.sync()?,
                    Err(e) if e.is_not_found() => {}
                    Err(e) => return Err(e),
                }
            }
        }
        self.sync_dir(path)
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.0 {
            Kind::Real(root) => write!(f, "Disk({})", root.display()),
            Kind::Simulated(_) => f.write_str("Disk(simulated)"),
        }
    }
}

/// An open file; clones share it.
#[derive(Clone)]
pub struct File(pub(crate) Arc<FileKind>);

pub(crate) enum FileKind {
    Real(real::RealFile),
    Simulated(SimFile),
}

impl File {
    /// Reads at `offset` until the buffer is full or the file ends; gives how many bytes.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        match &*self.0 {
            FileKind::Real(f) => f.read_at(buf, offset),
            FileKind::Simulated(f) => f.read_at(buf, offset),
        }
    }

    /// Reads exactly `buf.len()` bytes; a file that ends before is an error (EIO).
    pub fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        match self.read_at(buf, offset)? == buf.len() {
            true => Ok(()),
            false => Err(IoError::new("read file", self.path(), libc::EIO)),
        }
    }

    /// Writes all of `data` at `offset`.
    pub fn write_at(&self, data: &[u8], offset: u64) -> Result<()> {
        match &*self.0 {
            FileKind::Real(f) => f.write_at(data, offset),
            FileKind::Simulated(f) => f.write_at(data, offset),
        }
    }

    /// Writes `len` bytes of a shared buffer, from `at`, at `offset` of the file. Words that
    /// other threads change meanwhile are written in some state. `at` and `len` are multiples
    /// of 8, of [`File::direct_align`] if there is one.
    pub fn write_shared_at(
        &self,
        buf: &SharedBuf,
        at: usize,
        len: usize,
        offset: u64,
    ) -> Result<()> {
        match &*self.0 {
            FileKind::Real(f) => f.write_raw_at(buf.raw(at, len), len, offset),
            FileKind::Simulated(f) => f.write_shared_at(buf, at, len, offset),
        }
    }

    /// Makes all that was written durable, with the size (fdatasync). After a failure the
    /// file's unsynced contents are lost for good: stop, never try again.
    pub fn sync(&self) -> Result<()> {
        match &*self.0 {
            FileKind::Real(f) => f.sync(),
            FileKind::Simulated(f) => f.sync(),
        }
    }

    /// Reserves space, growing the file with zeros if it ends before.
    pub fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        match &*self.0 {
            FileKind::Real(f) => f.allocate(offset, len),
            FileKind::Simulated(f) => f.allocate(offset, len),
        }
    }

    /// Cuts or extends the file to `len` bytes.
    pub fn truncate(&self, len: u64) -> Result<()> {
        match &*self.0 {
            FileKind::Real(f) => f.truncate(len),
            FileKind::Simulated(f) => f.truncate(len),
        }
    }

    /// Size in bytes.
    pub fn len(&self) -> Result<u64> {
        match &*self.0 {
            FileKind::Real(f) => f.len(),
            FileKind::Simulated(f) => f.len(),
        }
    }

    /// True if the file has no bytes.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        match &*self.0 {
            FileKind::Real(f) => f.path(),
            FileKind::Simulated(f) => f.path(),
        }
    }

    /// Alignment in bytes of offsets, lengths and addresses if reads and writes go past the
    /// page cache. Reads of other shapes, and writes from other addresses, take a copy;
    /// writes at other offsets or lengths fail. `None`: through the page cache, any shape.
    pub fn direct_align(&self) -> Option<usize> {
        match &*self.0 {
            FileKind::Real(f) => f.direct_align(),
            FileKind::Simulated(_) => None,
        }
    }

    /// Tells the kernel that this part of the page cache will not be needed soon.
    pub fn forget_cached(&self, offset: u64, len: u64) {
        if let FileKind::Real(f) = &*self.0 {
            f.forget_cached(offset, len);
        }
    }

    /// Fills `[offset, offset + len)` with zeros, in large writes, so that later writes find
    /// their blocks allocated and initialised.
    pub fn write_zeros(&self, offset: u64, len: u64) -> Result<()> {
        let zeros = AlignedBuf::zeroed(len.min(1 << 20) as usize);
        let mut done = 0;
        while done < len {
            let n = (len - done).min(zeros.len() as u64);
            self.write_at(&zeros[..n as usize], offset + done)?;
            done += n;
        }
        Ok(())
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({})", self.path().display())
    }
}
