//! What reads can ask for, already validated and resolved.

use galley_protocol::socket::{Archived, RuntimeKind, SessionStatus};

/// Which runtimes' sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RuntimeFilter {
    /// All of them.
    #[default]
    All,
    /// Those of one kind.
    Kind(RuntimeKind),
    /// Those of one runtime, by name.
    Name(String),
}

/// Which sessions to list.
#[derive(Debug, Clone)]
pub struct SessionQuery {
    /// By runtime.
    pub runtime: RuntimeFilter,
    /// By project.
    pub project_id: Option<String>,
    /// By status.
    pub status: Option<SessionStatus>,
    /// By whether they are put away.
    pub archived: Archived,
    /// At most this many; `None` for all.
    pub limit: Option<u32>,
    /// Where the page starts: [`Page::next_cursor`] of the page before.
    pub cursor: Option<String>,
}

/// Which messages to show: the last ones that fit, oldest first.
#[derive(Debug, Clone, Default)]
pub struct MessageQuery {
    /// Whose.
    pub session_id: String,
    /// Only before this message.
    pub before: Option<String>,
    /// At most this many.
    pub limit: Option<u32>,
    /// Internal rows too.
    pub internal: bool,
}

/// What to search for.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery {
    /// The words, taken literally.
    pub query: String,
    /// By runtime.
    pub runtime: RuntimeFilter,
    /// Archived sessions too.
    pub archived: bool,
    /// By project.
    pub project_id: Option<String>,
    /// In one session.
    pub session_id: Option<String>,
    /// At most this many hits.
    pub limit: u32,
}

/// Which approvals to list.
#[derive(Debug, Clone, Default)]
pub struct ApprovalQuery {
    /// Of one session.
    pub session_id: Option<String>,
    /// One approval, by Core's id.
    pub id: Option<String>,
    /// Settled ones too.
    pub all: bool,
}

/// A page of a list.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// Where the next page starts; `None` at the end.
    pub next_cursor: Option<String>,
}

/// What a reader of a project's logs needs to know of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectMember {
    /// The session.
    pub id: String,
    /// Grows from session to session.
    pub key: i64,
    /// It is put away.
    pub archived: bool,
    /// It has a run in hand, or messages that wait behind one.
    pub busy: bool,
    /// Index of its log's last event, 0 when it is empty.
    pub last_index: u64,
}
