//! The one writer: a thread that commits whatever has queued up, in one transaction.

use super::apply::{self, Fault};
use super::checkpoint::Checkpoints;
use super::compact::Compaction;
use super::{purge, refused, sqlite_error};
use crate::error::Error;
use crate::store::Change;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::sync::{mpsc, oneshot, watch};

/// Commits that may wait for the writer; beyond it, callers wait.
const QUEUE: usize = 1024;
/// A group is closed at this many commits...
const MAX_GROUP: usize = 256;
/// ...or this many bytes.
const MAX_GROUP_BYTES: usize = 4 << 20;
/// What one commit adds to the WAL besides its bytes: the pages it touches.
const PAGES_PER_COMMIT: usize = 4 * 4096;
/// About what one step of a purge or a compaction adds to it.
const CHORE_PER_STEP: usize = 64 * 4096;
/// The WAL is folded into the file, in the background, whenever about this much has been added.
const CHECKPOINT_EVERY: usize = 4 << 20;
/// The WAL is started over when about this much has been added; commits wait for it. Writes that
/// never pause would otherwise make it grow for ever.
const RESTART_EVERY: usize = 48 << 20;

#[derive(Debug)]
pub(super) struct Writer {
    /// `None` only while dropping.
    requests: Option<mpsc::Sender<Request>>,
    decisions: watch::Receiver<u64>,
    thread: Option<JoinHandle<()>>,
}

type Done = oneshot::Sender<Result<(), Error>>;

enum Request {
    Commit(Commit),
    /// Compact what is older than this, in milliseconds since the epoch.
    Compact(i64, Done),
}

/// One `commit`.
struct Commit {
    changes: Vec<Change>,
    done: Done,
}

impl Writer {
    pub(super) fn start(connection: Connection, path: &Path) -> Result<Self, Error> {
        let checkpoints = Checkpoints::start(path)?;
        let (requests, queue) = mpsc::channel(QUEUE);
        let (counter, decisions) = watch::channel(0);
        // A purge that an earlier process did not finish goes on.
        let to_purge = purge::is_due(&connection).map_err(|error| sqlite_error(path, error))?;
        let group = GroupCommit {
            connection,
            path: path.into(),
            synchronous: None,
            checkpoints,
            since_checkpoint: 0,
            since_restart: 0,
            decisions: counter,
            to_purge,
            compaction: None,
        };
        let thread = thread::Builder::new()
            .name("galley-db-write".to_owned())
            .spawn(move || group.serve(queue))
            .map_err(|error| refused(format!("cannot start the writer thread: {error}")))?;
        Ok(Self { requests: Some(requests), decisions, thread: Some(thread) })
    }

    /// Counts the groups with a decision that were committed.
    pub(super) fn decisions(&self) -> watch::Receiver<u64> {
        self.decisions.clone()
    }

    pub(super) async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        self.ask(|done| Request::Commit(Commit { changes, done })).await
    }

    /// Compacts the log between commits.
    pub(super) async fn compact(&self, before: i64) -> Result<(), Error> {
        self.ask(|done| Request::Compact(before, done)).await
    }

    async fn ask(&self, request: impl FnOnce(Done) -> Request) -> Result<(), Error> {
        let gone = || Error::Internal("the writer thread ended early".to_owned());
        let (done, result) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or_else(gone)?;
        requests.send(request(done)).await.map_err(|_| gone())?;
        result.await.map_err(|_| gone())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the writer has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

struct GroupCommit {
    connection: Connection,
    path: Arc<Path>,
    /// The setting in force.
    synchronous: Option<Synchronous>,
    checkpoints: Checkpoints,
    since_checkpoint: usize,
    since_restart: usize,
    decisions: watch::Sender<u64>,
    /// Deleted sessions have rows left.
    to_purge: bool,
    /// The compaction under way, and who waits for it.
    compaction: Option<(Compaction, Done)>,
}

/// How far a commit goes before it is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Synchronous {
    /// To the operating system: survives the process.
    Normal,
    /// To the disk, with all that came before: survives a power cut.
    Full,
}

impl GroupCommit {
    fn serve(mut self, mut queue: mpsc::Receiver<Request>) {
        while let Some(first) = self.next(&mut queue) {
            let mut bytes = 0;
            let mut group = Vec::new();
            let mut next = Some(first);
            while let Some(request) = next {
                if let Some(commit) = self.take(request) {
                    bytes += size(&commit.changes);
                    group.push(commit);
                }
                next = (group.len() < MAX_GROUP && bytes < MAX_GROUP_BYTES).then(|| queue.try_recv().ok()).flatten();
            }
            if !group.is_empty() {
                self.commit(group);
                self.bound_wal(bytes + PAGES_PER_COMMIT);
            }
            self.chore();
        }
    }

    /// The next request. While none waits, what was deleted is purged and what is old compacted.
    fn next(&mut self, queue: &mut mpsc::Receiver<Request>) -> Option<Request> {
        while self.to_purge || self.compaction.is_some() {
            match queue.try_recv() {
                Ok(request) => return Some(request),
                Err(mpsc::error::TryRecvError::Disconnected) => return None,
                Err(mpsc::error::TryRecvError::Empty) => self.chore(),
            }
        }
        queue.blocking_recv()
    }

