//! The real disk: plain system calls.

use crate::error::{IoError, Result};
use crate::{AlignedBuf, BUF_ALIGN, DirEntry, Metadata, OpenOptions};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// An open file.
pub struct RealFile {
    fd: OwnedFd,
    path: PathBuf,
    /// Alignment for direct I/O in bytes; 0 if the page cache is used.
    align: usize,
}

impl RealFile {
    pub fn open(path: &Path, options: &OpenOptions) -> Result<RealFile> {
        let mut flags = libc::O_CLOEXEC;
        flags |= if options.read_only { libc::O_RDONLY } else { libc::O_RDWR };
        if options.create || options.exclusive {
            flags |= libc::O_CREAT;
        }
        if options.exclusive {
            flags |= libc::O_EXCL;
        }
        if options.truncate {
            flags |= libc::O_TRUNC;
        }
        if options.dsync {
            flags |= libc::O_DSYNC;
        }
        if options.append {
            flags |= libc::O_APPEND;
        }
        let Ok(c_path) = CString::new(path.as_os_str().as_bytes()) else {
            return Err(IoError::new("open file", path, libc::EINVAL));
        };
        if options.direct {
            match open_fd(&c_path, flags | libc::O_DIRECT) {
                Ok(fd) => {
                    if let Some(align) = direct_alignment(&fd) {
                        return Ok(RealFile { fd, path: path.into(), align });
                    }
                    flags &= !(libc::O_EXCL | libc::O_TRUNC);
                }
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
                    // The file system refuses direct I/O, after it made the file.
                    flags &= !libc::O_EXCL;
                }
                Err(e) => return Err(IoError::from_io("open file", path, &e)),
            }
        }
        let fd = open_fd(&c_path, flags).map_err(|e| IoError::from_io("open file", path, &e))?;
        Ok(RealFile { fd, path: path.into(), align: 0 })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn raw_fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    pub fn direct_align(&self) -> Option<usize> {
        (self.align != 0).then_some(self.align)
    }

    /// True if the request may go to the kernel as it is.
    pub fn fits(&self, address: usize, len: usize, offset: u64) -> bool {
        self.align == 0
            || (address.is_multiple_of(self.align)
                && len.is_multiple_of(self.align)
                && offset.is_multiple_of(self.align as u64))
    }

    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        if self.fits(buf.as_ptr() as usize, buf.len(), offset) {
            return self.read_plain(buf, offset);
        }
        let align = self.align.max(BUF_ALIGN) as u64;
        let start = offset / align * align;
        let end = (offset + buf.len() as u64).div_ceil(align) * align;
        let mut bounce = AlignedBuf::zeroed((end - start) as usize);
        let got = self.read_plain(&mut bounce, start)?;
        let skip = (offset - start) as usize;
        let n = got.saturating_sub(skip).min(buf.len());
        buf[..n].copy_from_slice(&bounce[skip..skip + n]);
        Ok(n)
    }

    fn read_plain(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            let rest = &mut buf[done..];
            // SAFETY: the pointer and length describe a live, writable slice.
            let n = unsafe {
                libc::pread(
                    self.raw_fd(),
                    rest.as_mut_ptr().cast(),
                    rest.len(),
                    (offset + done as u64) as i64,
                )
            };
            match n {
                0 => break,
                n if n > 0 => {
                    done += n as usize;
                    // A direct read that ends unaligned ended at the end of the file.
                    if self.align != 0 && !(n as usize).is_multiple_of(self.align) {
                        break;
                    }
                }
                _ if interrupted() => {}
                _ => return Err(IoError::last("read file", &self.path)),
            }
        }
        Ok(done)
    }

    pub fn write_at(&self, data: &[u8], offset: u64) -> Result<()> {
        if self.fits(data.as_ptr() as usize, data.len(), offset) {
            return self.write_raw_at(data.as_ptr(), data.len(), offset);
        }
        let mut bounce = AlignedBuf::zeroed(data.len());
        bounce.copy_from_slice(data);
        self.write_raw_at(bounce.as_ptr(), data.len(), offset)
    }

    /// Writes memory that may change meanwhile; the kernel copies some state of it.
    pub fn write_raw_at(&self, data: *const u8, len: usize, offset: u64) -> Result<()> {
        let mut done = 0;
        while done < len {
            // SAFETY: callers pass the bounds of live memory, from a slice or a SharedBuf.
            let n = unsafe {
                libc::pwrite(
                    self.raw_fd(),
                    data.add(done).cast(),
                    len - done,
                    (offset + done as u64) as i64,
                )
            };
            match n {
                0 => return Err(IoError::new("write to file", &self.path, libc::ENOSPC)),
                n if n > 0 => done += n as usize,
                _ if interrupted() => {}
                _ => return Err(IoError::last("write to file", &self.path)),
            }
        }
        Ok(())
    }

    pub fn sync(&self) -> Result<()> {
        // SAFETY: the descriptor is open.
        match unsafe { libc::fdatasync(self.raw_fd()) } {
            0 => Ok(()),
            _ => Err(IoError::last("fsync file", &self.path)),
        }
    }

    pub fn allocate(&self, offset: u64, len: u64) -> Result<()> {
        loop {
            // SAFETY: the descriptor is open.
            let r = unsafe { libc::posix_fallocate(self.raw_fd(), offset as i64, len as i64) };
            match r {
                0 => return Ok(()),
                libc::EINTR => {}
                errno => return Err(IoError::new("extend file", &self.path, errno)),
            }
        }
    }

    pub fn truncate(&self, len: u64) -> Result<()> {
        loop {
            // SAFETY: the descriptor is open.
            match unsafe { libc::ftruncate(self.raw_fd(), len as i64) } {
                0 => return Ok(()),
                _ if interrupted() => {}
                _ => return Err(IoError::last("truncate file", &self.path)),
            }
        }
    }

    pub fn len(&self) -> Result<u64> {
        // SAFETY: the descriptor is open.
        let end = unsafe { libc::lseek(self.raw_fd(), 0, libc::SEEK_END) };
        if end < 0 { Err(IoError::last("seek file", &self.path)) } else { Ok(end as u64) }
    }

    pub fn forget_cached(&self, offset: u64, len: u64) {
        // SAFETY: the descriptor is open; the call is advice.
        unsafe {
            libc::posix_fadvise(
                self.raw_fd(),
                offset as i64,
                len as i64,
                libc::POSIX_FADV_DONTNEED,
            );
        }
    }
}

