//! The rules of a session as a pure state machine: inputs in, changes and effects out. No I/O, and
//! no clock but the time passed in.
//!
//! | gate | opens with | closes with |
//! | --- | --- | --- |
//! | `Free` | | a message that may go at once: `Reserved` or `Open` |
//! | `Reserved` | a message that waits for its runner | the runner is up: `Open`; it failed, or a stop: `Free` |
//! | `Open` | a message handed to the runner (or a run the runner started itself) | settlement: `Closing` or `Free` |
//! | `Closing` | a run that ended with text no step has kept | that text was read back from the log: `Free` |

use super::event::{Admitted, Kind};
use super::output::{Effect, Order, Output, Purpose, Reply, ReplyTo, Timer};
use crate::error::Error;
use crate::runner::Exit;
use crate::store::{ApprovalRow, Change, LogChunk, MessageRow, SessionCounts, SessionRow, SessionSnapshot};
use crate::time::Timestamp;
use bytes::Bytes;
use galley_protocol::ipc::{Command, Event, ExitReason, Llm, UserMessage};
use galley_protocol::socket::{
    ApprovalMode, ApprovalState, EndReason, IfBusy, LlmChoice, MessageRole, MessageState, Origin, SessionBrief, SessionState as StateReport,
    SessionStatus, Visibility,
};
use std::collections::VecDeque;
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
    /// End the runner: `session.kill`, Core's shutdown.
    EndRunner {
        /// What watchers are told.
        reason: EndReason,
        /// Who waits until it is gone.
        to: Option<ReplyTo>,
    },
    /// End the runner if nothing is going on: eviction.
    Evict,
    /// `approval.respond`.
    Respond {
        /// Core's id or the runner's.
        id: String,
        /// The answer; a known word.
        decision: galley_protocol::ipc::Decision,
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
    /// A rule was added: send the rules again if this session is in its scope.
    RulesChanged {
        /// `global`, `ungrouped` or a project.
        scope: String,
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
    /// The runner is gone; all its lines have been seen.
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
    /// Steps already kept: their number and a digest of their line.
    pub steps: Vec<(u32, u64)>,
    /// Row of the last step.
    pub last_row: Option<String>,
    /// A serious error came after the last step.
    pub errored: bool,
    /// The last step's exit reason: `run_complete` should follow.
    pub exit: Option<ExitReason>,
    /// A stop was asked for; whether the queue is held afterwards.
    pub abort: Option<Hold>,
    pub last_activity: Timestamp,
    /// Silence has been reported since the last activity.
    pub stalled: bool,
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
    /// The runner's end that caused it: watchers are told once the outcome is stored.
    pub down: Option<(u64, EndReason)>,
}

/// A message that is not settled.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub row: MessageRow,
    /// Who waits to hear what became of it.
    pub reply: Option<ReplyTo>,
    /// It created its session.
    pub creates: bool,
    /// It answers the open question.
    pub answers: bool,
    /// A hand-over has failed once.
    pub retried: bool,
}

/// An approval that is not settled.
#[derive(Debug, Clone)]
pub(super) struct OpenApproval {
    pub row: ApprovalRow,
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
    pub failure: Option<(crate::error::StartCause, String)>,
    pub waiters: Vec<ReplyTo>,
}

/// One session.
#[derive(Debug, Clone)]
pub struct SessionState {
    pub(super) row: SessionRow,
    pub(super) dirty: bool,
    pub(super) last_index: u64,
    pub(super) limits: Limits,
    /// The app's default mode: ask or auto.
    pub(super) default_mode: ApprovalMode,
    pub(super) gate: Gate,
    /// A stop holds the queue until the next send.
    pub(super) hold: bool,
    /// Queued and pending messages, in the order they go out.
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) approvals: Vec<OpenApproval>,
    pub(super) runner: RunnerPhase,
    pub(super) generation: u64,
    pub(super) pid: Option<u32>,
    pub(super) llms: Vec<Llm>,
    pub(super) self_start: bool,
    /// This runner announces its runs with `turn_start`, so that what comes before the next one
    /// belongs to the run before.
    pub(super) announces: bool,
    /// Generation that asked the open question.
    pub(super) asked_by: u64,
    /// Messages that were dispatched when Core last stopped.
    pub(super) orphans: Vec<MessageRow>,
    /// Recent `clientRequestId`s and their messages.
    pub(super) recent: VecDeque<MessageRow>,
}

