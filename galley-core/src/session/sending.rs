//! Sending: where a message goes, and what the queue does.

use super::output::{Effect, Order, Output, Purpose, Reply, ReplyTo, Timer};
use super::state::{Asker, Delivered, Earlier, Form, Gate, Hold, NewMessage, Question, Recent, Run, RunnerPhase, SessionState, Stage, Waiting};
use crate::error::{Error, StartCause};
use crate::runner::Exit;
use crate::store::{Change, MessageRow};
use crate::time::Timestamp;
use galley_protocol::ipc::{AskUserResponse, Category, Command, UserMessage, is_side_question};
use galley_protocol::socket::{
    Dispatch, EndReason, IfBusy, MessageRole, MessageState, NewSession, QueuePosition, Resumed, SessionStatus, Submitted, Visibility, Warning,
};

/// How many recent `clientRequestId`s are remembered in memory; older ones are in the store.
const RECENT: usize = 32;

impl SessionState {
    pub(super) fn send(&mut self, now: Timestamp, mut message: NewMessage, asker: Asker, out: &mut Output) {
        let to = asker.to;
        if let Some(error) = self.refusal() {
            return out.reply(Some(to), Err(error));
        }
        if is_side_question(&message.content) {
            if asker.form == Form::Created {
                self.dirty = false;
                return out.reply(Some(to), Err(Error::invalid("a session cannot begin with a side question")));
            }
            if !message.images.is_empty() {
                return out.reply(Some(to), Err(Error::invalid("a side question takes no images")));
            }
            let question = UserMessage { text: message.content, ..UserMessage::default() };
            return self.direct(Command::UserMessage(question), to, out);
        }
        if self.is_repetition(message.client_request_id.as_deref(), to, out) {
            return;
        }
        let retries = message.retries.take();
        if let Some(earlier) = retries.as_ref().filter(|earlier| self.retried.contains(&earlier.id)) {
            return out.reply(Some(to), Err(Error::invalid(format!("message {} was sent again already", earlier.id))));
        }
        // What is sent again is what it was, no answer to a question that came since.
        let answers = self.row.ask.is_some() && retries.is_none();
        if !message.images.is_empty() {
            if self.takes_images() == Some(false) {
                return out.reply(Some(to), Err(no_images()));
            }
            if answers && self.row.ask.as_ref().is_some_and(|ask| ask.blocking) {
                let error = Error::invalid("the run waits for an answer in words; an answer to it takes no images");
                return out.reply(Some(to), Err(error));
            }
        }
        if message.if_busy == IfBusy::Reject && self.is_busy() && !answers {
            return out.reply(Some(to), Err(Error::Busy(format!("session {} is busy; send again with ifBusy queue or jump", self.row.id))));
        }
        // The queue waits for the answer: a full one must not keep it out.
        if self.waiting.len() >= self.limits.max_queued && !answers {
            return out.reply(Some(to), Err(Error::QueueFull { session_id: self.row.id.clone(), limit: self.limits.max_queued }));
        }
        let jump = message.if_busy == IfBusy::Jump;
        let stays = !self.gets_runner(message.spawn);
        if !stays {
            self.lift_hold();
        }
        if let Some(earlier) = retries {
            self.supersede(earlier, out);
        }
        let mut waiting = Waiting { askers: vec![asker], ..Waiting::restored(self.accept(now, message)) };
        self.remember(&waiting.row);
        if answers && let Some(ask) = self.row.ask.take() {
            let blocking = ask.blocking;
            waiting.answers = Some(Question { ask, asked_by: self.asked_by });
            if blocking && matches!(&self.gate, Gate::Open(run) if run.abort.is_none()) && matches!(self.runner, RunnerPhase::Up) {
                return self.answer_blocking(now, waiting, out);
            }
        }
        let free = matches!(self.gate, Gate::Free);
        let first = jump || answers || self.waiting.is_empty();
        waiting.row.state = Some(if stays || (free && first) { MessageState::Pending } else { MessageState::Queued });
        waiting.row.rank = self.rank(jump || answers);
        out.change(Change::InsertMessage(Box::new(waiting.row.clone())));
        let place = if jump || answers { 0 } else { self.waiting.len() };
        self.waiting.insert(place, waiting);
        if stays {
            self.reply_waiting(place, Dispatch::PersistedOnly, None, out);
        }
        if free && !stays {
            self.begin(now, out);
        } else if jump && matches!(self.gate, Gate::Open(_)) {
            self.abort(now, Hold::Drain, out);
        }
    }

    /// Whether a message that comes now meets a runner, or may have one started for it.
    fn gets_runner(&self, spawn: bool) -> bool {
        match &self.runner {
            RunnerPhase::Up | RunnerPhase::Starting(_) => true,
            RunnerPhase::Down => spawn,
            // No runner follows one that ended with Core.
            RunnerPhase::Ending(ending) => spawn && ending.reason != EndReason::CoreShutdown,
        }
    }

