//! The store in one SQLite file: a writer thread, a checkpoint thread, and reader threads.

mod apply;
mod cells;
mod checkpoint;
mod compact;
mod file;
mod log_key;
mod migrate;
mod purge;
mod read;
mod readers;
mod search_text;
mod writer;

pub(crate) use file::{create_private_dir, sibling};

use super::{
    ApprovalQuery, Change, LogChunk, MessageQuery, Page, ProjectMember, ReadStore, Rule, SearchQuery, SessionQuery, SessionSnapshot, SessionStore,
};
use crate::error::Error;
use crate::time::Timestamp;
use async_trait::async_trait;
use galley_protocol::ipc::HistoryMessage;
use galley_protocol::socket::{
    Approval, HealthCheck, MessageBrief, ProjectBrief, ProjectOverview, ProjectTranscripts, QueueItem, SearchHit, SessionBrief, StatusSummary,
    Transcript,
};
use readers::{Readers, opened};
use rusqlite::{Connection, ErrorCode};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;
use writer::Writer;

/// Reads from a database file that somebody else may be writing, without touching it.
#[derive(Debug)]
pub struct SqliteReader {
    readers: Readers,
    /// `data_version` counts what *other* connections did since this one last looked, so all
    /// questions go to the same one.
    version: Mutex<Option<Connection>>,
}

impl SqliteReader {
    /// Opens an existing database for reading. Creates nothing and migrates nothing.
    ///
    /// # Errors
    /// [`Error::DbUnavailable`] when the file is missing, foreign, broken, older or newer; the
    /// message says what would help.
    pub fn open(path: &Path) -> Result<Self, Error> {
        file::check_for_reader(path)?;
        Ok(Self::on(path, None))
    }

    /// The file at `path` as it is now: when [`open`](Self::open) would refuse it, every read
    /// answers why.
    pub fn at(path: &Path) -> Self {
        Self::on(path, file::check_for_reader(path).err())
    }

    /// As [`at`](Self::at), for a program that does nothing else meanwhile: a read blocks the thread
    /// that asks, which is quicker than to hand it to another.
    pub fn in_place(path: &Path) -> Self {
        Self { readers: Readers::in_place(path, file::check_for_reader(path).err()), version: Mutex::new(None) }
    }

    fn on(path: &Path, refusal: Option<Error>) -> Self {
        Self { readers: Readers::new(path, refusal), version: Mutex::new(None) }
    }
}

/// A database file of ours, with its one writer. Dropping it finishes the commits that were asked
/// for and closes the file.
#[derive(Debug)]
pub struct SqliteStore {
    // Dropped first: the last connection to close folds the WAL into the file, and only one that
    // may write can.
    reader: SqliteReader,
    writer: Writer,
}

impl SqliteStore {
    /// Opens the database at `path`, creating it (and its folder, both for this user only) or
    /// migrating it as needed. Whoever calls this holds the [`InstanceLock`](crate::InstanceLock).
    ///
    /// # Errors
    /// [`Error::DbUnavailable`] when the file is foreign, broken or newer (it is left as it is), or
    /// when its folder cannot be used; [`Error::DbBusy`] when somebody holds it locked.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let connection = file::open_writer(path)?;
        Ok(Self { reader: SqliteReader::on(path, None), writer: Writer::start(connection, path)? })
    }

    /// Removes the text deltas of runs whose messages are older than `before` from the log, but never
    /// of a session's latest run; between commits, in the background. Returns when it is done.
    ///
    /// # Errors
    /// When the database cannot be used; what is left is taken up by the next call.
    pub async fn compact(&self, before: Timestamp) -> Result<(), Error> {
        self.writer.compact(before.as_millis()).await
    }

    /// Counts the commits that held a decision (anything but log lines); changes after each.
    pub fn decisions(&self) -> watch::Receiver<u64> {
        self.writer.decisions()
    }
}