/// How many recent `clientRequestId`s are remembered in memory; older ones are in the store.
const RECENT: usize = 256;

impl SessionState {
    /// A session that does not exist yet.
    pub fn new(row: SessionRow, limits: Limits, default_mode: ApprovalMode) -> Self {
        Self {
            row,
            dirty: true,
            last_index: 0,
            limits,
            default_mode,
            gate: Gate::Free,
            hold: false,
            waiting: VecDeque::new(),
            approvals: Vec::new(),
            runner: RunnerPhase::Down,
            generation: 0,
            pid: None,
            llms: Vec::new(),
            self_start: false,
            announces: false,
            asked_by: 0,
            orphans: Vec::new(),
            recent: VecDeque::new(),
        }
    }

    /// A session as it was left.
    pub fn restore(snapshot: SessionSnapshot, limits: Limits, default_mode: ApprovalMode) -> Self {
        let mut state = Self::new(snapshot.session, limits, default_mode);
        state.dirty = false;
        state.last_index = snapshot.last_index;
        for row in snapshot.open_messages {
            if row.state == Some(MessageState::Dispatched) {
                state.orphans.push(row);
            } else {
                state.waiting.push_back(Waiting { row, reply: None, creates: false, answers: false, retried: false });
            }
        }
        state.approvals = snapshot.open_approvals.into_iter().map(|row| OpenApproval { row, reply: None }).collect();
        state
    }

    /// Takes one input at the time `now`.
    pub fn apply(&mut self, now: Timestamp, input: Input, out: &mut Output) {
        match input {
            Input::Line { generation, line } => self.line(now, generation, line, out),
            Input::Create { message, to } => self.send(now, message, to, true, out),
            Input::Send { message, to } => self.send(now, message, to, false, out),
            Input::Stop { origin, to } => self.stop(now, &origin, to, out),
            Input::EndRunner { reason, to } => self.end_runner(now, reason, to, out),
            Input::Evict => {
                if self.is_evictable() {
                    self.end_runner(now, EndReason::SubprocessExited, None, out);
                }
            }
            Input::Respond { id, decision, origin, to } => self.respond(now, &id, decision, &origin, to, out),
            Input::SetMode { mode, to } => self.set_mode(mode, to, out),
            Input::DefaultMode(mode) => self.set_default_mode(mode, out),
            Input::RulesChanged { scope } => self.rules_changed(&scope, out),
            Input::Report { to } => out.reply(Some(to), Ok(Reply::State(Box::new(self.report())))),
            Input::Started { generation, result } => self.started(now, generation, result, out),
            Input::Exited { generation, exit } => self.exited(now, generation, &exit, out),
            Input::Delivered { generation, purpose, outcome } => self.delivered(now, generation, purpose, outcome, out),
            Input::Partial { text } => self.partial(now, text, out),
            Input::Timer(timer) => self.timer(now, timer, out),
            Input::Recover => self.recover(now, out),
        }
    }

    /// Ends a batch: what to commit, the log chunks among it, the effects.
    pub fn finish(&mut self, now: Timestamp, out: Output) -> (Vec<Change>, Vec<LogChunk>, Vec<Effect>) {
        let session = std::mem::take(&mut self.dirty).then(|| {
            self.row.updated_at = now;
            Change::PutSession(Box::new(self.row.clone()))
        });
        out.finish(&self.row.id, session)
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.row.id
    }

    /// Index of the last event.
    pub fn last_index(&self) -> u64 {
        self.last_index
    }