    /// A send ends the hold of the stop before it, also when that has not settled yet.
    pub(super) fn lift_hold(&mut self) {
        self.hold = false;
        if let Gate::Open(run) | Gate::Closing(run, _) = &mut self.gate
            && run.abort == Some(Hold::Hold)
        {
            run.abort = Some(Hold::Drain);
        }
    }

    /// Whoever is not next waits in line, and hears so as soon as it is true: while a runner is
    /// being started, nobody knows what will become of the line.
    pub(super) fn answer_those_in_line(&mut self, out: &mut Output) {
        if matches!(self.gate, Gate::Reserved) {
            return;
        }
        for place in 0..self.waiting.len() {
            if !self.waiting[place].askers.is_empty() {
                self.set_waiting_state(place, MessageState::Queued, out);
                self.reply_waiting(place, Dispatch::Queued, None, out);
            }
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
            attachments: message.images,
            ..self.system_row(now, String::new(), Visibility::Visible, None)
        }
    }

    /// A message that is taken back no longer answers the question it was for.
    pub(super) fn reopen_question(&mut self, taken_back: &mut Waiting) {
        if let Some(question) = taken_back.answers.take()
            && self.row.ask.is_none()
        {
            self.asked_by = question.asked_by;
            self.row.ask = Some(question.ask);
            self.dirty = true;
        }
    }

    /// A place at the front or at the end of the line.
    pub(super) fn rank(&self, front: bool) -> i64 {
        let ranks = self.waiting.iter().map(|waiting| waiting.row.rank);
        if front { ranks.min().map_or(0, |rank| rank - 1) } else { ranks.max().map_or(0, |rank| rank + 1) }
    }

    fn remember(&mut self, row: &MessageRow) {
        if let Some(request) = &row.client_request_id {
            if self.recent.len() == RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back(Recent { request: request.clone(), message: row.id.clone(), answer: None });
        }
    }

    /// A request made again has no second effect: its sender is told what was told before, or
    /// waits with the first.
    fn is_repetition(&mut self, request: Option<&str>, to: ReplyTo, out: &mut Output) -> bool {
        let Some(request) = request else { return false };
        let Some(recent) = self.recent.iter().find(|recent| recent.request == request) else { return false };
        if let Some(answer) = recent.answer.clone() {
            out.reply(Some(to), Ok(Reply::Submitted(Box::new(answer))));
            return true;
        }
        let running = match &mut self.gate {
            Gate::Open(run) | Gate::Closing(run, _) => &mut run.messages[..],
            Gate::Free | Gate::Reserved => &mut [],
        };
        match self.waiting.iter_mut().chain(running).find(|waiting| waiting.row.id == recent.message) {
            Some(waiting) => waiting.askers.push(Asker { to, form: Form::Submitted }),
            None => return false,
        }
        true
    }

    /// Something for the runner that is not kept: no row, no run.
    pub(super) fn direct(&mut self, command: Command, to: ReplyTo, out: &mut Output) {
        if matches!(self.runner, RunnerPhase::Up) {
            self.tell(command, Purpose::Direct { to }, out);
        } else {
            out.reply(Some(to), Err(Error::runner(StartCause::RunnerExited, "this needs a live runner, and the session has none")));
        }
    }

