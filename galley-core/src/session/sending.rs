//! Sending: where a message goes, and what the queue does.

use super::output::{Effect, Order, Output, Purpose, Reply, ReplyTo, Timer};
use super::state::{Delivered, Gate, Hold, NewMessage, Run, RunnerPhase, SessionState, Waiting};
use crate::error::{Error, StartCause};
use crate::store::{Change, MessageRow};
use crate::time::Timestamp;
use galley_protocol::ipc::{Abort, AskUserResponse, Command, is_side_question};
use galley_protocol::socket::{
    Dispatch, IfBusy, MessageRole, MessageState, NewSession, Origin, QueuePosition, SessionStatus, StopDispatch, Submitted, Visibility, Warning,
};

impl SessionState {
    pub(super) fn send(&mut self, now: Timestamp, message: NewMessage, to: ReplyTo, creates: bool, out: &mut Output) {
        if self.row.status == SessionStatus::Archived {
            let error = Error::invalid(format!("session {} is archived; restore it first", self.row.id));
            return out.reply(Some(to), Err(error));
        }
        if is_side_question(&message.content) {
            return self.side_question(&message.content, to, out);
        }
        if let Some(known) = self.known_request(message.client_request_id.as_deref()) {
            return out.reply(Some(to), Ok(Reply::Submitted(Box::new(submitted_again(&known)))));
        }
        let answers = self.row.ask.is_some() && !self.waiting.iter().any(|waiting| waiting.answers);
        if message.if_busy == IfBusy::Reject && self.is_busy() && !answers {
            return out.reply(Some(to), Err(Error::Busy(format!("session {} is busy; send again with ifBusy queue or jump", self.row.id))));
        }
        if self.waiting.len() >= self.limits.max_queued {
            return out.reply(Some(to), Err(Error::QueueFull { session_id: self.row.id.clone(), limit: self.limits.max_queued }));
        }
        let jump = message.if_busy == IfBusy::Jump;
        let spawn = message.spawn;
        let mut waiting = Waiting { row: self.accept(now, message), reply: Some(to), creates, answers, retried: false };
        self.hold = false;

        if answers && matches!(&self.gate, Gate::Open(_)) && self.row.ask.as_ref().is_some_and(|ask| ask.blocking) {
            return self.answer_blocking(now, waiting, out);
        }
        let free = matches!(self.gate, Gate::Free);
        let at_once = free && (self.waiting.is_empty() || answers);
        let no_runner = !spawn && matches!(self.runner, RunnerPhase::Down | RunnerPhase::Ending(_));
        waiting.row.state = Some(if at_once || (free && no_runner) { MessageState::Pending } else { MessageState::Queued });
        waiting.row.rank = self.rank(jump || answers);
        self.remember(&waiting.row);
        out.change(Change::InsertMessage(Box::new(waiting.row.clone())));
        if jump || answers {
            self.waiting.push_front(waiting);
        } else {
            self.waiting.push_back(waiting);
        }
        let place = if jump || answers { 0 } else { self.waiting.len() - 1 };
        if free && no_runner {
            return self.reply_waiting(place, Dispatch::PersistedOnly, None, out);
        }
        if !at_once {
            self.reply_waiting(place, Dispatch::Queued, None, out);
        }
        if free {
            self.begin(now, out);
        } else if jump && matches!(self.gate, Gate::Open(_)) {
            self.abort(Hold::Drain, out);
        }
    }

    /// Makes the row of an accepted user message and counts its turn.
    fn accept(&mut self, now: Timestamp, message: NewMessage) -> MessageRow {
        let turn = self.row.turn_count;
        self.row.turn_count += 1;
        self.touch(now);
        MessageRow {
            id: message.id,
            role: MessageRole::User,
            content: message.content,
            turn_index: Some(turn),
            run: None,
            origin: Some(message.origin),
            client_request_id: message.client_request_id,
            ..self.system_row(now, String::new(), Visibility::Visible, None)
        }
    }

    /// A place at the front or at the end of the line.
    fn rank(&self, front: bool) -> i64 {
        let ranks = self.waiting.iter().map(|waiting| waiting.row.rank);
        if front { ranks.min().map_or(0, |rank| rank - 1) } else { ranks.max().map_or(0, |rank| rank + 1) }
    }