    /// The current or last run's number and the index of its first event.
    pub fn last_run(&self) -> (u64, u64) {
        (self.row.run, self.row.run_first_index)
    }

    /// A run is reserved or open, or messages are queued behind one.
    pub fn is_busy(&self) -> bool {
        !matches!(self.gate, Gate::Free) || self.queued_count() > 0
    }

    /// A runner exists that is not known to be dead or on its way out.
    pub fn is_runner_alive(&self) -> bool {
        matches!(self.runner, RunnerPhase::Up | RunnerPhase::Starting(Stage::Ready | Stage::Llm | Stage::History))
    }

    /// Nothing is in hand and no runner exists: the actor may be put away.
    pub fn is_dormant(&self) -> bool {
        matches!(self.gate, Gate::Free) && matches!(self.runner, RunnerPhase::Down) && self.approvals.is_empty()
    }

    /// The runner is up and nothing depends on it.
    pub fn is_evictable(&self) -> bool {
        matches!(self.runner, RunnerPhase::Up) && !self.is_busy() && self.row.ask.is_none() && self.approvals.is_empty()
    }

    /// Messages that wait behind a run.
    pub fn queued_count(&self) -> u32 {
        self.count(&MessageState::Queued)
    }

    fn count(&self, state: &MessageState) -> u32 {
        self.waiting.iter().filter(|waiting| waiting.row.state.as_ref() == Some(state)).count() as u32
    }

    /// The session's row as it stands in memory.
    pub fn brief(&self) -> SessionBrief {
        let counts = SessionCounts { queued: self.queued_count(), pending: self.count(&MessageState::Pending), last_index: self.last_index };
        self.row.clone().into_brief(counts)
    }

    fn report(&self) -> StateReport {
        StateReport {
            session_id: self.row.id.clone(),
            runner_alive: self.is_runner_alive(),
            pid: self.pid,
            open_run: match &self.gate {
                Gate::Open(run) | Gate::Closing(run, _) => Some(run.number),
                Gate::Free | Gate::Reserved => None,
            },
            busy: self.is_busy(),
            queued_count: self.queued_count(),
            pending_count: self.count(&MessageState::Pending),
            ask: self.row.ask.clone(),
            approvals: self.approvals.iter().filter(|open| open.row.state == ApprovalState::Pending).map(|open| open.row.id.clone()).collect(),
            last_exit: self.row.last_exit.clone(),
            last_index: self.last_index,
            llm: self
                .llms
                .iter()
                .find(|llm| llm.is_current)
                .map(|llm| LlmChoice { key: llm.key().to_owned(), display_name: Some(llm.display_name.clone()) })
                .or_else(|| self.row.llm.clone()),
        }
    }

    fn line(&mut self, now: Timestamp, generation: u64, admitted: Admitted, out: &mut Output) {
        self.log(&admitted.line, out);
        if let Gate::Open(run) = &mut self.gate {
            run.last_activity = now;
            run.stalled = false;
            if admitted.kind == Kind::Progress {
                run.unsaved_text = true;
            }
        }
        if admitted.kind == Kind::Significant && generation == self.generation {
            match Event::from_line(&admitted.line) {
                Ok(event) => self.event(now, &admitted.line, event, out),
                // Its kind is known and its fields are wrong: an event for watchers, nothing to go by.
                Err(error) => tracing::warn!(session = self.row.id, %error, "event with wrong fields"),
            }
        }
    }

    fn timer(&mut self, now: Timestamp, timer: Timer, out: &mut Output) {
        match timer {
            Timer::Start => self.start_timed_out(out),
            Timer::Shutdown => out.effect(Effect::KillRunner { generation: self.generation }),
            Timer::Abort => {
                if matches!(&self.gate, Gate::Open(run) if run.abort.is_some()) {
                    out.effect(Effect::KillRunner { generation: self.generation });
                }
            }
            Timer::RunComplete => self.run_complete_overdue(now, out),
            Timer::Stall => self.check_stall(now, out),
        }
    }

