//! A run: what its events change, and how it is settled, once.

use super::output::{Effect, Output, Timer};
use super::sending::clear_run_timers;
use super::state::{Gate, Hold, Outcome, RunnerPhase, SessionState, new_message_id};
use crate::store::{Change, MessageRow};
use crate::time::Timestamp;
use bytes::Bytes;
use galley_protocol::RawJson;
use galley_protocol::ipc::{
    AskUser, Category, ErrorEvent, Event, ExitReason, ExitResult, RunComplete, Severity, Stalled, SystemMessage, SystemVariant, ToolCall, TurnEnd,
};
use galley_protocol::socket::{AskState, Dispatch, MessageRole, MessageState, SessionStatus, Visibility};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The longest digest of a step that a session's row carries, in characters.
const SUMMARY_CHARS: usize = 80;

impl SessionState {
    pub(super) fn event(&mut self, now: Timestamp, line: &Bytes, event: Event, out: &mut Output) {
        match event {
            Event::Ready(ready) => self.ready(now, ready, out),
            Event::HistoryLoaded(_) => self.history_loaded(now, out),
            Event::LlmChanged(changed) => self.llm_changed(now, &changed, out),
            Event::TurnStart(start) => self.turn_start(start.turn_index, out),
            Event::TurnEnd(end) => self.turn_end(now, line, end, out),
            Event::ToolCallPending(pending) => self.approval_asked(now, pending, out),
            Event::AskUser(ask) => self.asked(now, ask),
            Event::RunComplete(complete) => self.run_complete(now, complete, out),
            Event::Error(error) => self.runner_error(&error, out),
            Event::SystemMessage(message) => self.system_message(now, message, out),
            _ => {}
        }
    }

    fn turn_start(&mut self, step: u32, out: &mut Output) {
        if let Gate::Open(run) = &mut self.gate
            && step == 1
        {
            run.started = true;
            self.announces = true;
            if run.stray.take().is_some() {
                out.effect(Effect::ClearTimer(Timer::RunComplete));
            }
        }
    }

    /// Whether an event that ends something speaks of the open run: one of a runner that announces
    /// its runs, seen before the announcement, belongs to the run before.
    fn speaks_of_open_run(&self) -> bool {
        matches!(&self.gate, Gate::Open(run) if run.started || !self.announces)
    }

    fn turn_end(&mut self, now: Timestamp, line: &Bytes, end: TurnEnd, out: &mut Output) {
        if !self.speaks_of_open_run() {
            return;
        }
        let Gate::Open(run) = &mut self.gate else { return };
        run.started = true;
        let digest = {
            let mut hasher = DefaultHasher::new();
            line.hash(&mut hasher);
            hasher.finish()
        };
        let repeated = run.steps.contains(&(end.turn_index, digest));
        run.unsaved_text = false;
        run.errored = false;
        if let Some(exit) = &end.exit_reason {
            run.exit = Some(exit.clone());
            out.effect(Effect::SetTimer { timer: Timer::RunComplete, after: self.limits.run_complete });
        }
        if repeated {
            return;
        }
        let Gate::Open(run) = &mut self.gate else { return };
        run.steps.push((end.turn_index, digest));
        let id = new_message_id();
        run.last_row = Some(id.clone());
        let ask = run.ask.take();
        let content = end.response_content.unwrap_or_default();
        let row = MessageRow {
            id,
            final_answer: end.exit_reason.as_ref().map(|_| content.clone()).filter(|answer| !answer.is_empty()),
            content,
            summary: end.summary.clone(),
            step_index: Some(end.turn_index),
            tool_calls: json_array(&end.tool_calls, |call| call.read::<ToolCall>().is_ok_and(|call| call.tool_name == "no_tool")),
            tool_results: json_array(&end.tool_results, |_| false),
            ask_user: ask.and_then(|ask| RawJson::new(&ask).ok()),
            telemetry: end.telemetry,
            ..self.agent_row(now)
        };
        out.change(Change::InsertMessage(Box::new(row)));
        self.agent_spoke(now, end.summary.as_deref());
    }

    fn agent_row(&self, now: Timestamp) -> MessageRow {
        let turn = match &self.gate {
            Gate::Open(run) | Gate::Closing(run, _) => run.messages.last().and_then(|message| message.row.turn_index),
            Gate::Free | Gate::Reserved => None,
        };
        let system = self.system_row(now, String::new(), Visibility::Visible, None);
        MessageRow { role: MessageRole::Agent, turn_index: turn.or(system.turn_index), ..system }
    }