    fn known_request(&self, id: Option<&str>) -> Option<MessageRow> {
        let id = id?;
        let known = self.recent.iter().rev().find(|row| row.client_request_id.as_deref() == Some(id))?;
        let open = self.waiting.iter().map(|waiting| &waiting.row).find(|row| row.id == known.id);
        Some(open.unwrap_or(known).clone())
    }

    fn side_question(&mut self, content: &str, to: ReplyTo, out: &mut Output) {
        if matches!(self.runner, RunnerPhase::Up) {
            self.tell(Self::user_message(content, None), Purpose::SideQuestion { to }, out);
        } else {
            out.reply(Some(to), Err(Error::runner(StartCause::RunnerExited, "a side question needs a live runner, and there is none")));
        }
    }

    /// The run waits for this answer: it goes to the runner at once and belongs to the run.
    fn answer_blocking(&mut self, now: Timestamp, mut waiting: Waiting, out: &mut Output) {
        let Gate::Open(run) = &mut self.gate else { return };
        waiting.row.state = Some(MessageState::Dispatched);
        waiting.row.run = Some(run.number);
        out.change(Change::InsertMessage(Box::new(waiting.row.clone())));
        let command = answer_to(&waiting.row);
        let id = waiting.row.id.clone();
        run.messages.push(waiting);
        self.row.ask = None;
        self.set_status(now, SessionStatus::Running);
        self.tell(command, Purpose::Message { id }, out);
    }

    /// Hands out the first waiting message, or gets a runner for it.
    pub(super) fn begin(&mut self, now: Timestamp, out: &mut Output) {
        if matches!(self.runner, RunnerPhase::Up) {
            return self.dispatch(now, out);
        }
        self.gate = Gate::Reserved;
        self.set_status(now, SessionStatus::Connecting);
        if matches!(self.runner, RunnerPhase::Down) {
            self.start_runner(out);
        }
    }

    /// After a settlement: the next message goes out, unless something holds the queue.
    pub(super) fn advance(&mut self, now: Timestamp, out: &mut Output) {
        let Some(front) = self.waiting.front() else { return };
        let held = self.hold || (self.row.ask.is_some() && !front.answers);
        if matches!(self.gate, Gate::Free) && matches!(self.runner, RunnerPhase::Up) && !held {
            self.dispatch(now, out);
        }
    }

    /// Opens a run with the first waiting message.
    pub(super) fn dispatch(&mut self, now: Timestamp, out: &mut Output) {
        let Some(mut waiting) = self.waiting.pop_front() else {
            self.gate = Gate::Free;
            return;
        };
        let run = self.open_run(now);
        waiting.row.state = Some(MessageState::Dispatched);
        waiting.row.run = Some(run);
        out.change(Change::SetMessageState { id: waiting.row.id.clone(), state: MessageState::Dispatched, run: Some(run) });
        let answers_live_question = waiting.answers && self.asked_by == self.generation;
        if waiting.answers {
            self.row.ask = None;
        }
        let command = if answers_live_question { answer_to(&waiting.row) } else { Self::user_message(&waiting.row.content, waiting.row.turn_index) };
        let id = waiting.row.id.clone();
        if let Gate::Open(run) = &mut self.gate {
            run.messages.push(waiting);
        }
        self.tell(command, Purpose::Message { id }, out);
        out.effect(Effect::SetTimer { timer: Timer::Stall, after: self.limits.stall });
        // Whoever was promised to be next and was overtaken waits in line now.
        for place in 0..self.waiting.len() {
            if self.waiting[place].reply.is_some() {
                self.set_waiting_state(place, MessageState::Queued, out);
                self.reply_waiting(place, Dispatch::Queued, None, out);
            }
        }
    }

