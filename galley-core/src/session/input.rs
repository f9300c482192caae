//! What a session reacts to.

use super::event::Admitted;
use super::output::{Purpose, ReplyTo, Timer};
use crate::error::Error;
use crate::runner::Exit;
use galley_protocol::ipc::{Command, Decision, Llm};
use galley_protocol::socket::{ApprovalMode, ArchiveIfBusy, EndReason, IfBusy, Origin};
use std::time::Duration;

/// The bounds and clocks of a session.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Messages that may wait in one session.
    pub max_queued: usize,
    /// A runner must be ready within this time of its start, and again for each step of its set-up.
    pub ready: Duration,
    /// A run must have settled this long after an abort, or its runner is killed.
    pub abort: Duration,
    /// `run_complete` must follow the last `turn_end` within this time.
    pub run_complete: Duration,
    /// A runner must have exited this long after `shutdown`, or it is killed.
    pub shutdown: Duration,
    /// An open run that is silent this long is reported as stalled.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_queued: 100,
            ready: Duration::from_secs(30),
            abort: Duration::from_secs(10),
            run_complete: Duration::from_secs(30),
            shutdown: Duration::from_secs(2),
            stall: Duration::from_secs(120),
        }
    }
}

/// A user message on its way in, validated.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Its id, made by the caller.
    pub id: String,
    /// What was said.
    pub content: String,
    /// Who said it.
    pub origin: Origin,
    /// What to do while a run is open.
    pub if_busy: IfBusy,
    /// Whether to start a runner when none is alive.
    pub spawn: bool,
    /// The id its sender gave it.
    pub client_request_id: Option<String>,
    /// The earlier message whose place it takes.
    pub retries: Option<Earlier>,
}

/// A settled user message that is sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// Its id.
    pub id: String,
    /// Its turn: all rows of it are superseded.
    pub turn: u32,
}

/// What to do with a message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueEdit {
    /// Take it out; it is cancelled.
    Remove,
    /// Put it first and stop the current run.
    Jump,
    /// Give it another text.
    Edit(String),
}

/// What a session reacts to.
#[derive(Debug, Clone)]
pub enum Input {
    /// The first message of a new session.
    Create {
        /// The message.
        message: NewMessage,
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.send`.
    Send {
        /// The message.
        message: NewMessage,
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.stop`.
    Stop {
        /// Who stops, for the audit trail.
        origin: Origin,
        /// Who waits.
        to: ReplyTo,
    },
    /// Core's shutdown: end the runner.
    EndRunner {
        /// What watchers are told.
        reason: EndReason,
        /// Who waits until it is gone.
        to: Option<ReplyTo>,
    },
    /// `session.kill`.
    Kill {
        /// Who kills, for the audit trail.
        origin: Origin,
        /// Who waits until the runner is gone.
        to: ReplyTo,
    },
    /// `session.resume`.
    Resume {
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.archive`.
    Archive {
        /// What to do when the session is busy.
        if_busy: ArchiveIfBusy,
        /// Who puts it away, for the audit trail.
        origin: Origin,
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.restore`.
    Restore {
        /// Who takes it back, for the audit trail.
        origin: Origin,
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.delete`.
    Delete {
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.move`.
    Move {
        /// A project that exists; none to leave it ungrouped.
        project: Option<String>,
        /// Who moves it, for the audit trail.
        origin: Origin,
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.rename`.
    Rename {
        /// The title; not blank.
        title: String,
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.pin`.
    Pin {
        /// Whether it sorts first.
        pinned: bool,
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.read`.
    MarkRead {
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.queue_edit`.
    EditQueue {
        /// The message.
        message: String,
        /// What to do with it.
        edit: QueueEdit,
        /// Who waits.
        to: ReplyTo,
    },
    /// `session.btw` and `session.command`: to the runner at once, nothing is kept.
    Direct {
        /// The command.
        command: Command,
        /// Who waits.
        to: ReplyTo,
    },
    /// `llm.set`.
    SetLlm {
        /// The model, as the runtime last listed it.
        llm: Llm,
        /// Who waits.
        to: ReplyTo,
    },
    /// End the runner if nothing is going on: eviction.
    Evict,
    /// `approval.respond`.
    Respond {
        /// Core's id or the runner's.
        id: String,
        /// The answer; a known word.
        decision: Decision,
        /// Who answers.
        origin: Origin,
        /// Who waits.
        to: ReplyTo,
    },
    /// `approval.mode` of this session; `None` follows the app default.
    SetMode {
        /// The mode.
        mode: Option<ApprovalMode>,
        /// Who waits.
        to: ReplyTo,
    },
    /// The app's default approval mode changed.
    DefaultMode(ApprovalMode),
    /// A rule was added or taken back: send the rules again if this session is in its scope.
    RulesChanged {
        /// `global`, `ungrouped` or a project.
        scope: String,
    },
    /// A project was deleted: a session in it is ungrouped.
    ProjectGone {
        /// Which.
        project: String,
    },
    /// `session.state`.
    Report {
        /// Who waits.
        to: ReplyTo,
    },
    /// The runner exists, or could not be started.
    Started {
        /// Which.
        generation: u64,
        /// Its process id, when it has one.
        result: Result<Option<u32>, Error>,
    },
    /// The runner wrote a line.
    Line {
        /// Which runner.
        generation: u64,
        /// The line.
        line: Admitted,
    },
    /// The runner is gone: all its lines have been seen, and what it did not take has been reported
    /// as such.
    Exited {
        /// Which.
        generation: u64,
        /// How.
        exit: Exit,
    },
    /// A command was handed over, or was not.
    Delivered {
        /// To which runner.
        generation: u64,
        /// Which command.
        purpose: Purpose,
        /// How it went.
        outcome: Delivered,
    },
    /// The text asked for by `CollectPartial`.
    Partial {
        /// The text; empty when there was none.
        text: String,
    },
    /// A clock rang.
    Timer(Timer),
    /// Core starts, and this session was left in the middle of something.
    Recover,
}

impl Input {
    /// Who waits for the answer, if anybody does.
    pub fn reply_to(&self) -> Option<ReplyTo> {
        match self {
            Self::Create { to, .. }
            | Self::Send { to, .. }
            | Self::Stop { to, .. }
            | Self::Kill { to, .. }
            | Self::Resume { to }
            | Self::Archive { to, .. }
            | Self::Restore { to, .. }
            | Self::Delete { to }
            | Self::Move { to, .. }
            | Self::Rename { to, .. }
            | Self::Pin { to, .. }
            | Self::MarkRead { to }
            | Self::EditQueue { to, .. }
            | Self::Direct { to, .. }
            | Self::SetLlm { to, .. }
            | Self::Respond { to, .. }
            | Self::SetMode { to, .. }
            | Self::Report { to } => Some(*to),
            Self::EndRunner { to, .. } => *to,
            Self::Evict
            | Self::DefaultMode(_)
            | Self::RulesChanged { .. }
            | Self::ProjectGone { .. }
            | Self::Started { .. }
            | Self::Line { .. }
            | Self::Exited { .. }
            | Self::Delivered { .. }
            | Self::Partial { .. }
            | Self::Timer(_)
            | Self::Recover => None,
        }
    }
}

/// How a delivery went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// The runner has it.
    Yes,
    /// The runner does not have it.
    No,
    /// There was nothing to deliver.
    Nothing,
}
