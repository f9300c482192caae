//! `session.*`: one session.

use super::{ApprovalMode, wire, write_command};
use crate::RawJson;
use crate::ipc::ExitReason;
use crate::open_enum::open_enum;

open_enum! {
    /// Where a session stands; persisted at every transition, so any process reads the truth.
    pub enum SessionStatus {
        /// Nothing is going on.
        Idle = "idle",
        /// A runner is starting for a message.
        Connecting = "connecting",
        /// A run is open.
        Running = "running",
        /// A run is open and waits for an approval.
        WaitingApproval = "waiting_approval",
        /// The last run failed, or its runner died.
        Error = "error",
        /// The last run did its task.
        Completed = "completed",
        /// The last run was stopped.
        Cancelled = "cancelled",
        /// Put away.
        Archived = "archived",
    }
}

open_enum! {
    /// Through which door something came.
    pub enum Via { Gui = "gui", Cli = "cli", Supervisor = "supervisor", System = "system" }
}

open_enum! {
    /// Who speaks. Tool rows surface as `agent`.
    pub enum MessageRole { User = "user", Agent = "agent", System = "system" }
}

open_enum! {
    /// Whether ordinary reads return a row.
    pub enum Visibility { Visible = "visible", Internal = "internal" }
}

open_enum! {
    /// What became of a user message.
    pub enum MessageState {
        /// Waits behind an open run.
        Queued = "queued",
        /// Waits for a runner.
        Pending = "pending",
        /// Was handed to the agent.
        Dispatched = "dispatched",
        /// Its run ended well.
        Answered = "answered",
        /// Its run failed, or nobody knows whether the agent got it.
        Failed = "failed",
        /// It was stopped or removed.
        Cancelled = "cancelled",
        /// A retry took its place.
        Superseded = "superseded",
    }
}

open_enum! {
    /// What an attachment is.
    pub enum AttachmentKind { Image = "image" }
}

open_enum! {
    /// What happened to a message that was sent.
    pub enum Dispatch {
        /// The runner has it.
        Dispatched = "dispatched",
        /// It waits behind an open run.
        Queued = "queued",
        /// It is stored; no runner took it.
        PersistedOnly = "persisted_only",
    }
}

open_enum! {
    /// What to do with a message while a run is open.
    pub enum IfBusy {
        /// Wait in line.
        Queue = "queue",
        /// Go to the front and stop the current run.
        Jump = "jump",
        /// Refuse with `busy`.
        Reject = "reject",
    }
}

open_enum! {
    /// What `session.stop` did.
    pub enum StopDispatch {
        /// The run is being stopped.
        AbortSent = "abort_sent",
        /// There was nothing to stop.
        AlreadyStopped = "already_stopped",
    }
}