    fn agent_spoke(&mut self, now: Timestamp, summary: Option<&str>) {
        self.row.has_unread = Some(true);
        if let Some(summary) = summary {
            self.row.summary = Some(summary.chars().take(SUMMARY_CHARS).collect());
        }
        self.touch(now);
    }

    fn asked(&mut self, now: Timestamp, ask: AskUser) {
        if !self.speaks_of_open_run() {
            return;
        }
        let ask = AskState { question: ask.question, candidates: ask.candidates, blocking: ask.blocking.unwrap_or(false) };
        if let Gate::Open(run) = &mut self.gate {
            run.ask = Some(ask.clone());
        }
        self.row.ask = Some(ask);
        self.asked_by = self.generation;
        self.touch(now);
    }

    fn runner_error(&mut self, error: &ErrorEvent, out: &mut Output) {
        if let Gate::Open(run) = &mut self.gate
            && error.category != Category::Business
            && error.severity == Severity::Error
        {
            run.errored = true;
        }
        self.setup_error(error, out);
    }

    fn system_message(&mut self, now: Timestamp, message: SystemMessage, out: &mut Output) {
        if message.variant == SystemVariant::SideQuestion {
            return;
        }
        self.note(now, message.content, out);
    }

    /// Says something in the transcript that is nobody's message.
    pub(super) fn note(&mut self, now: Timestamp, text: String, out: &mut Output) {
        out.change(Change::InsertMessage(Box::new(self.system_row(now, text, Visibility::Visible, None))));
        self.touch(now);
    }

    fn run_complete(&mut self, now: Timestamp, complete: RunComplete, out: &mut Output) {
        // A run stopped before its announcement ends without one.
        let stopped = matches!(&self.gate, Gate::Open(run) if run.abort.is_some()) && complete.exit_reason.result == ExitResult::Aborted;
        if stopped || self.speaks_of_open_run() {
            return self.complete(now, complete, out);
        }
        if let Gate::Open(run) = &mut self.gate {
            run.stray = Some((complete, now));
            out.effect(Effect::SetTimer { timer: Timer::RunComplete, after: self.limits.run_complete });
        }
    }

    fn complete(&mut self, now: Timestamp, complete: RunComplete, out: &mut Output) {
        let Gate::Open(run) = &mut self.gate else { return };
        let answer = complete.final_content.filter(|answer| !answer.is_empty());
        match (answer, run.last_row.clone()) {
            (Some(answer), Some(id)) => out.change(Change::SetFinalAnswer { id, answer, telemetry: None }),
            (Some(answer), None) => {
                run.unsaved_text = false;
                let row = MessageRow { content: answer.clone(), final_answer: Some(answer), step_index: complete.total_turns, ..self.agent_row(now) };
                out.change(Change::InsertMessage(Box::new(row)));
                self.agent_spoke(now, None);
            }
            (None, _) => {}
        }
        let Gate::Open(run) = &self.gate else { return };
        let outcome = Self::outcome_of(complete.exit_reason, run.errored);
        self.close(now, outcome, out);
    }

    /// What an exit reason means for the session and the message.
    pub(super) fn outcome_of(exit: ExitReason, errored: bool) -> Outcome {
        let (status, message) = match &exit.result {
            ExitResult::Aborted => (SessionStatus::Cancelled, MessageState::Cancelled),
            _ if errored => (SessionStatus::Error, MessageState::Failed),
            ExitResult::CurrentTaskDone => (SessionStatus::Completed, MessageState::Answered),
            ExitResult::MaxTurnsExceeded => (SessionStatus::Idle, MessageState::Failed),
            // The agent's loop ended without an exit, after an error of its own.
            ExitResult::Unknown(word) if word == "DONE_WITHOUT_EXIT" => (SessionStatus::Idle, MessageState::Failed),
            _ => (SessionStatus::Idle, MessageState::Answered),
        };
        Outcome { status, message, exit, down: None, note: None }
    }

