//! The runner's life as the session sees it: start, set-up, end.

use super::input::Interruption;
use super::output::{Effect, Order, Output, Purpose, Reply, ReplyTo, Timer, describe_exit};
use super::sending::clear_run_timers;
use super::state::{Abilities, Delivered, Down, Ending, Form, Gate, Hold, Outcome, Run, RunnerPhase, SessionState, Stage, Waiting};
use crate::error::{Error, StartCause};
use crate::runner::Exit;
use crate::store::Change;
use crate::time::Timestamp;
use galley_protocol::RawJson;
use galley_protocol::ipc::{
    Category, Command, ErrorEvent, ExitReason, ExitResult, LlmChanged, PROTOCOL_VERSION, Ready, SetLlm, SetYoloMode, Severity, Shutdown,
};
use galley_protocol::socket::{ApprovalState, Dispatch, EndReason, LlmChoice, MessageState, SessionStatus, Submitted, Warning};
use serde_json::json;

impl SessionState {
    pub(super) fn start_runner(&mut self, out: &mut Output) {
        self.generation += 1;
        self.runner = RunnerPhase::Starting(Stage::Spawn);
        self.announces = false;
        self.abilities = Abilities::default();
        self.remembers_superseded = false;
        out.effect(Effect::StartRunner { generation: self.generation, llm_no: self.row.llm_index, project: self.row.project_id.clone() });
        out.effect(Effect::SetTimer { timer: Timer::Start, after: self.limits.ready });
    }

    pub(super) fn started(&mut self, now: Timestamp, generation: u64, result: Result<Option<u32>, Error>, out: &mut Output) {
        if generation != self.generation {
            return;
        }
        match result {
            Ok(pid) => {
                self.pid = pid;
                out.effect(Effect::RunnerUp { generation });
                if matches!(self.runner, RunnerPhase::Starting(Stage::Spawn)) {
                    self.runner = RunnerPhase::Starting(Stage::Ready);
                } else {
                    // It was given up while it was being started.
                    out.effect(Effect::KillRunner { generation });
                }
            }
            Err(error) => {
                out.effect(Effect::ClearTimer(Timer::Start));
                out.effect(Effect::ClearTimer(Timer::Shutdown));
                let phase = std::mem::replace(&mut self.runner, RunnerPhase::Down);
                let RunnerPhase::Ending(ending) = phase else { return self.start_failed(now, error, out) };
                reply_gone(ending.waiters, out);
                if ending.failure.is_none() && matches!(self.gate, Gate::Reserved) {
                    // It was given up, and a message has come since.
                    self.start_runner(out);
                } else {
                    self.start_failed(now, error, out);
                }
            }
        }
    }

    /// `ready`: check it, then set the runner up before any message.
    pub(super) fn ready(&mut self, now: Timestamp, ready: Ready, out: &mut Output) {
        if !matches!(self.runner, RunnerPhase::Starting(Stage::Ready)) {
            return;
        }
        if ready.protocol_version != PROTOCOL_VERSION {
            let message = format!("the runner speaks protocol {}, and this Galley speaks {PROTOCOL_VERSION}", ready.protocol_version);
            return self.fail_start(StartCause::ProtocolMismatch, message, out);
        }
        if let Ok(llms) = serde_json::to_string(&ready.available_llms) {
            out.change(Change::SetSetting { key: format!("llms:{}", self.row.runtime_id), value: Some(llms) });
        }
        self.abilities = Abilities::of(ready.capabilities.as_deref());
        if let Ok(capabilities) = serde_json::to_string(&ready.capabilities) {
            out.change(Change::SetSetting { key: format!("capabilities:{}", self.row.runtime_id), value: Some(capabilities) });
        }
        self.llms = ready.available_llms;
        self.order(Order::Rules { scope: self.scope().to_owned() }, out);
        if self.is_automatic() {
            self.tell(Command::SetYoloMode(SetYoloMode { enabled: true }), Purpose::None, out);
        }
        self.llm_due = false;
        self.llm_unconfirmed = false;
        let chosen = self.row.llm.as_ref().and_then(|choice| self.llms.iter().find(|llm| llm.key() == choice.key));
        match chosen {
            Some(llm) if !llm.is_current => {
                self.tell(Command::SetLlm(SetLlm { llm_index: llm.index }), Purpose::None, out);
                self.enter(Stage::Llm, out);
            }
            _ => self.load_history(now, out),
        }
    }