wire! {
    /// Where something came from.
    pub struct Origin {
        /// The door.
        pub via: Via,
        /// The supervisor's label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub supervisor: Option<String>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }

    /// One row of a session list (§5.2).
    pub struct SessionBrief {
        /// Opaque id.
        pub id: String,
        /// The project it belongs to; absent when ungrouped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub project_id: Option<String>,
        /// From the first message, unless renamed.
        pub title: String,
        /// Where it stands.
        pub status: SessionStatus,
        /// The agent's one-line digest of its last turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub summary: Option<String>,
        /// Accepted visible user messages; the next message's `turnIndex`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub turn_count: Option<u32>,
        /// The latest of everything that happened in it.
        pub last_activity_at: String,
        /// When it was created.
        pub created_at: String,
        /// When its row was last written.
        pub updated_at: String,
        /// Sorts first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pinned: Option<bool>,
        /// The agent said something since it was last read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub has_unread: Option<bool>,
        /// Who created it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub origin: Option<Origin>,
        /// Legacy index of the chosen model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub selected_llm_index: Option<u32>,
        /// Stable key of the chosen model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub selected_llm_key: Option<String>,
        /// Its name for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub selected_llm_display_name: Option<String>,
        /// `managed` or `external`.
        pub runtime_kind: super::RuntimeKind,
        /// The runtime's name for people.
        pub runtime_label: String,
        /// The same as `runtimeKind`, under its older name.
        pub ga_runtime_kind: super::RuntimeKind,
        /// The runtime's name in the configuration.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ga_runtime_id: Option<String>,
        /// The managed prompt profile, when one applies.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub prompt_profile: Option<String>,
        /// How approvals are handled, when the session has a choice of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub approval_mode: Option<ApprovalMode>,
        /// How the last run ended, verbatim.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub last_exit: Option<ExitReason>,
        /// Messages waiting behind the open run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub queued_count: Option<u32>,
        /// Messages waiting for a runner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pending_count: Option<u32>,
        /// A question of the agent waits for its answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ask_pending: Option<bool>,
        /// Index of the last event in its log; 0 when there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub last_index: Option<u64>,
        /// Working directory it was created with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cwd: Option<String>,
    }

    /// An image that belongs to a message.
    pub struct MessageAttachment {
        /// Its id.
        pub id: String,
        /// The message.
        pub message_id: String,
        /// The session.
        pub session_id: String,
        /// What it is.
        pub kind: AttachmentKind,
        /// Absolute path below Galley's data directory.
        pub path: String,
        /// `image/png`, `image/jpeg` or `image/webp`.
        pub mime_type: String,
        /// Size in bytes.
        pub byte_size: u64,
        /// Width in pixels, when known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub width: Option<u32>,
        /// Height in pixels, when known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub height: Option<u32>,
        /// When it was stored.
        pub created_at: String,
    }

    /// One message of a transcript (§5.5).
    pub struct MessageBrief {
        /// Opaque id.
        pub id: String,
        /// Its session.
        pub session_id: String,
        /// Who speaks.
        pub role: MessageRole,
        /// Markdown.
        pub content: String,
        /// The run's answer, on the row that ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub final_answer: Option<String>,
        /// When it was stored.
        pub created_at: String,
        /// The agent's one-line digest of the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub summary: Option<String>,
        /// The user turn it belongs to, from 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub turn_index: Option<u32>,
        /// Where it came from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub origin: Option<Origin>,
        /// Set on rows that ordinary reads leave out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub visibility: Option<Visibility>,
        /// Images.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub attachments: Option<Vec<MessageAttachment>>,
        /// What became of a user message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub state: Option<MessageState>,
        /// The step of its run, from 1, on agent rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub step_index: Option<u32>,
        /// The text was cut off by a stop or a crash.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub partial: Option<bool>,
        /// The model's thinking, taken out of the content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub thinking: Option<String>,
        /// The step's tool calls, as the runner reported them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tool_calls: Option<RawJson>,
        /// The step's tool results, as the runner reported them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tool_results: Option<RawJson>,
        /// The question the step ended with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ask_user: Option<RawJson>,
        /// Figures about the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub telemetry: Option<RawJson>,
    }

    /// Something to know about a write that worked.
    pub struct Warning {
        /// Stable name: `non_current_runtime`, or a runner start failure's cause.
        pub id: String,
        /// For people.
        pub message: String,
        /// Structure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub detail: Option<RawJson>,
    }

    /// Asks for one session's row.
    pub struct SessionBriefGet {
        /// Which session.
        pub session_id: String,
    }

    /// Asks for a transcript, oldest first.
    #[derive(Default)]
    pub struct SessionShow {
        /// Which session.
        pub session_id: String,
        /// Only the last N messages.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tail: Option<u32>,
        /// Only messages before this message id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub before: Option<String>,
        /// At most this many, the last ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limit: Option<u32>,
        /// Internal rows too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub internal: Option<bool>,
    }

    /// Asks for what Core has in hand for a session: one atomic answer.
    pub struct SessionStateGet {
        /// Which session.
        pub session_id: String,
    }

    /// A question of the agent.
    pub struct AskState {
        /// The question.
        pub question: String,
        /// Answers to choose from.
        pub candidates: Vec<String>,
        /// Whether the run stays open until the answer.
        pub blocking: bool,
    }

    /// A chosen model.
    pub struct LlmChoice {
        /// Stable key.
        pub key: String,
        /// Name for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub display_name: Option<String>,
    }

    /// What Core has in hand for a session.
    pub struct SessionState {
        /// Which session.
        pub session_id: String,
        /// A runner is up and not known dead.
        pub runner_alive: bool,
        /// Its process id, when it is a process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub pid: Option<u32>,
        /// The open run's number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub open_run: Option<u64>,
        /// A run is reserved or open, or messages are queued.
        pub busy: bool,
        /// Messages waiting behind the run.
        pub queued_count: u32,
        /// Messages waiting for a runner.
        pub pending_count: u32,
        /// The agent's open question.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ask: Option<AskState>,
        /// Ids of pending approvals.
        pub approvals: Vec<String>,
        /// How the last run ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub last_exit: Option<ExitReason>,
        /// Index of the last event; 0 when there is none.
        pub last_index: u64,
        /// The model in use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub llm: Option<LlmChoice>,
    }
}

write_command! {
    /// Creates a session and starts its first task (§5.8).
    #[derive(Default)]
    pub struct SessionNew {
        /// The first message.
        pub task: String,
        /// The project it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub project_id: Option<String>,
        /// A model, by display name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub llm: Option<String>,
        /// A runtime, by name; `current` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub runtime: Option<String>,
        /// A title; otherwise the first 80 characters of the task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub title: Option<String>,
        /// How approvals are handled; otherwise the app default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub approval_mode: Option<ApprovalMode>,
        /// Working directory of the built-in shell; absolute.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cwd: Option<String>,
        /// The same id again gets the same answer and has no second effect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub client_request_id: Option<String>,
    }
}

wire! {
    /// A session that was created.
    pub struct NewSession {
        /// Its row as it stands after the dispatch.
        pub session: SessionBrief,
        /// The first message.
        pub message: MessageBrief,
        /// What happened to it.
        pub dispatch: Dispatch,
        /// Something to know.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub warning: Option<Warning>,
    }
}

write_command! {
    /// Sends a message (§5.5a).
    #[derive(Default)]
    pub struct SessionSend {
        /// Which session.
        pub session_id: String,
        /// The message.
        pub content: String,
        /// Absolute paths of local image files, which are copied. `invalid_args` where the runner
        /// takes no images.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub images: Option<Vec<String>>,
        /// What to do while a run is open; `queue` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub if_busy: Option<IfBusy>,
        /// Whether to start a runner when none is alive; true by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub spawn: Option<bool>,
        /// The same id again gets the same answer and has no second effect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub client_request_id: Option<String>,
    }
}

wire! {
    /// Where a queued message stands.
    pub struct QueuePosition {
        /// From 1.
        pub position: u32,
    }

    /// A message that was accepted. A side question has no `message`.
    pub struct Submitted {
        /// The stored row.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message: Option<MessageBrief>,
        /// What happened to it.
        pub dispatch: Dispatch,
        /// Where it waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub queue: Option<QueuePosition>,
        /// Something to know.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub warning: Option<Warning>,
    }
}

write_command! {
    /// Stops the current run (§5.10).
    #[derive(Default)]
    pub struct SessionStop {
        /// Which session.
        pub session_id: String,
    }
}

wire! {
    /// What a stop did.
    pub struct StopResult {
        /// What a stop did.
        pub dispatch: StopDispatch,
    }
}
