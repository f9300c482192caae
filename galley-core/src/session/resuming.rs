//! Resuming: a session that was stopped, killed, evicted or never started gets a runner, and the
//! runner gets what waits for it.

use super::output::{Output, Reply, ReplyTo};
use super::state::{Asker, Form, Gate, RunnerPhase, SessionState};
use crate::error::{Error, StartCause};
use crate::time::Timestamp;
use galley_protocol::socket::{Dispatch, EndReason, MessageState, Resumed};

impl SessionState {
    pub(super) fn resume(&mut self, now: Timestamp, to: ReplyTo, out: &mut Output) {
        if let Some(error) = self.refusal() {
            return out.reply(Some(to), Err(error));
        }
        if matches!(&self.runner, RunnerPhase::Ending(ending) if ending.reason == EndReason::CoreShutdown) {
            return out.reply(Some(to), Err(Error::DbUnavailable("this Galley Core is shutting down".to_owned())));
        }
        self.lift_hold();
        let leaves = matches!(self.runner, RunnerPhase::Ending(_) | RunnerPhase::Down);
        if !matches!(self.gate, Gate::Free) && (!leaves || !self.waiting.is_empty()) {
            if leaves && !matches!(self.gate, Gate::Reserved) {
                // No longer for somebody to come: a runner follows the one that ends.
                self.line_up(out);
            }
            return self.reply_resumed(Dispatch::Queued, to, out);
        }
        let held = self.is_held();
        match self.waiting.front_mut() {
            Some(front) if !held => {
                front.askers.push(Asker { to, form: Form::Resumed });
                self.begin(now, out);
            }
            _ if matches!(self.runner, RunnerPhase::Up) => self.reply_resumed(Dispatch::Dispatched, to, out),
            _ => self.resumers.push(to),
        }
    }

    /// What was pending is queued again.
    fn line_up(&mut self, out: &mut Output) {
        for place in 0..self.waiting.len() {
            self.set_waiting_state(place, MessageState::Queued, out);
        }
    }

    fn reply_resumed(&self, dispatch: Dispatch, to: ReplyTo, out: &mut Output) {
        out.reply(Some(to), Ok(Reply::Resumed(Box::new(Resumed { session: self.brief(), dispatch }))));
    }

    /// A runner is wanted though no message waits for it.
    pub(super) fn start_for_resumers(&mut self, out: &mut Output) {
        if !self.resumers.is_empty() && matches!((&self.gate, &self.runner), (Gate::Free, RunnerPhase::Down)) {
            self.start_runner(out);
        }
    }

    /// The runner is up: that is all its resumers waited for.
    pub(super) fn answer_resumers(&mut self, out: &mut Output) {
        for to in std::mem::take(&mut self.resumers) {
            self.reply_resumed(Dispatch::Dispatched, to, out);
        }
    }

    /// The runner that was wanted does not come.
    pub(super) fn refuse_resumers(&mut self, error: &Error, out: &mut Output) {
        for to in std::mem::take(&mut self.resumers) {
            out.reply(Some(to), Err(error.clone()));
        }
    }

    /// Somebody ends the runner that is wanted.
    pub(super) fn disappoint_resumers(&mut self, out: &mut Output) {
        self.refuse_resumers(&Error::runner(StartCause::RunnerExited, "the runner was ended before it was up"), out);
    }
}
