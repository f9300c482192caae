//! The rows of the store and the changes to them.

use crate::time::Timestamp;
use bytes::Bytes;
use galley_protocol::RawJson;
use galley_protocol::ipc::{Decision, ExitReason, RiskLevel};
use galley_protocol::socket::{
    ApprovalMode, ApprovalState, AskState, LlmChoice, MessageRole, MessageState, Origin, RuntimeKind, SessionStatus, Visibility,
};

/// One change of a [`commit`](super::SessionStore::commit).
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Writes a session's whole row, new or not. Its actor is the only writer.
    PutSession(Box<SessionRow>),
    /// Adds a message at the end of its session's transcript (its search text in the same step).
    InsertMessage(Box<MessageRow>),
    /// Settles or moves a user message. `run` is set when it is handed to the agent.
    SetMessageState {
        /// The message.
        id: String,
        /// Its new state.
        state: MessageState,
        /// The run that has it.
        run: Option<u64>,
    },
    /// Replaces the text of a user message that waits (its search text in the same step).
    SetMessageContent {
        /// The message.
        id: String,
        /// The text.
        content: String,
    },
    /// Marks a turn's user and agent rows as superseded by a retry.
    SupersedeTurn {
        /// Whose turn.
        session_id: String,
        /// Which turn.
        turn: u32,
    },
    /// Moves a queued or pending message within its line; lower ranks go first.
    SetMessageRank {
        /// The message.
        id: String,
        /// Its place.
        rank: i64,
    },
    /// Replaces the answer of an agent row (its search text in the same step).
    SetFinalAnswer {
        /// The row.
        id: String,
        /// The answer.
        answer: String,
        /// Figures that came with it.
        telemetry: Option<RawJson>,
    },
    /// Appends events to a session's log.
    AppendLog(LogChunk),
    /// Writes an approval, new or not.
    PutApproval(Box<ApprovalRow>),
    /// Allows a tool from now on.
    PutRule(Rule),
    /// Writes a project, new or not. Its creation and its activity stay as they are.
    PutProject(Box<ProjectRow>),
    /// Deletes a project and its rules; its sessions are ungrouped.
    DeleteProject {
        /// Which.
        id: String,
    },
    /// Takes a rule back.
    RemoveRule {
        /// The tool.
        tool: String,
        /// `global`, `ungrouped`, or a project's id.
        scope: String,
    },
    /// Deletes a session: it is gone for every reader at once, and the store purges its rows in the
    /// background, across restarts.
    DeleteSession {
        /// Which.
        id: String,
        /// When.
        at: Timestamp,
    },
    /// Writes a setting; `None` removes it.
    SetSetting {
        /// Its key.
        key: String,
        /// Its value.
        value: Option<String>,
    },
}

impl Change {
    /// Whether the change must survive a power cut.
    pub fn is_decision(&self) -> bool {
        !matches!(self, Self::AppendLog(_))
    }
}

/// A session as its actor knows it. `None` in an optional field means "not set".
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Opaque id.
    pub id: String,
    /// Its project.
    pub project_id: Option<String>,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: SessionStatus,
    /// The last step's digest.
    pub summary: Option<String>,
    /// Accepted visible user messages.
    pub turn_count: u32,
    /// Latest activity; never goes back.
    pub last_activity_at: Timestamp,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the row was last written.
    pub updated_at: Timestamp,
    /// Sorts first.
    pub pinned: Option<bool>,
    /// The agent spoke since it was read.
    pub has_unread: Option<bool>,
    /// Who created it.
    pub origin: Option<Origin>,
    /// The model that was chosen for it.
    pub llm: Option<LlmChoice>,
    /// The chosen model's last known position.
    pub llm_index: Option<u32>,
    /// Whose agent.
    pub runtime_kind: RuntimeKind,
    /// The runtime's name for people.
    pub runtime_label: String,
    /// The runtime's name in the configuration.
    pub runtime_id: String,
    /// The managed prompt profile.
    pub prompt_profile: Option<String>,
    /// Its own approval mode.
    pub approval_mode: Option<ApprovalMode>,
    /// How its last run ended.
    pub last_exit: Option<ExitReason>,
    /// The agent's open question.
    pub ask: Option<AskState>,
    /// Working directory it was created with.
    pub cwd: Option<String>,
    /// Number of the current or last run, 0 before the first.
    pub run: u64,
    /// Index of that run's first event.
    pub run_first_index: u64,
}