    /// Numbers a new run and opens the gate.
    pub(super) fn open_run(&mut self, now: Timestamp) -> u64 {
        self.row.run += 1;
        self.row.run_first_index = self.last_index + 1;
        self.set_status(now, SessionStatus::Running);
        self.gate = Gate::Open(Box::new(Run {
            number: self.row.run,
            first_index: self.row.run_first_index,
            messages: Vec::new(),
            started: false,
            unsaved_text: false,
            steps: Vec::new(),
            last_row: None,
            errored: false,
            exit: None,
            abort: None,
            last_activity: now,
            stalled: false,
        }));
        self.row.run
    }

    pub(super) fn delivered(&mut self, now: Timestamp, generation: u64, purpose: Purpose, outcome: Delivered, out: &mut Output) {
        let current = generation == self.generation;
        match purpose {
            Purpose::None => {}
            Purpose::History => {
                if current {
                    self.history_delivered(now, outcome, out);
                }
            }
            Purpose::Approval { id } => self.approval_delivered(now, &id, outcome, out),
            Purpose::SideQuestion { to } => out.reply(
                Some(to),
                match outcome {
                    Delivered::No => Err(Error::runner(StartCause::PipeUnavailable, "the runner did not take the side question")),
                    _ => Ok(Reply::Submitted(Box::new(Submitted { message: None, dispatch: Dispatch::Dispatched, queue: None, warning: None }))),
                },
            ),
            Purpose::Message { id } => self.message_delivered(now, current, &id, outcome, out),
        }
    }

    fn message_delivered(&mut self, now: Timestamp, current: bool, id: &str, outcome: Delivered, out: &mut Output) {
        let Gate::Open(run) = &mut self.gate else { return };
        let Some(place) = run.messages.iter().position(|message| message.row.id == id) else { return };
        if outcome != Delivered::No {
            let (reply, creates, row) = {
                let message = &mut run.messages[place];
                (message.reply.take(), message.creates, message.row.clone())
            };
            return self.reply_message(reply, creates, &row, Dispatch::Dispatched, None, out);
        }
        let untouched = place == 0 && !run.started && run.steps.is_empty() && !run.unsaved_text && run.abort.is_none();
        if !untouched || !current {
            // The run goes the way of its runner, which is being killed.
            return;
        }
        let mut message = run.messages.remove(0);
        message.row.state = Some(MessageState::Pending);
        message.row.run = None;
        out.change(Change::SetMessageState { id: id.to_owned(), state: MessageState::Pending, run: None });
        out.effect(Effect::ClearTimer(Timer::Stall));
        let again = !message.retried;
        message.retried = true;
        self.waiting.push_front(message);
        if again {
            // Nothing of it was read: one fresh runner gets it.
            self.gate = Gate::Reserved;
            self.set_status(now, SessionStatus::Connecting);
        } else {
            self.gate = Gate::Free;
            self.set_status(now, SessionStatus::Error);
            let warning = warning(StartCause::PipeUnavailable, "the runner did not take the message");
            self.reply_waiting(0, Dispatch::PersistedOnly, Some(warning), out);
        }
        self.drop_runner(out);
    }

    pub(super) fn stop(&mut self, now: Timestamp, origin: &Origin, to: ReplyTo, out: &mut Output) {
        let dispatch = match &self.gate {
            Gate::Free => StopDispatch::AlreadyStopped,
            Gate::Closing(..) => StopDispatch::AbortSent,
            Gate::Reserved => {
                self.cancel_reserved(now, out);
                StopDispatch::AbortSent
            }
            Gate::Open(_) => {
                self.abort(Hold::Hold, out);
                self.cancel_approvals(now, "the run was stopped", out);
                StopDispatch::AbortSent
            }
        };
        if dispatch == StopDispatch::AbortSent && (origin.supervisor.is_some() || origin.reason.is_some()) {
            let row = self.system_row(now, "stop".to_owned(), Visibility::Internal, Some(origin.clone()));
            out.change(Change::InsertMessage(Box::new(row)));
        }
        out.reply(Some(to), Ok(Reply::Stopped(dispatch)));
    }

