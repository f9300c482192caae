//! One Core for each database: an operating-system lock on a file beside it.

use crate::error::Error;
#[cfg(unix)]
use crate::runner::{Descriptors, Listed};
use crate::store::{create_private_dir, sibling};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Held by the Core that owns a database, in this process or another; released when dropped, or
/// when the process ends in whatever way. The file itself stays: removing it could let two Cores
/// lock two files of one name.
#[derive(Debug)]
pub struct InstanceLock {
    file: File,
    path: PathBuf,
    /// The process that took it.
    process: u32,
}

impl Drop for InstanceLock {
    /// Closing the file would release it only when no copy of the descriptor is left, and a child
    /// on its way to execute a program has one for a moment. A fork of the owner releases nothing.
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // Nobody owns the database from here on, and readers see that. Should either fail,
            // closing does the rest.
            let _ = self.file.set_len(0);
            let _ = self.file.unlock();
        }
    }
}

impl InstanceLock {
    /// Takes the lock of the database at `database`, creating the folder if need be. The lock file
    /// is `<database>.lock` and holds the owner's process id.
    ///
    /// # Errors
    /// [`Error::AlreadyRunning`] when another Core has it; [`Error::DbUnavailable`] when the lock
    /// file cannot be used.
    pub fn acquire(database: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::DbUnavailable(format!("cannot lock the database {}: {error}", database.display()));
        if let Some(folder) = database.parent() {
            create_private_dir(folder).map_err(failed)?;
        }
        let path = sibling(&real_path(database).map_err(failed)?, ".lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::AlreadyRunning { pid: owner(&mut file), path }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        file.set_len(0).and_then(|()| write!(file, "{}", std::process::id())).and_then(|()| file.flush()).map_err(failed)?;
        Ok(Self { file, path, process: std::process::id() })
    }

    /// Lists its descriptor among what a forked child lets go of; to be dropped before the lock.
    #[cfg(unix)]
    pub(crate) fn list(&self, descriptors: &Descriptors) -> Listed {
        descriptors.list(&self.file)
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether a Core owns the database, as far as its lock file tells. The lock itself is not tried: a
/// reader that held it for a moment could keep a Core from starting.
pub fn is_owned(database: &Path) -> bool {
    let Ok(path) = real_path(database) else { return false };
    match std::fs::read_to_string(sibling(&path, ".lock")) {
        Ok(pid) => pid.trim().parse().is_ok_and(is_alive),
        // Where locks are mandatory, a locked file cannot be read.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

#[cfg(unix)]
fn is_alive(pid: i32) -> bool {
    let Some(pid) = rustix::process::Pid::from_raw(pid) else { return false };
    // A process of somebody else is one, too.
    rustix::process::test_kill_process(pid).map_or_else(|error| error == rustix::io::Errno::PERM, |()| true)
}

#[cfg(not(unix))]
fn is_alive(_pid: i32) -> bool {
    // The file was readable, so nobody has it locked.
    false
}

/// The file that `database` leads to, so that two names of one database share a lock.
fn real_path(database: &Path) -> io::Result<PathBuf> {
    match database.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (folder, name) = (database.parent().unwrap_or(Path::new("")), database.file_name().ok_or(error)?);
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            Ok(folder.canonicalize()?.join(name))
        }
        found => found,
    }
}

/// The process id in the file; `None` while its owner is still writing it, or where a locked file
/// cannot be read.
fn owner(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    text.trim().parse().ok()
}