    fn set_mode(&mut self, mode: Option<ApprovalMode>, to: ReplyTo, out: &mut Output) {
        self.row.approval_mode = mode.clone();
        self.dirty = true;
        self.push_mode(out);
        out.reply(Some(to), Ok(Reply::Mode(mode.unwrap_or(ApprovalMode::Default))));
    }

    fn set_default_mode(&mut self, mode: ApprovalMode, out: &mut Output) {
        self.default_mode = mode;
        if self.row.approval_mode.is_none() {
            self.push_mode(out);
        }
    }

    /// Tells a runner that is up which mode is in force.
    fn push_mode(&self, out: &mut Output) {
        if matches!(self.runner, RunnerPhase::Up | RunnerPhase::Starting(Stage::Llm | Stage::History)) {
            self.tell(Command::SetYoloMode(galley_protocol::ipc::SetYoloMode { enabled: self.is_automatic() }), Purpose::None, out);
        }
    }

    /// Whether calls run without asking. When in doubt, ask.
    pub(super) fn is_automatic(&self) -> bool {
        *self.row.approval_mode.as_ref().unwrap_or(&self.default_mode) == ApprovalMode::Auto
    }

    fn rules_changed(&self, scope: &str, out: &mut Output) {
        if (scope == "global" || scope == self.scope()) && matches!(self.runner, RunnerPhase::Up | RunnerPhase::Starting(Stage::Llm | Stage::History))
        {
            self.order(Order::Rules { scope: self.scope().to_owned() }, out);
        }
    }

    /// The rules that apply beside the global ones.
    pub(super) fn scope(&self) -> &str {
        self.row.project_id.as_deref().unwrap_or("ungrouped")
    }

    /// Appends a line to the log.
    pub(super) fn log(&mut self, line: &Bytes, out: &mut Output) {
        self.last_index += 1;
        out.log(&self.row.id, self.last_index, self.row.run, line);
    }

    /// Appends an event of Core's own to the log.
    pub(super) fn log_event(&mut self, event: &Event, out: &mut Output) {
        self.log(&super::event::line_of(event), out);
    }

    pub(super) fn order(&self, order: Order, out: &mut Output) {
        out.effect(Effect::Tell { generation: self.generation, order });
    }

    pub(super) fn tell(&self, command: Command, purpose: Purpose, out: &mut Output) {
        self.order(Order::Command { command, purpose }, out);
    }

    pub(super) fn user_message(text: &str, turn: Option<u32>) -> Command {
        Command::UserMessage(UserMessage { text: text.to_owned(), images: Vec::new(), absolute_turn_index: turn })
    }

    pub(super) fn set_status(&mut self, now: Timestamp, status: SessionStatus) {
        self.row.status = status;
        self.touch(now);
    }

    /// Notes activity; time never goes back.
    pub(super) fn touch(&mut self, now: Timestamp) {
        self.row.last_activity_at = self.row.last_activity_at.max(now);
        self.dirty = true;
    }

    pub(super) fn remember(&mut self, row: &MessageRow) {
        if row.client_request_id.is_some() {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(row.clone());
        }
    }

    /// A row of the transcript that is nobody's message.
    pub(super) fn system_row(&self, now: Timestamp, content: String, visibility: Visibility, origin: Option<Origin>) -> MessageRow {
        MessageRow {
            id: new_message_id(),
            session_id: self.row.id.clone(),
            role: MessageRole::System,
            content,
            final_answer: None,
            created_at: now,
            summary: None,
            turn_index: self.row.turn_count.checked_sub(1),
            step_index: None,
            run: (self.row.run > 0).then_some(self.row.run),
            state: None,
            rank: 0,
            origin,
            visibility,
            partial: false,
            thinking: None,
            tool_calls: None,
            tool_results: None,
            ask_user: None,
            telemetry: None,
            client_request_id: None,
        }
    }
}

/// A fresh message id.
pub fn new_message_id() -> String {
    format!("msg_{}", uuid::Uuid::now_v7().simple())
}