    /// Takes back the message that waits for its runner.
    pub(super) fn cancel_reserved(&mut self, now: Timestamp, out: &mut Output) {
        self.gate = Gate::Free;
        self.hold = true;
        self.set_status(now, SessionStatus::Cancelled);
        if let Some(mut waiting) = self.waiting.pop_front() {
            waiting.row.state = Some(MessageState::Cancelled);
            out.change(Change::SetMessageState { id: waiting.row.id.clone(), state: MessageState::Cancelled, run: None });
            let warning = Warning { id: "stopped".to_owned(), message: "the message was stopped before the runner had it".to_owned(), detail: None };
            self.reply_message(waiting.reply, waiting.creates, &waiting.row, Dispatch::PersistedOnly, Some(warning), out);
        }
    }

    /// Asks the runner to stop the open run; the clock makes sure that it does.
    pub(super) fn abort(&mut self, hold: Hold, out: &mut Output) {
        let Gate::Open(run) = &mut self.gate else { return };
        let first = run.abort.is_none();
        // A stop is stronger than a jump.
        run.abort = Some(if run.abort == Some(Hold::Hold) { Hold::Hold } else { hold });
        if first {
            self.tell(Command::Abort(Abort {}), Purpose::None, out);
            out.effect(Effect::SetTimer { timer: Timer::Abort, after: self.limits.abort });
        }
    }

    /// Without a runner nobody drains the queue: what waits is pending until one comes up.
    pub(super) fn queue_becomes_pending(&mut self, warning: Option<&Warning>, out: &mut Output) {
        for place in 0..self.waiting.len() {
            self.set_waiting_state(place, MessageState::Pending, out);
            self.waiting[place].answers &= self.row.ask.is_some();
            self.reply_waiting(place, Dispatch::PersistedOnly, warning.cloned(), out);
        }
    }

    fn set_waiting_state(&mut self, place: usize, state: MessageState, out: &mut Output) {
        let row = &mut self.waiting[place].row;
        if row.state.as_ref() != Some(&state) {
            out.change(Change::SetMessageState { id: row.id.clone(), state: state.clone(), run: None });
            row.state = Some(state);
        }
    }

    fn reply_waiting(&mut self, place: usize, dispatch: Dispatch, warning: Option<Warning>, out: &mut Output) {
        let waiting = &mut self.waiting[place];
        let (reply, creates, row) = (waiting.reply.take(), waiting.creates, waiting.row.clone());
        self.reply_message(reply, creates, &row, dispatch, warning, out);
    }

    /// Tells a sender what became of the message.
    pub(super) fn reply_message(
        &self,
        reply: Option<ReplyTo>,
        creates: bool,
        row: &MessageRow,
        dispatch: Dispatch,
        warning: Option<Warning>,
        out: &mut Output,
    ) {
        let Some(to) = reply else { return };
        let message = row.clone().into_brief();
        let result = if creates {
            Reply::Created(Box::new(NewSession { session: self.brief(), message, dispatch, warning }))
        } else {
            let place = self.waiting.iter().position(|waiting| waiting.row.id == row.id);
            let queue = place.filter(|_| dispatch == Dispatch::Queued).map(|place| QueuePosition { position: place as u32 + 1 });
            Reply::Submitted(Box::new(Submitted { message: Some(message), dispatch, queue, warning }))
        };
        out.reply(Some(to), Ok(result));
    }

    /// Loads the conversation into a fresh runner, if there is one to load.
    pub(super) fn order_history(&self, out: &mut Output) {
        let exclude = self.waiting.front().map(|waiting| waiting.row.id.clone());
        self.order(Order::History { exclude }, out);
    }
}

/// The answer to a request that was made before.
pub fn submitted_again(row: &MessageRow) -> Submitted {
    let dispatch = match row.state {
        Some(MessageState::Queued) => Dispatch::Queued,
        Some(MessageState::Pending) => Dispatch::PersistedOnly,
        _ => Dispatch::Dispatched,
    };
    Submitted { message: Some(row.clone().into_brief()), dispatch, queue: None, warning: None }
}

pub(super) fn warning(cause: StartCause, message: &str) -> Warning {
    Warning { id: cause.as_str().to_owned(), message: message.to_owned(), detail: None }
}

fn answer_to(row: &MessageRow) -> Command {
    Command::AskUserResponse(AskUserResponse { text: row.content.clone(), absolute_turn_index: row.turn_index })
}
