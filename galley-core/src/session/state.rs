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
use crate::store::{Change, LogChunk, MessageRow, SessionCounts, SessionRow, SessionSnapshot};
use crate::time::Timestamp;
use bytes::Bytes;
use galley_protocol::ipc::{Command, Event, Llm, UserMessage};
use galley_protocol::socket::{
    ApprovalMode, ApprovalState, EndReason, LlmChoice, MessageRole, MessageState, Origin, SessionBrief, SessionState as StateReport, SessionStatus,
    Visibility,
};
use std::collections::VecDeque;

pub use super::input::{Delivered, Earlier, Input, Limits, NewMessage, QueueEdit};
pub(super) use super::phase::{
    Asker, Departure, Down, Ending, Form, Gate, Hold, OpenApproval, Outcome, Recent, Run, RunnerPhase, Stage, Waiting, Whereto,
};

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
    /// A model was chosen that this runner has not been told of.
    pub(super) llm_due: bool,
    pub(super) self_start: bool,
    /// This runner announces its runs with `turn_start`, so that what comes before the next one
    /// belongs to the run before.
    pub(super) announces: bool,
    /// Generation that asked the open question.
    pub(super) asked_by: u64,
    /// Messages that were dispatched when Core last stopped.
    pub(super) orphans: Vec<MessageRow>,
    pub(super) recent: VecDeque<Recent>,
    /// Messages that were sent again lately: each is sent again once.
    pub(super) retried: VecDeque<String>,
    /// Who waits for a runner to be up, without a message for it.
    pub(super) resumers: Vec<ReplyTo>,
    pub(super) departure: Option<Departure>,
    /// The session is no more.
    pub(super) deleted: bool,
}

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
            llm_due: false,
            self_start: false,
            announces: false,
            asked_by: 0,
            orphans: Vec::new(),
            recent: VecDeque::new(),
            retried: VecDeque::new(),
            resumers: Vec::new(),
            departure: None,
            deleted: false,
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
                state.waiting.push_back(Waiting::restored(row));
            }
        }
        state.approvals = snapshot.open_approvals.into_iter().map(|row| OpenApproval { asked_for: row.reason.clone(), row, reply: None }).collect();
        state
    }

    /// Takes one input at the time `now`. Should the clock have gone back, the session's has not.
    pub fn apply(&mut self, now: Timestamp, input: Input, out: &mut Output) {
        if self.deleted {
            return out.reply(input.reply_to(), Err(super::not_found(&self.row.id)));
        }
        let now = now.max(self.row.last_activity_at);
        match input {
            Input::Line { generation, line } => self.line(now, generation, line, out),
            Input::Create { message, to } => self.send(now, message, Asker { to, form: Form::Created }, out),
            Input::Send { message, to } => self.send(now, message, Asker { to, form: Form::Submitted }, out),
            Input::Stop { origin, to } => self.stop(now, &origin, to, out),
            Input::EndRunner { reason, to } => self.end_runner(now, reason, to, out),
            Input::Kill { origin, to } => self.kill(now, &origin, to, out),
            Input::Resume { to } => self.resume(now, to, out),
            Input::Archive { if_busy, origin, to } => self.archive(now, &if_busy, &origin, to, out),
            Input::Restore { origin, to } => self.unarchive(now, &origin, to, out),
            Input::Delete { to } => self.delete(now, to, out),
            Input::Move { project, origin, to } => self.move_to(now, project, &origin, to, out),
            Input::Rename { title, to } => self.rename(now, title, to, out),
            Input::Pin { pinned, to } => self.pin(now, pinned, to, out),
            Input::MarkRead { to } => self.mark_read(now, to, out),
            Input::EditQueue { message, edit, to } => self.edit_queue(now, &message, edit, to, out),
            Input::Direct { command, to } => self.direct(command, to, out),
            Input::SetLlm { llm, to } => self.set_llm(now, llm, to, out),
            Input::Evict => {
                if self.is_evictable() {
                    self.end_runner(now, EndReason::SubprocessExited, None, out);
                }
            }
            Input::Respond { id, decision, origin, to } => self.respond(now, &id, decision, &origin, to, out),
            Input::SetMode { mode, to } => self.set_mode(mode, to, out),
            Input::DefaultMode(mode) => self.set_default_mode(mode, out),
            Input::RulesChanged { scope } => self.rules_changed(&scope, out),
            Input::ProjectGone { project } => self.project_gone(&project, out),
            Input::Report { to } => out.reply(Some(to), Ok(Reply::State(Box::new(self.report())))),
            Input::Started { generation, result } => self.started(now, generation, result, out),
            Input::Exited { generation, exit } => self.exited(now, generation, &exit, out),
            Input::Delivered { generation, purpose, outcome } => self.delivered(now, generation, purpose, outcome, out),
            Input::Partial { text } => self.partial(now, text, out),
            Input::Timer(timer) => self.timer(now, timer, out),
            Input::Recover => self.recover(now, out),
        }
        self.start_for_resumers(out);
        self.depart_when_at_rest(now, out);
    }

    /// Ends a batch: what to commit, the log chunks among it, the effects.
    pub fn finish(&mut self, now: Timestamp, out: Output) -> (Vec<Change>, Vec<LogChunk>, Vec<Effect>) {
        let session = std::mem::take(&mut self.dirty).then(|| {
            self.row.updated_at = self.row.updated_at.max(now);
            Change::PutSession(Box::new(self.row.clone()))
        });
        out.finish(&self.row.id, session)
    }

    /// The session's id.
    pub fn id(&self) -> &str {
        &self.row.id
    }

    /// Name of the runtime that serves it.
    pub fn runtime(&self) -> &str {
        &self.row.runtime_id
    }

    /// The working directory it was created with.
    pub fn cwd(&self) -> Option<&str> {
        self.row.cwd.as_deref()
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

    /// It is put away.
    pub fn is_archived(&self) -> bool {
        self.row.status == SessionStatus::Archived
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
        if generation != self.generation || matches!(self.runner, RunnerPhase::Down) {
            return self.log(&admitted.line, out);
        }
        let event = (admitted.kind == Kind::Significant).then(|| Event::from_line(&admitted.line));
        if matches!(&event, Some(Ok(Event::TurnStart(start))) if start.turn_index == 1) && self.may_start_itself() {
            // Before the line is logged: it is the first of its run.
            self.open_run(now, out);
        }
        self.log(&admitted.line, out);
        if let Gate::Open(run) = &mut self.gate {
            run.heard(now);
            if admitted.kind == Kind::Progress {
                run.unsaved_text = true;
            }
        }
        match event {
            Some(Ok(event)) => self.event(now, &admitted.line, event, out),
            // Its kind is known and its fields are wrong: an event for watchers, nothing to go by.
            Some(Err(error)) => tracing::warn!(session = self.row.id, %error, "event with wrong fields"),
            None => {}
        }
    }

    /// The agent may begin a run nobody asked for.
    fn may_start_itself(&self) -> bool {
        self.self_start && matches!(self.gate, Gate::Free) && matches!(self.runner, RunnerPhase::Up)
    }

    fn timer(&mut self, now: Timestamp, timer: Timer, out: &mut Output) {
        match timer {
            Timer::Start => self.start_timed_out(out),
            Timer::Shutdown => {
                if matches!(self.runner, RunnerPhase::Ending(_)) {
                    self.drop_runner(out);
                }
            }
            Timer::Abort => {
                if matches!(&self.gate, Gate::Open(run) if run.abort.is_some()) {
                    self.drop_runner(out);
                }
            }
            Timer::RunComplete => self.run_complete_overdue(now, out),
            Timer::Stall => self.check_stall(now, out),
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