#[async_trait]
impl ReadStore for SqliteReader {
    async fn session(&self, id: &str) -> Result<Option<SessionBrief>, Error> {
        let id = id.to_owned();
        self.readers.read(move |db| read::session::one(db, &id)).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionBrief>, Error> {
        let start = read::session::Cursor::of(query)?;
        let query = query.clone();
        self.readers.read(move |db| read::session::page(db, &query, start)).await
    }

    async fn messages(&self, query: &MessageQuery) -> Result<Vec<MessageBrief>, Error> {
        let query = query.clone();
        self.readers.read(move |db| read::message::transcript(db, &query)).await
    }

    async fn message(&self, id: &str) -> Result<Option<MessageBrief>, Error> {
        let id = id.to_owned();
        self.readers.read(move |db| read::message::one(db, &id)).await
    }

    async fn transcript(&self, session_id: &str, tail: Option<u32>) -> Result<Option<Transcript>, Error> {
        let session_id = session_id.to_owned();
        self.readers.read(move |db| read::follow::transcript(db, &session_id, tail)).await
    }

    async fn project_sessions(&self, project_id: &str) -> Result<Option<Vec<ProjectMember>>, Error> {
        let project_id = project_id.to_owned();
        self.readers.read(move |db| read::follow::sessions(db, &project_id)).await
    }

    async fn newest_session(&self) -> Result<i64, Error> {
        self.readers.read(read::follow::newest_session).await
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, Error> {
        let query = query.clone();
        self.readers.read(move |db| read::search::hits(db, &query)).await
    }

    async fn project(&self, id: &str) -> Result<Option<ProjectBrief>, Error> {
        let id = id.to_owned();
        self.readers.read(move |db| read::project::one(db, &id)).await
    }

    async fn projects(&self) -> Result<Vec<ProjectBrief>, Error> {
        self.readers.read(read::project::all).await
    }

    async fn project_overview(&self, id: &str) -> Result<Option<ProjectOverview>, Error> {
        let id = id.to_owned();
        self.readers.read(move |db| read::project::overview(db, &id)).await
    }

    async fn project_transcripts(&self, id: &str, tail: Option<u32>, all: bool) -> Result<Option<ProjectTranscripts>, Error> {
        let id = id.to_owned();
        self.readers.read(move |db| read::project::transcripts(db, &id, tail, all)).await
    }

    async fn queue(&self, session_id: &str) -> Result<Vec<QueueItem>, Error> {
        let session_id = session_id.to_owned();
        self.readers.read(move |db| read::message::queue(db, &session_id)).await
    }

    async fn rules_of(&self, scope: Option<&str>) -> Result<Vec<Rule>, Error> {
        let scope = scope.map(str::to_owned);
        self.readers.read(move |db| read::approval::rules_of(db, scope.as_deref())).await
    }

    async fn status(&self) -> Result<StatusSummary, Error> {
        self.readers.read(read::session::status).await
    }

    async fn approvals(&self, query: &ApprovalQuery) -> Result<Vec<Approval>, Error> {
        let query = query.clone();
        self.readers.read(move |db| read::approval::list(db, &query)).await
    }

    async fn log(&self, session_id: &str, from: u64, max_bytes: usize) -> Result<Vec<LogChunk>, Error> {
        let session_id = session_id.to_owned();
        self.readers.read(move |db| read::log::chunks(db, &session_id, from, max_bytes)).await
    }

    async fn last_index(&self, session_id: &str) -> Result<u64, Error> {
        let session_id = session_id.to_owned();
        self.readers.read(move |db| read::log::last_index(db, &session_id)).await
    }

    async fn setting(&self, key: &str) -> Result<Option<String>, Error> {
        let key = key.to_owned();
        self.readers.read(move |db| read::setting(db, &key)).await
    }

    async fn health(&self) -> Vec<HealthCheck> {
        let path = self.readers.path().to_owned();
        match self.readers.read(move |db| Ok(read::health::checks(db, &path))).await {
            Ok(checks) => checks,
            Err(error) => read::health::unreadable(&error),
        }
    }

    async fn data_version(&self) -> Result<i64, Error> {
        // In place: a look at shared memory, cheaper than handing it to a thread.
        let mut slot = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.readers.path();
        read::data_version(opened(&mut slot, path)?).map_err(|error| sqlite_error(path, error))
    }
}

#[async_trait]
impl ReadStore for SqliteStore {
    async fn session(&self, id: &str) -> Result<Option<SessionBrief>, Error> {
        self.reader.session(id).await
    }

    async fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionBrief>, Error> {
        self.reader.sessions(query).await
    }

    async fn messages(&self, query: &MessageQuery) -> Result<Vec<MessageBrief>, Error> {
        self.reader.messages(query).await
    }

    async fn message(&self, id: &str) -> Result<Option<MessageBrief>, Error> {
        self.reader.message(id).await
    }

    async fn transcript(&self, session_id: &str, tail: Option<u32>) -> Result<Option<Transcript>, Error> {
        self.reader.transcript(session_id, tail).await
    }

    async fn project_sessions(&self, project_id: &str) -> Result<Option<Vec<ProjectMember>>, Error> {
        self.reader.project_sessions(project_id).await
    }

    async fn newest_session(&self) -> Result<i64, Error> {
        self.reader.newest_session().await
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, Error> {
        self.reader.search(query).await
    }

    async fn project(&self, id: &str) -> Result<Option<ProjectBrief>, Error> {
        self.reader.project(id).await
    }

    async fn projects(&self) -> Result<Vec<ProjectBrief>, Error> {
        self.reader.projects().await
    }

    async fn project_overview(&self, id: &str) -> Result<Option<ProjectOverview>, Error> {
        self.reader.project_overview(id).await
    }

    async fn project_transcripts(&self, id: &str, tail: Option<u32>, all: bool) -> Result<Option<ProjectTranscripts>, Error> {
        self.reader.project_transcripts(id, tail, all).await
    }

    async fn queue(&self, session_id: &str) -> Result<Vec<QueueItem>, Error> {
        self.reader.queue(session_id).await
    }

    async fn rules_of(&self, scope: Option<&str>) -> Result<Vec<Rule>, Error> {
        self.reader.rules_of(scope).await
    }

    async fn status(&self) -> Result<StatusSummary, Error> {
        self.reader.status().await
    }

    async fn approvals(&self, query: &ApprovalQuery) -> Result<Vec<Approval>, Error> {
        self.reader.approvals(query).await
    }

    async fn log(&self, session_id: &str, from: u64, max_bytes: usize) -> Result<Vec<LogChunk>, Error> {
        self.reader.log(session_id, from, max_bytes).await
    }

    async fn last_index(&self, session_id: &str) -> Result<u64, Error> {
        self.reader.last_index(session_id).await
    }

    async fn setting(&self, key: &str) -> Result<Option<String>, Error> {
        self.reader.setting(key).await
    }

    async fn health(&self) -> Vec<HealthCheck> {
        self.reader.health().await
    }

    async fn data_version(&self) -> Result<i64, Error> {
        self.reader.data_version().await
    }
}

#[async_trait]
impl SessionStore for SqliteStore {
    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error> {
        self.writer.commit(changes).await
    }

    async fn snapshot(&self, session_id: &str) -> Result<Option<SessionSnapshot>, Error> {
        let session_id = session_id.to_owned();
        self.reader.readers.read(move |db| read::session::snapshot(db, &session_id)).await
    }

    async fn interrupted(&self) -> Result<Vec<String>, Error> {
        self.reader.readers.read(read::session::interrupted).await
    }

    async fn history(&self, session_id: &str, exclude: Option<&str>) -> Result<Vec<HistoryMessage>, Error> {
        let (session_id, exclude) = (session_id.to_owned(), exclude.map(str::to_owned));
        self.reader.readers.read(move |db| read::history::conversation(db, &session_id, exclude.as_deref())).await
    }

    async fn rules(&self, scope: &str) -> Result<Vec<Rule>, Error> {
        let scope = scope.to_owned();
        self.reader.readers.read(move |db| read::approval::rules(db, &scope)).await
    }

    async fn project_members(&self, id: &str) -> Result<Vec<String>, Error> {
        let id = id.to_owned();
        self.reader.readers.read(move |db| read::project::members(db, &id)).await
    }

    async fn request(&self, client_request_id: &str) -> Result<Option<(String, String)>, Error> {
        let client_request_id = client_request_id.to_owned();
        self.reader.readers.read(move |db| read::message::of_request(db, &client_request_id)).await
    }

    async fn approval_session(&self, approval_id: &str) -> Result<Option<String>, Error> {
        let approval_id = approval_id.to_owned();
        self.reader.readers.read(move |db| read::approval::session_of(db, &approval_id)).await
    }
}

/// The database cannot be used until somebody does something about it.
fn refused(message: String) -> Error {
    Error::DbUnavailable(message)
}

/// What a failure of SQLite means to callers: try again, look at the disk, or a fault of ours.
fn sqlite_error(path: &Path, error: rusqlite::Error) -> Error {
    use ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, FileLockingProtocolFailed, NotADatabase, OutOfMemory, PermissionDenied,
        ReadOnly, SystemIoFailure,
    };
    let message = format!("database {}: {error}", path.display());
    match error.sqlite_error_code() {
        Some(DatabaseBusy | DatabaseLocked) => Error::DbBusy(message),
        Some(
            CannotOpen
            | DatabaseCorrupt
            | DiskFull
            | FileLockingProtocolFailed
            | NotADatabase
            | OutOfMemory
            | PermissionDenied
            | ReadOnly
            | SystemIoFailure,
        ) => Error::DbUnavailable(message),
        _ => Error::Internal(message),
    }
}
