//! The parts of a session's state: the gate with its run, the messages in line, the runner.

use super::output::ReplyTo;
use crate::error::StartCause;
use crate::store::{ApprovalRow, MessageRow};
use crate::time::Timestamp;
use galley_protocol::ipc::{ExitReason, RunComplete};
use galley_protocol::socket::{AskState, EndReason, MessageState, SessionStatus, Submitted};

/// Whether a run is open.
#[derive(Debug, Clone)]
pub(super) enum Gate {
    Free,
    /// For `waiting.front()`, which waits for a runner.
    Reserved,
    Open(Box<Run>),
    Closing(Box<Run>, Box<Outcome>),
}

/// A run: from the moment a message is handed to the agent.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub number: u64,
    pub first_index: u64,
    /// The message it answers, then answers to its blocking questions. Empty when the runner
    /// started it by itself.
    pub messages: Vec<Waiting>,
    /// The runner has announced it.
    pub started: bool,
    /// Text was streamed that no step has kept.
    pub unsaved_text: bool,
    /// A question was asked that no step's row carries.
    pub ask: Option<AskState>,
    /// Steps already kept: their number and a digest of their line.
    pub steps: Vec<(u32, u64)>,
    /// Row of the last step.
    pub last_row: Option<String>,
    /// A serious error came after the last step.
    pub errored: bool,
    /// The last step's exit reason: `run_complete` should follow.
    pub exit: Option<ExitReason>,
    /// A `run_complete` that came before the run was announced, and when: the run before's, told
    /// twice, unless nothing follows it.
    pub stray: Option<(RunComplete, Timestamp)>,
    /// A stop was asked for; whether the queue is held afterwards.
    pub abort: Option<Hold>,
    pub last_activity: Timestamp,
    /// Silence has been reported since the last activity.
    pub stalled: bool,
}

impl Run {
    /// A run that was just opened.
    pub fn new(number: u64, first_index: u64, now: Timestamp) -> Self {
        Self {
            number,
            first_index,
            messages: Vec::new(),
            started: false,
            unsaved_text: false,
            ask: None,
            steps: Vec::new(),
            last_row: None,
            errored: false,
            exit: None,
            stray: None,
            abort: None,
            last_activity: now,
            stalled: false,
        }
    }

    /// The runner, or a person it waited for, gave a sign of life.
    pub fn heard(&mut self, now: Timestamp) {
        self.last_activity = now;
        self.stalled = false;
    }
}

/// What becomes of the queue after an abort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// It waits for the next send.
    Hold,
    /// It goes on.
    Drain,
}

/// How a run ended.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub status: SessionStatus,
    pub message: MessageState,
    pub exit: ExitReason,
    /// The runner's end that came before it was stored.
    pub down: Option<Down>,
    /// What is said in the transcript about it, after all that the run left.
    pub note: Option<String>,
}

/// A runner's end, told to watchers and to whoever asked for it.
#[derive(Debug, Clone)]
pub(super) struct Down {
    pub generation: u64,
    pub reason: EndReason,
    pub waiters: Vec<ReplyTo>,
}

/// A message that is not settled.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub row: MessageRow,
    /// Who waits to hear what became of it.
    pub askers: Vec<Asker>,
    /// The question that was open when it came, which it answers.
    pub answers: Option<Question>,
    /// A hand-over has failed once.
    pub retried: bool,
}

impl Waiting {
    /// A message as it was left, with nobody waiting.
    pub fn restored(row: MessageRow) -> Self {
        Self { row, askers: Vec::new(), answers: None, retried: false }
    }
}

/// A question of the agent, and the generation of the runner that asked it.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub ask: AskState,
    pub asked_by: u64,
}

/// Somebody who waits to hear what became of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker {
    pub to: ReplyTo,
    pub form: Form,
}

/// What an asker called, and so what the answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `session.send` or `session.retry`.
    Submitted,
    /// `session.new`.
    Created,
    /// `session.resume`.
    Resumed,
}

/// The session is put away or deleted as soon as its runner is gone.
#[derive(Debug, Clone)]
pub(super) struct Departure {
    pub to: Whereto,
    pub waiters: Vec<ReplyTo>,
}

/// Where a session goes that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whereto {
    Archive,
    Nowhere,
}

/// A `clientRequestId` that was used lately.
#[derive(Debug, Clone)]
pub(super) struct Recent {
    pub request: String,
    pub message: String,
    /// What its sender was told; a repetition is told the same.
    pub answer: Option<Submitted>,
}

/// An approval that is not settled.
#[derive(Debug, Clone)]
pub(super) struct OpenApproval {
    pub row: ApprovalRow,
    /// Why it was answered as it was; told with its resolution.
    pub note: Option<String>,
    pub reply: Option<ReplyTo>,
}

/// The runner's life.
#[derive(Debug, Clone)]
pub(super) enum RunnerPhase {
    Down,
    Starting(Stage),
    Up,
    Ending(Ending),
}

/// What a runner can do, as its `ready` tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// It begins runs that nobody asked for.
    pub self_start: bool,
    /// Its messages may carry images. A runner that lists nothing can do all of the protocol, images
    /// among it.
    pub images: bool,
    /// It takes `load_history` between runs, too, in place of all it remembers.
    pub reload_history: bool,
}

impl Abilities {
    /// What a list of capabilities means.
    pub fn of(capabilities: Option<&[String]>) -> Self {
        let lists = |word: &str| capabilities.is_some_and(|all| all.iter().any(|one| one == word));
        Self { self_start: lists("self_start"), images: capabilities.is_none() || lists("images"), reload_history: lists("reload_history") }
    }
}

/// How far a start has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Spawn,
    Ready,
    Llm,
    History,
}

/// Why and for whom a runner is being ended.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub reason: EndReason,
    pub failure: Option<(StartCause, String)>,
    pub waiters: Vec<ReplyTo>,
}

impl Ending {
    /// It went by itself, and not well.
    pub fn crashed() -> Self {
        Self { reason: EndReason::SubprocessError, failure: None, waiters: Vec::new() }
    }
}