fn interrupted() -> bool {
    io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
}

fn open_fd(path: &CString, flags: i32) -> io::Result<OwnedFd> {
    loop {
        // SAFETY: the path is a C string that outlives the call.
        let fd = unsafe { libc::open(path.as_ptr(), flags, 0o640) };
        if fd >= 0 {
            // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        if !interrupted() {
            return Err(io::Error::last_os_error());
        }
    }
}

/// The alignment direct I/O asks of this file; `None` if it has none to offer.
fn direct_alignment(fd: &OwnedFd) -> Option<usize> {
    // SAFETY: statx is plain data; all zero is a value of it.
    let mut st: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, the path is empty and the buffer is writable.
    let r = unsafe {
        libc::statx(
            fd.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &mut st,
        )
    };
    if r != 0 || st.stx_mask & libc::STATX_DIOALIGN == 0 {
        // An old kernel, or a file system that does not say: the page size always works.
        return Some(4096);
    }
    let align = st.stx_dio_mem_align.max(st.stx_dio_offset_align) as usize;
    let usable = st.stx_dio_offset_align != 0 && align <= BUF_ALIGN;
    usable.then_some(align.max(512))
}

pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| IoError::from_io("rename file", from, &e))
}

pub fn remove(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(|e| IoError::from_io("remove file", path, &e))
}

pub fn remove_dir_all(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).map_err(|e| IoError::from_io("remove directory", path, &e))
}

pub fn symlink(to: &Path, link: &Path) -> Result<()> {
    let made = std::os::unix::fs::symlink(to, link);
    made.map_err(|e| IoError::from_io("create symbolic link", link, &e))
}

pub fn unlink(link: &Path) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(link) else { return Ok(()) };
    let removed = if found.is_symlink() { fs::remove_file(link) } else { fs::remove_dir(link) };
    removed.map_err(|e| IoError::from_io("remove symbolic link", link, &e))
}

pub fn link_target(link: &Path) -> Option<std::path::PathBuf> {
    fs::read_link(link).ok()
}

pub fn create_dir_all(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    // The umask says whether the group may read.
    builder.recursive(true).mode(0o750);
    builder.create(path).map_err(|e| IoError::from_io("create directory", path, &e))
}

pub fn list(path: &Path) -> Result<Vec<DirEntry>> {
    let fail = |e: io::Error| IoError::from_io("read directory", path, &e);
    let path_or_dot = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let entries =
        fs::read_dir(path_or_dot).map_err(|e| IoError::from_io("open directory", path, &e))?;
    let mut all = vec![];
    for entry in entries {
        let entry = entry.map_err(fail)?;
        // A link to a folder, as tablespaces are, counts as a folder.
        let is_dir = fs::metadata(entry.path()).map(|m| m.is_dir()).unwrap_or(false);
        all.push(DirEntry { name: entry.file_name().to_string_lossy().into_owned(), is_dir });
    }
    Ok(all)
}

pub fn sync_dir(path: &Path) -> Result<()> {
    let path_or_dot = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let fail = |e: io::Error| IoError::from_io("fsync file", path, &e);
    fs::File::open(path_or_dot).map_err(fail)?.sync_all().map_err(fail)
}

/// Makes all that was written to the file system of this folder durable: one call is much faster
/// than a sync of each of many small files.
pub fn sync_filesystem(path: &Path) -> Result<()> {
    use std::os::fd::AsRawFd;
    let path_or_dot = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let fail = |e: io::Error| IoError::from_io("synchronize file system for file", path, &e);
    let dir = fs::File::open(path_or_dot).map_err(fail)?;
    // SAFETY: the descriptor is open during the call, which takes no pointers.
    match unsafe { libc::syncfs(dir.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(fail(io::Error::last_os_error())),
    }
}

pub fn clone_file(from: &Path, to: &Path) -> Result<()> {
    let fail = |e: io::Error| IoError::from_io("clone file", from, &e);
    let source = fs::File::open(from).map_err(fail)?;
    let target = fs::File::create(to).map_err(fail)?;
    loop {
        // SAFETY: both descriptors are open during the call, and null pointers mean that the
        // files' own positions are used and moved.
        let n = unsafe {
            libc::copy_file_range(
                source.as_raw_fd(),
                std::ptr::null_mut(),
                target.as_raw_fd(),
                std::ptr::null_mut(),
                1 << 30,
                0,
            )
        };
        match n {
            0 => return Ok(()),
            n if n > 0 || interrupted() => {}
            _ => return Err(fail(io::Error::last_os_error())),
        }
    }
}

pub fn metadata(path: &Path) -> Result<Metadata> {
    let m = fs::metadata(path).map_err(|e| IoError::from_io("stat file", path, &e))?;
    let modified = m.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    Ok(Metadata {
        len: if m.is_dir() { 0 } else { m.len() },
        is_dir: m.is_dir(),
        modified_micros: modified.map_or(0, |d| d.as_micros() as i64),
    })
}