    /// Settles the open run; text that no step has kept is read back first.
    pub(super) fn close(&mut self, now: Timestamp, outcome: Outcome, out: &mut Output) {
        let Gate::Open(run) = std::mem::replace(&mut self.gate, Gate::Free) else { return };
        clear_run_timers(out);
        let (unsaved, first_index) = (run.unsaved_text, run.first_index);
        self.gate = Gate::Closing(run, Box::new(outcome));
        self.cancel_approvals(now, "the run ended", out);
        if unsaved {
            out.effect(Effect::CollectPartial { from: first_index });
        } else {
            self.settle(now, out);
        }
    }

    pub(super) fn partial(&mut self, now: Timestamp, text: String, out: &mut Output) {
        let Gate::Closing(run, outcome) = &self.gate else { return };
        if !text.is_empty() {
            let cut_off = outcome.message != MessageState::Answered;
            let step = run.steps.iter().map(|(step, _)| *step).max().unwrap_or(0) + 1;
            let row = MessageRow { content: text, step_index: Some(step), partial: cut_off, ..self.agent_row(now) };
            out.change(Change::InsertMessage(Box::new(row)));
            self.agent_spoke(now, None);
        }
        self.settle(now, out);
    }

    fn settle(&mut self, now: Timestamp, out: &mut Output) {
        let Gate::Closing(run, outcome) = std::mem::replace(&mut self.gate, Gate::Free) else { return };
        let Outcome { status, message: state, exit, down, note } = *outcome;
        for mut message in run.messages {
            out.change(Change::SetMessageState { id: message.row.id.clone(), state: state.clone(), run: Some(run.number) });
            message.row.state = Some(state.clone());
            self.reply_message(&mut message, Dispatch::Dispatched, None, out);
        }
        self.row.last_exit = Some(exit);
        self.set_status(now, status);
        if let Some(note) = note {
            self.note(now, note, out);
        }
        if run.abort == Some(Hold::Hold) {
            self.hold = true;
        }
        if run.abort.is_some() || self.row.ask.as_ref().is_some_and(|ask| ask.blocking) {
            // A question dies with the run that waited for it.
            self.row.ask = None;
            for waiting in &mut self.waiting {
                waiting.answers = None;
            }
        }
        if let Some(down) = down {
            Self::runner_is_gone(down, out);
        }
        self.tell_due_model(out);
        self.advance(now, out);
        if matches!((&self.gate, &self.runner), (Gate::Free, RunnerPhase::Down)) {
            self.queue_becomes_pending(None, out);
        }
    }

    /// No `run_complete` followed what looked like the end.
    pub(super) fn run_complete_overdue(&mut self, now: Timestamp, out: &mut Output) {
        let Gate::Open(run) = &mut self.gate else { return };
        if let Some(exit) = run.exit.clone() {
            let outcome = Self::outcome_of(exit, run.errored);
            self.close(now, outcome, out);
        } else if let Some((complete, at)) = run.stray.take()
            && run.last_activity == at
        {
            // Nothing came after it: it was this run's after all.
            self.complete(now, complete, out);
        }
    }

    pub(super) fn check_stall(&mut self, now: Timestamp, out: &mut Output) {
        let waits_for_a_person = !self.approvals.is_empty() || self.row.ask.is_some();
        let session_id = self.row.id.clone();
        let stall = self.limits.stall;
        let Gate::Open(run) = &mut self.gate else { return };
        let silent = now.as_millis() - run.last_activity.as_millis();
        let left = i64::try_from(stall.as_millis()).unwrap_or(i64::MAX).saturating_sub(silent);
        let mut again = stall;
        if left > 0 {
            again = std::time::Duration::from_millis(left.unsigned_abs());
        } else if !run.stalled && !waits_for_a_person {
            run.stalled = true;
            let event = Stalled {
                session_id: Some(session_id),
                source: "core".to_owned(),
                last_activity_at: run.last_activity.to_string(),
                timestamp: Some(now.to_string()),
            };
            self.log_event(&event.into(), out);
        }
        out.effect(Effect::SetTimer { timer: Timer::Stall, after: again });
    }
}

/// A JSON array of the items worth keeping; nothing when none is.
fn json_array(items: &[RawJson], is_noise: impl Fn(&RawJson) -> bool) -> Option<RawJson> {
    let kept: Vec<&RawJson> = items.iter().filter(|item| !is_noise(item)).collect();
    if kept.is_empty() { None } else { RawJson::new(&kept).ok() }
}