    /// `llm_changed`, asked for or not.
    pub(super) fn llm_changed(&mut self, now: Timestamp, changed: &LlmChanged, out: &mut Output) {
        for llm in &mut self.llms {
            llm.is_current = llm.index == changed.index;
        }
        if let Some(llm) = self.llms.iter().find(|llm| llm.is_current) {
            let chosen = self.row.llm.as_ref().is_some_and(|choice| choice.key == llm.key());
            self.llm_unconfirmed &= !chosen;
            // What was chosen since stays chosen: this report is older.
            if !self.llm_unconfirmed {
                self.row.llm = Some(LlmChoice { key: llm.key().to_owned(), display_name: Some(llm.display_name.clone()) });
                self.row.llm_index = Some(llm.index);
                self.dirty = true;
            }
        }
        if matches!(self.runner, RunnerPhase::Starting(Stage::Llm)) {
            self.load_history(now, out);
        }
    }

    fn load_history(&mut self, now: Timestamp, out: &mut Output) {
        if self.row.run == 0 {
            return self.runner_is_up(now, out);
        }
        self.enter(Stage::History, out);
        self.order_history(false, out);
    }

    /// The runner remembers what was taken out of the conversation: before it gets its next message,
    /// it is told the conversation as it is now, or makes room for one that is.
    pub(super) fn renew_runner(&mut self, now: Timestamp, out: &mut Output) {
        self.gate = Gate::Reserved;
        self.set_status(now, SessionStatus::Connecting);
        if self.abilities.reload_history {
            self.remembers_superseded = false;
            self.enter(Stage::History, out);
            return self.order_history(true, out);
        }
        self.runner = RunnerPhase::Ending(Ending { reason: EndReason::SubprocessExited, ..Ending::crashed() });
        self.ask_to_exit(out);
    }

    fn enter(&mut self, stage: Stage, out: &mut Output) {
        self.runner = RunnerPhase::Starting(stage);
        out.effect(Effect::SetTimer { timer: Timer::Start, after: self.limits.ready });
    }

    pub(super) fn history_delivered(&mut self, now: Timestamp, outcome: Delivered, out: &mut Output) {
        if !matches!(self.runner, RunnerPhase::Starting(Stage::History)) {
            return;
        }
        match outcome {
            Delivered::Yes => {}
            Delivered::Nothing => self.runner_is_up(now, out),
            Delivered::No => self.fail_start(StartCause::HistoryReplay, "the runner did not take the history".to_owned(), out),
        }
    }

    pub(super) fn history_loaded(&mut self, now: Timestamp, out: &mut Output) {
        if matches!(self.runner, RunnerPhase::Starting(Stage::History)) {
            self.runner_is_up(now, out);
        }
    }

    /// An `error` while the runner is being set up: only a serious one about the history matters.
    pub(super) fn setup_error(&mut self, error: &ErrorEvent, out: &mut Output) {
        if matches!(self.runner, RunnerPhase::Starting(Stage::History)) && error.severity == Severity::Error {
            self.fail_start(StartCause::HistoryReplay, format!("the runner refused the history: {}", error.message), out);
        } else if matches!(self.runner, RunnerPhase::Starting(Stage::Llm)) && error.severity == Severity::Error {
            self.fail_start(StartCause::RuntimeInvalid, format!("the runner refused the model: {}", error.message), out);
        }
    }

