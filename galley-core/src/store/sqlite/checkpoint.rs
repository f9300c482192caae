//! Folds the write-ahead log into the database on a thread and connection of its own, so that no
//! commit waits for it.

use super::{file, refused};
use crate::error::Error;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// What to do. SQLite refuses a second checkpoint while one runs, so one thread does both.
enum Task {
    /// Fold in what can be folded without keeping anybody waiting.
    Fold,
    /// Fold in everything, so that the log starts over; then tell. Nobody may write meanwhile.
    Restart(SyncSender<()>),
}

#[derive(Debug)]
pub(super) struct Checkpoints {
    /// `None` only while dropping.
    tasks: Option<SyncSender<Task>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    pub(super) fn start(path: &Path) -> Result<Self, Error> {
        let connection = file::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let (tasks, queue) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("galley-db-fold".to_owned())
            .spawn(move || serve(&connection, &queue))
            .map_err(|error| refused(format!("cannot start the checkpoint thread: {error}")))?;
        Ok(Self { tasks: Some(tasks), thread: Some(thread) })
    }

    /// Asks for a checkpoint in the background; one that is waiting already will do.
    pub(super) fn fold(&self) {
        if let Some(tasks) = &self.tasks {
            let _ = tasks.try_send(Task::Fold);
        }
    }

    /// Waits until the log can start over. For the writer's thread only.
    pub(super) fn restart(&self) {
        let (done, wait) = sync_channel(1);
        if let Some(tasks) = &self.tasks
            && tasks.send(Task::Restart(done)).is_ok()
        {
            let _ = wait.recv();
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

fn serve(connection: &Connection, queue: &Receiver<Task>) {
    while let Ok(task) = queue.recv() {
        match task {
            Task::Fold => checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)"),
            Task::Restart(done) => {
                checkpoint(connection, "PRAGMA wal_checkpoint(RESTART)");
                let _ = done.send(());
            }
        }
    }
}

/// One that fails or is kept from finishing loses nothing; the next one goes on.
fn checkpoint(connection: &Connection, pragma: &str) {
    if let Err(error) = connection.query_row(pragma, [], |_| Ok(())) {
        tracing::warn!(%error, "the write-ahead log could not be folded into the database; trying again later");
    }
}