/// A message of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageRow {
    /// Opaque id.
    pub id: String,
    /// Its session.
    pub session_id: String,
    /// Who speaks.
    pub role: MessageRole,
    /// Markdown.
    pub content: String,
    /// The run's answer, on the row that ended it.
    pub final_answer: Option<String>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// The step's digest.
    pub summary: Option<String>,
    /// The user turn it belongs to, from 0.
    pub turn_index: Option<u32>,
    /// The step of its run, from 1.
    pub step_index: Option<u32>,
    /// The run it belongs to.
    pub run: Option<u64>,
    /// What became of it, for user messages.
    pub state: Option<MessageState>,
    /// Its place among queued and pending messages; lower goes first.
    pub rank: i64,
    /// Where it came from.
    pub origin: Option<Origin>,
    /// Whether ordinary reads return it.
    pub visibility: Visibility,
    /// The text was cut off by a stop or a crash.
    pub partial: bool,
    /// The model's thinking, taken out of the content.
    pub thinking: Option<String>,
    /// The step's tool calls, a JSON array.
    pub tool_calls: Option<RawJson>,
    /// The step's tool results, a JSON array.
    pub tool_results: Option<RawJson>,
    /// The question the step ended with.
    pub ask_user: Option<RawJson>,
    /// Figures about the run.
    pub telemetry: Option<RawJson>,
    /// The id its sender gave it.
    pub client_request_id: Option<String>,
}

/// Consecutive events of one run: `last - first + 1` lines joined by newlines, without one at the
/// end. `lines` is `None` for a span that was compacted away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogChunk {
    /// Whose log.
    pub session_id: String,
    /// Index of the first event.
    pub first: u64,
    /// Index of the last event.
    pub last: u64,
    /// The run they belong to, 0 before the first.
    pub run: u64,
    /// The lines.
    pub lines: Option<Bytes>,
}

/// An approval.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRow {
    /// Core's id: `appr_<session's hex>_<log index>`.
    pub id: String,
    /// The runner's id.
    pub approval_id: String,
    /// Whose.
    pub session_id: String,
    /// Which run.
    pub run: u64,
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub args: Option<RawJson>,
    /// The arguments for people.
    pub args_preview: Option<String>,
    /// How dangerous.
    pub risk_level: Option<RiskLevel>,
    /// Why it was asked.
    pub reason: Option<String>,
    /// Where it stands.
    pub state: ApprovalState,
    /// What was decided.
    pub decision: Option<Decision>,
    /// Who decided.
    pub by: Option<String>,
    /// When it was asked.
    pub created_at: Timestamp,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRow {
    /// Opaque id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its folder, absolute.
    pub root_path: Option<String>,
    /// Whether runners get the folder as their workspace.
    pub workspace_enabled: bool,
    /// A picture.
    pub icon: Option<String>,
    /// A colour.
    pub color: Option<String>,
    /// Sorts first.
    pub pinned: bool,
    /// When the row is written.
    pub at: Timestamp,
}

/// A tool that needs no approval within a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The tool.
    pub tool: String,
    /// `global`, `ungrouped`, or a project's id.
    pub scope: String,
    /// Who allowed it.
    pub by: Option<String>,
    /// When.
    pub created_at: Timestamp,
}

/// All an actor needs to take a session up again.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSnapshot {
    /// Its row.
    pub session: SessionRow,
    /// Index of its last event, 0 when there is none.
    pub last_index: u64,
    /// User messages that are queued, pending or dispatched, by rank, then age.
    pub open_messages: Vec<MessageRow>,
    /// Approvals that are pending or answered.
    pub open_approvals: Vec<ApprovalRow>,
}