    fn runner_is_up(&mut self, now: Timestamp, out: &mut Output) {
        self.runner = RunnerPhase::Up;
        out.effect(Effect::ClearTimer(Timer::Start));
        self.tell_due_model(out);
        self.answer_resumers(out);
        if matches!(self.gate, Gate::Reserved) {
            self.dispatch(now, out);
        } else {
            self.advance(now, out);
        }
    }

    pub(super) fn start_timed_out(&mut self, out: &mut Output) {
        let RunnerPhase::Starting(stage) = self.runner else { return };
        let seconds = self.limits.ready.as_secs_f32();
        let (cause, message) = match stage {
            Stage::Spawn | Stage::Ready => (StartCause::ReadyTimeout, format!("the runner was not ready within {seconds} s")),
            Stage::Llm => (StartCause::ReadyTimeout, format!("the runner did not switch models within {seconds} s")),
            Stage::History => (StartCause::HistoryReplay, format!("the runner did not load the history within {seconds} s")),
        };
        self.runner = RunnerPhase::Ending(Ending { failure: Some((cause, message)), ..Ending::crashed() });
        out.effect(Effect::KillRunner { generation: self.generation });
    }

    /// A start that cannot succeed: the runner is asked to go, and the failure told once it is gone
    /// and its last words are known.
    fn fail_start(&mut self, cause: StartCause, message: String, out: &mut Output) {
        self.runner = RunnerPhase::Ending(Ending { failure: Some((cause, message)), ..Ending::crashed() });
        out.effect(Effect::ClearTimer(Timer::Start));
        self.ask_to_exit(out);
    }

    fn ask_to_exit(&self, out: &mut Output) {
        self.tell(Command::Shutdown(Shutdown {}), Purpose::None, out);
        out.effect(Effect::SetTimer { timer: Timer::Shutdown, after: self.limits.shutdown });
    }

    /// No runner came up: what waits stays, and everybody who waits is told why.
    fn start_failed(&mut self, now: Timestamp, error: Error, out: &mut Output) {
        let Error::Runner { cause, message, stderr_tail, .. } = error else {
            return self.start_failed(now, Error::runner(StartCause::SpawnIo, error.to_string()), out);
        };
        self.log_core_error(
            now,
            Category::Bridge,
            "runner_start",
            message.clone(),
            &Exit { stderr_tail: stderr_tail.clone(), ..Exit::default() },
            out,
        );
        if matches!(self.gate, Gate::Reserved) {
            self.gate = Gate::Free;
            self.set_status(now, SessionStatus::Error);
        }
        // Who wanted a run, not only to leave a message, is told with an error; the rows are committed
        // all the same.
        let failure = |detail| Error::Runner { cause, message: message.clone(), stderr_tail: stderr_tail.clone(), detail: Some(detail) };
        for place in 0..self.waiting.len() {
            let waiting = &mut self.waiting[place];
            let (senders, others): (Vec<_>, Vec<_>) = waiting.askers.drain(..).partition(|asker| asker.form == Form::Submitted);
            waiting.askers = senders;
            let row = waiting.row.clone();
            let error = failure(json!({ "sessionId": self.row.id, "messageId": row.id }));
            if others.iter().any(|asker| asker.form == Form::Created) {
                let id = row.id.clone();
                let told = Submitted { message: Some(row.into_brief()), dispatch: Dispatch::PersistedOnly, queue: None, warning: None };
                self.note_answer(&id, &told);
            }
            for asker in others {
                out.reply(Some(asker.to), Err(error.clone()));
            }
        }
        self.refuse_resumers(&failure(json!({ "sessionId": self.row.id })), out);
        let detail = RawJson::new(&json!({ "cause": cause.as_str(), "stderrTail": stderr_tail })).ok();
        self.queue_becomes_pending(Some(&Warning { id: cause.as_str().to_owned(), message, detail }), out);
    }

