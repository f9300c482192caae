//! Folds the write-ahead log into the database on a thread and connection of its own, so that no
//! commit waits for it.

use super::{file, refused};
use crate::error::Error;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

/// Beyond this many pages (32 MiB) the log is started over, for which writers wait a moment; a busy
/// writer would otherwise keep it growing for ever.
const MAX_WAL_PAGES: i64 = 8192;

#[derive(Debug)]
pub(super) struct Checkpoints {
    /// `None` only while dropping.
    asked: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    pub(super) fn start(path: &Path) -> Result<Self, Error> {
        let connection = file::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let (asked, queue) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("galley-db-fold".to_owned())
            .spawn(move || serve(&connection, &queue))
            .map_err(|error| refused(format!("cannot start the checkpoint thread: {error}")))?;
        Ok(Self { asked: Some(asked), thread: Some(thread) })
    }

    /// Asks for a checkpoint; one that is waiting already will do. False when nobody is there.
    pub(super) fn ask(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| !matches!(asked.try_send(()), Err(TrySendError::Disconnected(()))))
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.asked = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

fn serve(connection: &Connection, queue: &Receiver<()>) {
    while queue.recv().is_ok() {
        let outcome = fold(connection, "PRAGMA wal_checkpoint(PASSIVE)")
            .and_then(|pages| if pages > MAX_WAL_PAGES { fold(connection, "PRAGMA wal_checkpoint(RESTART)") } else { Ok(pages) });
        if let Err(error) = outcome {
            tracing::warn!(%error, "the database's write-ahead log could not be folded in; trying again later");
        }
    }
}

/// The number of pages in the log afterwards.
fn fold(connection: &Connection, checkpoint: &str) -> rusqlite::Result<i64> {
    connection.query_row(checkpoint, [], |row| row.get(1))
}
