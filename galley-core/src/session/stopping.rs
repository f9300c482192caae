//! Stopping and killing: what they mean in each phase of the gate.

use super::output::{Effect, Output, Purpose, Reply, ReplyTo, Timer};
use super::state::{Gate, Hold, RunnerPhase, SessionState};
use crate::store::Change;
use crate::time::Timestamp;
use galley_protocol::ipc::{Abort, Command};
use galley_protocol::socket::{Dispatch, EndReason, MessageState, Origin, SessionStatus, StopDispatch, Visibility, Warning};

impl SessionState {
    pub(super) fn stop(&mut self, now: Timestamp, origin: &Origin, to: ReplyTo, out: &mut Output) {
        let dispatch = match &self.gate {
            Gate::Free => StopDispatch::AlreadyStopped,
            Gate::Reserved => {
                self.cancel_reserved(now, out);
                StopDispatch::AbortSent
            }
            Gate::Open(_) | Gate::Closing(..) => {
                self.abort(now, Hold::Hold, out);
                StopDispatch::AbortSent
            }
        };
        if dispatch == StopDispatch::AbortSent {
            self.audit(now, "stop", origin, out);
        }
        out.reply(Some(to), Ok(Reply::Stopped(dispatch)));
    }

    pub(super) fn kill(&mut self, now: Timestamp, origin: &Origin, to: ReplyTo, out: &mut Output) {
        if !matches!(self.runner, RunnerPhase::Down) {
            self.audit(now, "kill", origin, out);
        }
        self.end_runner(now, EndReason::SubprocessExited, Some(to), out);
    }

    /// Leaves a trace of who did something to the session, if they said who or why.
    pub(super) fn audit(&self, now: Timestamp, what: &str, origin: &Origin, out: &mut Output) {
        if origin.supervisor.is_some() || origin.reason.is_some() {
            let row = self.system_row(now, what.to_owned(), Visibility::Internal, Some(origin.clone()));
            out.change(Change::InsertMessage(Box::new(row)));
        }
    }

    /// Takes back the message that waits for its runner.
    pub(super) fn cancel_reserved(&mut self, now: Timestamp, out: &mut Output) {
        self.gate = Gate::Free;
        self.hold = true;
        self.set_status(now, SessionStatus::Cancelled);
        if let Some(mut waiting) = self.waiting.pop_front() {
            waiting.row.state = Some(MessageState::Cancelled);
            out.change(Change::SetMessageState { id: waiting.row.id.clone(), state: MessageState::Cancelled, run: None });
            self.reopen_question(&mut waiting);
            let warning = Warning { id: "stopped".to_owned(), message: "the message was stopped before the runner had it".to_owned(), detail: None };
            self.reply_message(&mut waiting, Dispatch::PersistedOnly, Some(warning), out);
        }
    }

    /// Asks the runner to stop the open run; the clock makes sure that it does. The last to ask
    /// decides about the queue.
    pub(super) fn abort(&mut self, now: Timestamp, hold: Hold, out: &mut Output) {
        let (Gate::Open(run) | Gate::Closing(run, _)) = &mut self.gate else { return };
        let first = run.abort.replace(hold).is_none();
        if !matches!(self.gate, Gate::Open(_)) {
            return;
        }
        if first {
            self.tell(Command::Abort(Abort {}), Purpose::None, out);
            out.effect(Effect::SetTimer { timer: Timer::Abort, after: self.limits.abort });
        }
        self.cancel_approvals(now, "the run was stopped", out);
    }
}