    /// The rows of an earlier turn make room for the same message again.
    fn supersede(&mut self, earlier: Earlier, out: &mut Output) {
        out.change(Change::SupersedeTurn { session_id: self.row.id.clone(), turn: earlier.turn });
        self.remembers_superseded |= matches!(self.runner, RunnerPhase::Up | RunnerPhase::Starting(Stage::History));
        if self.retried.len() == RECENT {
            self.retried.pop_front();
        }
        self.retried.push_back(earlier.id);
        if matches!(self.gate, Gate::Free) {
            // The question belonged to what is done over.
            self.row.ask = None;
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
        run.heard(now);
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

    /// The next message goes out, unless something holds the queue. Without a runner, only
    /// messages that came after the last one's end bring up another.
    pub(super) fn advance(&mut self, now: Timestamp, out: &mut Output) {
        if self.waiting.is_empty() || !matches!(self.gate, Gate::Free) || self.is_held() {
            return;
        }
        match self.runner {
            RunnerPhase::Up => self.dispatch(now, out),
            RunnerPhase::Down | RunnerPhase::Ending(_) if self.queued_count() > 0 => self.begin(now, out),
            _ => {}
        }
    }

    /// The line stands still until the next send: after a stop, or because its first message is no
    /// answer to the question that is open.
    pub(super) fn is_held(&self) -> bool {
        self.hold || (self.row.ask.is_some() && self.waiting.front().is_some_and(|front| front.answers.is_none()))
    }

    /// Opens a run with the first waiting message.
    pub(super) fn dispatch(&mut self, now: Timestamp, out: &mut Output) {
        if self.remembers_superseded {
            return self.renew_runner(now, out);
        }
        let Some(mut waiting) = self.waiting.pop_front() else { return };
        if !waiting.row.attachments.is_empty() && !self.abilities.images {
            return self.refuse_images(now, waiting, out);
        }
        let number = self.open_run(now, out);
        waiting.row.state = Some(MessageState::Dispatched);
        waiting.row.run = Some(number);
        out.change(Change::SetMessageState { id: waiting.row.id.clone(), state: MessageState::Dispatched, run: Some(number) });
        if waiting.answers.is_some() {
            self.row.ask = None;
        }
        // A fresh runner knows of no question: to it, the answer is a message like any other. So is
        // one with images, which `ask_user_response` has no place for.
        let asked = waiting.answers.as_ref().is_some_and(|question| question.asked_by == self.generation);
        let command = if asked && waiting.row.attachments.is_empty() { answer_to(&waiting.row) } else { Self::user_message(&waiting.row) };
        let id = waiting.row.id.clone();
        if let Gate::Open(run) = &mut self.gate {
            run.messages.push(waiting);
        }
        self.tell(command, Purpose::Message { id }, out);
    }

    /// Whether the runner takes images; `None` while there is none that has told.
    pub(super) fn takes_images(&self) -> Option<bool> {
        let told = matches!(self.runner, RunnerPhase::Up | RunnerPhase::Starting(Stage::Llm | Stage::History));
        told.then_some(self.abilities.images)
    }

    /// A message was accepted for a runner that takes images, and the one that came takes none: it
    /// is not sent without them.
    fn refuse_images(&mut self, now: Timestamp, mut message: Waiting, out: &mut Output) {
        message.row.state = Some(MessageState::Failed);
        out.change(Change::SetMessageState { id: message.row.id.clone(), state: MessageState::Failed, run: None });
        self.log_core_error(now, Category::Business, "images", no_images().to_string(), &Exit::default(), out);
        let warning = Warning { id: "images".to_owned(), message: no_images().to_string(), detail: None };
        self.reply_message(&mut message, Dispatch::PersistedOnly, Some(warning), out);
        self.reopen_question(&mut message);
        self.gate = Gate::Free;
        self.set_status(now, SessionStatus::Error);
        self.advance(now, out);
    }

    /// Numbers a new run and opens the gate.
    pub(super) fn open_run(&mut self, now: Timestamp, out: &mut Output) -> u64 {
        self.row.run += 1;
        self.row.run_first_index = self.last_index + 1;
        self.set_status(now, SessionStatus::Running);
        self.gate = Gate::Open(Box::new(Run::new(self.row.run, self.row.run_first_index, now)));
        out.effect(Effect::SetTimer { timer: Timer::Stall, after: self.limits.stall });
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
            Purpose::Direct { to } => out.reply(
                Some(to),
                match outcome {
                    Delivered::No => Err(Error::runner(StartCause::PipeUnavailable, "the runner did not take it")),
                    _ => Ok(Reply::Told),
                },
            ),
            Purpose::Model { to } => self.model_delivered(outcome, to, out),
            Purpose::Message { id } => {
                if current {
                    self.message_delivered(now, &id, outcome, out);
                }
            }
        }
    }

    fn message_delivered(&mut self, now: Timestamp, id: &str, outcome: Delivered, out: &mut Output) {
        let Gate::Open(run) = &mut self.gate else { return };
        let Some(place) = run.messages.iter().position(|message| message.row.id == id) else { return };
        // The runner announces nothing it has not got: it is the opener of a run that never began.
        let opened_run = run.messages.len() == 1 && !run.started && run.abort.is_none();
        let mut message = run.messages.remove(place);
        if outcome == Delivered::No && opened_run {
            self.take_back(now, message, out);
            return self.drop_runner(out);
        }
        // Told or not, it stays with its run. One whose runner is lost is settled by the exit.
        if outcome == Delivered::No {
            self.reply_message(&mut message, Dispatch::PersistedOnly, Some(not_taken()), out);
            self.drop_runner(out);
            self.queue_becomes_pending(None, out);
        } else {
            self.reply_message(&mut message, Dispatch::Dispatched, None, out);
        }
        if let Gate::Open(run) = &mut self.gate {
            run.messages.insert(place, message);
        }
    }

    /// A message that could not be handed over opened no run: one fresh runner gets it, once.
    fn take_back(&mut self, now: Timestamp, mut message: Waiting, out: &mut Output) {
        out.change(Change::SetMessageState { id: message.row.id.clone(), state: MessageState::Pending, run: None });
        self.cancel_approvals(now, "the run did not begin", out);
        clear_run_timers(out);
        message.row.state = Some(MessageState::Pending);
        message.row.run = None;
        // Whatever has jumped ahead meanwhile, this one is still the next.
        message.row.rank = self.rank(true).min(message.row.rank);
        out.change(Change::SetMessageRank { id: message.row.id.clone(), rank: message.row.rank });
        let again = !std::mem::replace(&mut message.retried, true);
        self.waiting.push_front(message);
        if again {
            self.gate = Gate::Reserved;
            self.set_status(now, SessionStatus::Connecting);
        } else {
            self.gate = Gate::Free;
            self.set_status(now, SessionStatus::Error);
            self.queue_becomes_pending(Some(&not_taken()), out);
        }
    }

    /// Without a runner nobody drains the queue: what waits is pending until one comes up.
    pub(super) fn queue_becomes_pending(&mut self, warning: Option<&Warning>, out: &mut Output) {
        for place in 0..self.waiting.len() {
            self.set_waiting_state(place, MessageState::Pending, out);
            self.reply_waiting(place, Dispatch::PersistedOnly, warning.cloned(), out);
        }
    }

    pub(super) fn set_waiting_state(&mut self, place: usize, state: MessageState, out: &mut Output) {
        let row = &mut self.waiting[place].row;
        if row.state.as_ref() != Some(&state) {
            out.change(Change::SetMessageState { id: row.id.clone(), state: state.clone(), run: None });
            row.state = Some(state);
        }
    }

    fn reply_waiting(&mut self, place: usize, dispatch: Dispatch, warning: Option<Warning>, out: &mut Output) {
        let Some(mut waiting) = self.waiting.remove(place) else { return };
        self.reply_at(&mut waiting, Some(place), dispatch, warning, out);
        self.waiting.insert(place, waiting);
    }

    /// Tells whoever sent a message that is not in line what became of it.
    pub(super) fn reply_message(&mut self, message: &mut Waiting, dispatch: Dispatch, warning: Option<Warning>, out: &mut Output) {
        self.reply_at(message, None, dispatch, warning, out);
    }

    /// Keeps what a sender was told, for the case that the request is made again.
    pub(super) fn note_answer(&mut self, message: &str, answer: &Submitted) {
        if let Some(recent) = self.recent.iter_mut().find(|recent| recent.message == message) {
            recent.answer = Some(answer.clone());
        }
    }

    fn reply_at(&mut self, message: &mut Waiting, place: Option<usize>, dispatch: Dispatch, warning: Option<Warning>, out: &mut Output) {
        if message.askers.is_empty() {
            return;
        }
        let queue = place.filter(|_| dispatch == Dispatch::Queued).map(|place| QueuePosition { position: place as u32 + 1 });
        let submitted = Submitted { message: Some(message.row.clone().into_brief()), dispatch, queue, warning };
        if message.askers.iter().any(|asker| asker.form != Form::Resumed) {
            self.note_answer(&message.row.id, &submitted);
        }
        for asker in std::mem::take(&mut message.askers) {
            let Submitted { dispatch, warning, .. } = submitted.clone();
            let reply = match asker.form {
                Form::Submitted => Reply::Submitted(Box::new(submitted.clone())),
                Form::Created => {
                    Reply::Created(Box::new(NewSession { session: self.brief(), message: message.row.clone().into_brief(), dispatch, warning }))
                }
                Form::Resumed => Reply::Resumed(Box::new(Resumed { session: self.brief(), dispatch })),
            };
            out.reply(Some(asker.to), Ok(reply));
        }
    }

    /// Loads the conversation into a runner; into a fresh one only if there is something to load.
    pub(super) fn order_history(&self, replaces: bool, out: &mut Output) {
        let exclude = self.waiting.front().map(|waiting| waiting.row.id.clone());
        self.order(Order::History { exclude, replaces }, out);
    }
}

/// What a sender is told whose request was made before.
pub fn submitted_again(state: Option<&MessageState>) -> Dispatch {
    match state {
        Some(MessageState::Queued) => Dispatch::Queued,
        Some(MessageState::Pending) => Dispatch::PersistedOnly,
        _ => Dispatch::Dispatched,
    }
}

/// The clocks of a run stop with it.
pub(super) fn clear_run_timers(out: &mut Output) {
    for timer in [Timer::Abort, Timer::RunComplete, Timer::Stall] {
        out.effect(Effect::ClearTimer(timer));
    }
}

fn no_images() -> Error {
    Error::invalid("the session's runner takes no images")
}

fn not_taken() -> Warning {
    let message = "the runner did not take the message".to_owned();
    Warning { id: StartCause::PipeUnavailable.as_str().to_owned(), message, detail: None }
}

fn answer_to(row: &MessageRow) -> Command {
    Command::AskUserResponse(AskUserResponse { text: row.content.clone(), absolute_turn_index: row.turn_index })
}
