//! Where sessions live. Writes are data: the one write is [`SessionStore::commit`], atomic over
//! all its [`Change`]s. Reads are in [`ReadStore`], so that a read-only file answers them too.

mod brief;
mod change;
mod query;
mod sqlite;

pub use brief::SessionCounts;
pub use change::{ApprovalRow, Change, LogChunk, MessageRow, ProjectRow, Rule, SessionRow, SessionSnapshot};
pub use query::{ApprovalQuery, MessageQuery, Page, RuntimeFilter, SearchQuery, SessionQuery};
pub use sqlite::{SqliteReader, SqliteStore};
pub(crate) use sqlite::{create_private_dir, sibling};

use crate::error::Error;
use async_trait::async_trait;
use galley_protocol::ipc::HistoryMessage;
use galley_protocol::socket::{
    Approval, HealthCheck, MessageBrief, ProjectBrief, ProjectOverview, ProjectTranscripts, QueueItem, SearchHit, SessionBrief, StatusSummary,
};

/// Reads. All of them work on a file that nobody else has open, never create anything and never
/// hold a transaction longer than the call.
#[async_trait]
pub trait ReadStore: Send + Sync {
    /// One session's row.
    async fn session(&self, id: &str) -> Result<Option<SessionBrief>, Error>;
    /// A page of sessions: pinned first, then last activity, newest first, then id.
    async fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionBrief>, Error>;
    /// A transcript or the end of one, oldest first.
    async fn messages(&self, query: &MessageQuery) -> Result<Vec<MessageBrief>, Error>;
    /// One message.
    async fn message(&self, id: &str) -> Result<Option<MessageBrief>, Error>;
    /// Hits in message bodies.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, Error>;
    /// One project.
    async fn project(&self, id: &str) -> Result<Option<ProjectBrief>, Error>;
    /// All projects: pinned first, then last activity, newest first, then id.
    async fn projects(&self) -> Result<Vec<ProjectBrief>, Error>;
    /// How a project stands; archived sessions are left out.
    async fn project_overview(&self, id: &str) -> Result<Option<ProjectOverview>, Error>;
    /// How a project stands and the last `tail` messages of each of its sessions, as of one moment;
    /// archived sessions only if `all`.
    async fn project_transcripts(&self, id: &str, tail: Option<u32>, all: bool) -> Result<Option<ProjectTranscripts>, Error>;
    /// What waits in a session, in the order it will be handed over.
    async fn queue(&self, session_id: &str) -> Result<Vec<QueueItem>, Error>;
    /// The rules of a scope, or all; by scope and tool.
    async fn rules_of(&self, scope: Option<&str>) -> Result<Vec<Rule>, Error>;
    /// Counts over sessions that are not archived; `live` is not set.
    async fn status(&self) -> Result<StatusSummary, Error>;
    /// Approvals, oldest first.
    async fn approvals(&self, query: &ApprovalQuery) -> Result<Vec<Approval>, Error>;
    /// Chunks of a session's log that reach index `from` or beyond, in order, until `max_bytes` of
    /// lines are collected (at least one chunk when there is one).
    async fn log(&self, session_id: &str, from: u64, max_bytes: usize) -> Result<Vec<LogChunk>, Error>;
    /// Index of the last event in a session's log, 0 when it is empty.
    async fn last_index(&self, session_id: &str) -> Result<u64, Error>;
    /// The app's default approval mode and other settings, by key.
    async fn setting(&self, key: &str) -> Result<Option<String>, Error>;
    /// The probes that concern the database.
    async fn health(&self) -> Vec<HealthCheck>;
    /// A number that changes whenever another connection has committed; cheap to ask often.
    async fn data_version(&self) -> Result<i64, Error>;
}

/// Reads and the one write.
#[async_trait]
pub trait SessionStore: ReadStore {
    /// Applies all changes or none, in order. When it returns `Ok`, every reader sees them, and
    /// they survive the death of the process; a group with a decision (anything but log lines)
    /// survives a power cut too.
    ///
    /// # Errors
    /// [`Error::DbBusy`] when the lock was not to be had, with nothing written (try again);
    /// [`Error::DbUnavailable`] for a full disk or an I/O error, with nothing written (try again);
    /// [`Error::Internal`] when the changes themselves cannot be applied.
    async fn commit(&self, changes: Vec<Change>) -> Result<(), Error>;
    /// All an actor needs to take a session up again.
    async fn snapshot(&self, session_id: &str) -> Result<Option<SessionSnapshot>, Error>;
    /// Ids of sessions that were left connecting, running or waiting for approval, or that have
    /// approvals or dispatched messages without an end.
    async fn interrupted(&self) -> Result<Vec<String>, Error>;
    /// The conversation to load into a fresh runner: every turn that has an agent row, oldest
    /// first; without internal, superseded, cancelled and partial-only turns, and without
    /// `exclude`, the message about to be sent.
    async fn history(&self, session_id: &str, exclude: Option<&str>) -> Result<Vec<HistoryMessage>, Error>;
    /// Tools that need no approval: global ones, and those of `scope` (`ungrouped` or a project).
    async fn rules(&self, scope: &str) -> Result<Vec<Rule>, Error>;
    /// Ids of a project's sessions, archived ones included.
    async fn project_members(&self, id: &str) -> Result<Vec<String>, Error>;
    /// The session and message that a `clientRequestId` made, if it was used before.
    async fn request(&self, client_request_id: &str) -> Result<Option<(String, String)>, Error>;
    /// The session an approval belongs to, by Core's id of it.
    async fn approval_session(&self, approval_id: &str) -> Result<Option<String>, Error>;
}