    /// Ends the runner politely. Its run is stopped; what waited for it is pending from now on.
    pub(super) fn end_runner(&mut self, now: Timestamp, reason: EndReason, to: Option<ReplyTo>, out: &mut Output) {
        if matches!(self.gate, Gate::Reserved) {
            if reason == EndReason::CoreShutdown {
                // Nobody stopped this message; the next Core may send it.
                self.gate = Gate::Free;
                self.set_status(now, SessionStatus::Idle);
            } else {
                self.cancel_reserved(now, out);
            }
        }
        self.abort(now, Hold::Hold, out);
        self.queue_becomes_pending(None, out);
        self.disappoint_resumers(out);
        let ending = Ending { reason: reason.clone(), failure: None, waiters: to.into_iter().collect() };
        match &mut self.runner {
            RunnerPhase::Down => ending.waiters.into_iter().for_each(|to| out.reply(Some(to), Ok(Reply::NoRunner))),
            RunnerPhase::Ending(before) => {
                before.reason = reason;
                before.waiters.extend(ending.waiters);
            }
            RunnerPhase::Starting(_) => {
                self.runner = RunnerPhase::Ending(ending);
                out.effect(Effect::ClearTimer(Timer::Start));
                out.effect(Effect::KillRunner { generation: self.generation });
            }
            RunnerPhase::Up => {
                self.runner = RunnerPhase::Ending(ending);
                self.ask_to_exit(out);
            }
        }
    }

    /// Ends a runner by force: it does not take its commands, or does not follow them.
    pub(super) fn drop_runner(&mut self, out: &mut Output) {
        if matches!(self.runner, RunnerPhase::Up | RunnerPhase::Starting(_)) {
            self.runner = RunnerPhase::Ending(Ending::crashed());
        }
        out.effect(Effect::KillRunner { generation: self.generation });
    }

    pub(super) fn exited(&mut self, now: Timestamp, generation: u64, exit: &Exit, out: &mut Output) {
        if generation != self.generation || matches!(self.runner, RunnerPhase::Down) {
            return;
        }
        clear_run_timers(out);
        out.effect(Effect::ClearTimer(Timer::Start));
        out.effect(Effect::ClearTimer(Timer::Shutdown));
        self.pid = None;
        self.llms.clear();
        self.llm_due = false;
        self.llm_unconfirmed = false;
        let clean = exit.is_clean() && !matches!(self.gate, Gate::Open(_));
        let expected = matches!(self.runner, RunnerPhase::Ending(_));
        let mut ending = match std::mem::replace(&mut self.runner, RunnerPhase::Down) {
            RunnerPhase::Ending(ending) => ending,
            RunnerPhase::Starting(_) => {
                let message = format!("{} before it was ready", describe_exit(exit));
                Ending { failure: Some((StartCause::RunnerExited, message)), ..Ending::crashed() }
            }
            RunnerPhase::Up | RunnerPhase::Down if clean => Ending { reason: EndReason::SubprocessExited, ..Ending::crashed() },
            RunnerPhase::Up | RunnerPhase::Down => Ending::crashed(),
        };
        if let Some((cause, message)) = ending.failure.take() {
            self.start_failed(now, Error::Runner { cause, message, stderr_tail: exit.stderr_tail.clone(), detail: None }, out);
        }
        let down = Down { generation, reason: ending.reason, waiters: ending.waiters };
        match &mut self.gate {
            Gate::Open(_) => self.run_lost_its_runner(now, exit, expected, down, out),
            Gate::Closing(_, outcome) => outcome.down = Some(down),
            Gate::Reserved => {
                Self::runner_is_gone(down, out);
                self.start_runner(out);
            }
            Gate::Free => {
                self.queue_becomes_pending(None, out);
                Self::runner_is_gone(down, out);
            }
        }
    }