    /// The commit that is asked for; a compaction is begun between commits.
    fn take(&mut self, request: Request) -> Option<Commit> {
        match request {
            Request::Commit(commit) => Some(commit),
            Request::Compact(before, done) => {
                match Compaction::begin(&self.connection, before) {
                    // One that was under way is over: its caller is told that the writer dropped it.
                    Ok(compaction) => self.compaction = Some((compaction, done)),
                    // The caller may have stopped waiting.
                    Err(error) => drop(done.send(Err(sqlite_error(&self.path, error)))),
                }
                None
            }
        }
    }

    /// One step of what is done in the background, if there is something to do.
    fn chore(&mut self) {
        if self.to_purge {
            self.purge();
        } else if self.compaction.is_some() {
            self.compact();
        } else {
            return;
        }
        self.bound_wal(CHORE_PER_STEP);
    }

    /// One step of a purge.
    fn purge(&mut self) {
        let step = self.set_synchronous(Synchronous::Normal).and_then(|()| purge::step(&mut self.connection));
        self.to_purge = step.unwrap_or_else(|error| {
            // What is left is invisible; the next deletion, or the next process, takes it up again.
            tracing::warn!(%error, "what was deleted could not be purged");
            false
        });
    }

    /// One step of a compaction.
    fn compact(&mut self) {
        let ready = self.set_synchronous(Synchronous::Normal);
        let Some((mut compaction, done)) = self.compaction.take() else { return };
        match ready.and_then(|()| compaction.step(&mut self.connection)) {
            Ok(true) => self.compaction = Some((compaction, done)),
            // The caller may have stopped waiting.
            Ok(false) => drop(done.send(Ok(()))),
            Err(error) => drop(done.send(Err(sqlite_error(&self.path, error)))),
        }
    }

    fn bound_wal(&mut self, added: usize) {
        self.since_checkpoint += added;
        self.since_restart += added;
        if self.since_restart >= RESTART_EVERY {
            // What is left to fold in is little: the background has done most of it.
            self.checkpoints.restart();
            (self.since_checkpoint, self.since_restart) = (0, 0);
        } else if self.since_checkpoint >= CHECKPOINT_EVERY {
            self.checkpoints.fold();
            self.since_checkpoint = 0;
        }
    }

    fn commit(&mut self, group: Vec<Commit>) {
        match self.transaction(&group) {
            // One request that cannot be applied must not take the others with it.
            Err(Error::Internal(_) | Error::InvalidArgs { .. }) if group.len() > 1 => {
                for request in group {
                    let alone = [request];
                    let outcome = self.transaction(&alone);
                    answer(alone, &outcome);
                }
            }
            outcome => answer(group, &outcome),
        }
    }

    fn transaction(&mut self, group: &[Commit]) -> Result<(), Error> {
        let path = Arc::clone(&self.path);
        self.try_transaction(group).map_err(|fault| match fault {
            Fault::Sqlite(error) => sqlite_error(&path, error),
            Fault::Refused(error) => error,
        })
    }

    fn try_transaction(&mut self, group: &[Commit]) -> Result<(), Fault> {
        let decides = group.iter().flat_map(|request| &request.changes).any(Change::is_decision);
        self.set_synchronous(if decides { Synchronous::Full } else { Synchronous::Normal })?;
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for change in group.iter().flat_map(|request| &request.changes) {
            apply::change(&transaction, change)?;
        }
        transaction.commit()?;
        if decides {
            self.decisions.send_modify(|count| *count += 1);
        }
        self.to_purge |= group.iter().flat_map(|request| &request.changes).any(|change| matches!(change, Change::DeleteSession { .. }));
        Ok(())
    }

    fn set_synchronous(&mut self, wanted: Synchronous) -> rusqlite::Result<()> {
        if self.synchronous != Some(wanted) {
            self.connection.execute_batch(match wanted {
                Synchronous::Normal => "PRAGMA synchronous = NORMAL",
                Synchronous::Full => "PRAGMA synchronous = FULL",
            })?;
            self.synchronous = Some(wanted);
        }
        Ok(())
    }
}

fn answer(group: impl IntoIterator<Item = Commit>, outcome: &Result<(), Error>) {
    for request in group {
        // The caller may have stopped waiting.
        let _ = request.done.send(outcome.clone());
    }
}

/// About how many bytes the changes hold.
fn size(changes: &[Change]) -> usize {
    changes
        .iter()
        .map(|change| match change {
            Change::AppendLog(chunk) => chunk.lines.as_ref().map_or(0, bytes::Bytes::len),
            Change::InsertMessage(row) => {
                let json = [&row.tool_calls, &row.tool_results].into_iter().flatten().map(|json| json.as_str().len()).sum::<usize>();
                row.content.len() + row.final_answer.as_ref().map_or(0, String::len) + row.thinking.as_ref().map_or(0, String::len) + json
            }
            Change::SetFinalAnswer { answer: text, .. } | Change::SetMessageContent { content: text, .. } => text.len(),
            Change::PutApproval(row) => row.args.as_ref().map_or(0, |args| args.as_str().len()),
            Change::PutSession(_)
            | Change::SetMessageState { .. }
            | Change::SetMessageRank { .. }
            | Change::SupersedeTurn { .. }
            | Change::DeleteSession { .. }
            | Change::PutProject(_)
            | Change::DeleteProject { .. }
            | Change::RemoveRule { .. }
            | Change::PutRule(_)
            | Change::SetSetting { .. } => 0,
        })
        .sum()
}