    /// The runner is gone and its run is not settled. An end that was expected has seen to the
    /// queue: what is queued now came later.
    fn run_lost_its_runner(&mut self, now: Timestamp, exit: &Exit, expected: bool, mut down: Down, out: &mut Output) {
        let Gate::Open(run) = &self.gate else { return };
        let outcome = if run.abort.is_some() {
            Self::outcome_of(ExitReason { result: ExitResult::Aborted, data: None }, false)
        } else if let Some(exit) = run.exit.clone() {
            Self::outcome_of(exit, run.errored)
        } else {
            down.reason = EndReason::SubprocessError;
            self.log_core_error(now, Category::Bridge, "runner_exit", describe_exit(exit), exit, out);
            if !expected {
                self.queue_becomes_pending(None, out);
            }
            crashed(RawJson::new(&json!({ "exitCode": exit.code, "signal": exit.signal })).ok())
        };
        self.close(now, Outcome { down: Some(down), ..outcome }, out);
    }

    /// Tells watchers, and whoever waits for it, that the runner is gone.
    pub(super) fn runner_is_gone(down: Down, out: &mut Output) {
        out.effect(Effect::RunnerDown { generation: down.generation, reason: down.reason });
        reply_gone(down.waiters, out);
    }

    /// The session is found in the middle of something: say what is known.
    pub(super) fn recover(&mut self, now: Timestamp, interruption: Interruption, out: &mut Output) {
        let interrupted = matches!(self.row.status, SessionStatus::Connecting | SessionStatus::Running | SessionStatus::WaitingApproval);
        for open in std::mem::take(&mut self.approvals) {
            let answered = open.row.state == ApprovalState::Answered;
            let why = if answered { "delivery unknown" } else { "the session was interrupted before anybody answered" };
            self.cancel_approval(now, open, why, out);
        }
        let note = interrupted.then(|| {
            let message = interruption.as_str().to_owned();
            self.log_core_error(now, Category::Bridge, interruption.context(), message, &Exit::default(), out);
            format!("{}. What had arrived is kept; the message was not sent again.", interruption.as_str())
        });
        let mut orphans = std::mem::take(&mut self.orphans);
        orphans.sort_by_key(|row| row.turn_index);
        let had_run = !orphans.is_empty() || matches!(self.row.status, SessionStatus::Running | SessionStatus::WaitingApproval);
        self.queue_becomes_pending(None, out);
        if had_run {
            // The run that was open is the one that ends.
            let mut run = Run::new(self.row.run, self.row.run_first_index, now);
            run.unsaved_text = true;
            run.messages = orphans.into_iter().map(Waiting::restored).collect();
            self.gate = Gate::Open(Box::new(run));
            self.close(now, Outcome { note, ..crashed(None) }, out);
        } else if let Some(note) = note {
            self.set_status(now, SessionStatus::Error);
            self.note(now, note, out);
        }
    }

    pub(super) fn log_core_error(&mut self, now: Timestamp, category: Category, context: &str, message: String, exit: &Exit, out: &mut Output) {
        let event = ErrorEvent {
            session_id: Some(self.row.id.clone()),
            message,
            category,
            severity: Severity::Error,
            retryable: true,
            hint: None,
            context: Some(context.to_owned()),
            traceback: None,
            source: Some("core".to_owned()),
            exit_code: exit.code,
            signal: exit.signal,
            stderr_tail: (!exit.stderr_tail.is_empty()).then(|| exit.stderr_tail.clone()),
            timestamp: Some(now.to_string()),
        };
        self.log_event(&event.into(), out);
    }
}

fn reply_gone(waiters: Vec<ReplyTo>, out: &mut Output) {
    for to in waiters {
        out.reply(Some(to), Ok(Reply::RunnerGone));
    }
}

/// The outcome of a run that died with its runner.
fn crashed(data: Option<RawJson>) -> Outcome {
    let exit = ExitReason { result: ExitResult::Unknown("CRASHED".to_owned()), data };
    Outcome { status: SessionStatus::Error, message: MessageState::Failed, exit, down: None, note: None }
}
