//! A session with everything around it modelled: clock, store, runner, callers. Every input is a
//! batch of its own, and after each the invariants of [`Session::check`] hold.

use super::*;
use crate::error::{Error, StartCause};
use crate::runner::Exit;
use crate::session::event::admit;
use crate::session::output::Output;
use crate::store::{ApprovalRow, Change, MessageRow, Rule, SessionRow, SessionSnapshot};
use crate::time::Timestamp;
use bytes::Bytes;
use galley_protocol::ipc::{Command, Decision, Llm};
use galley_protocol::socket::{ApprovalMode, ArchiveIfBusy, IfBusy, LlmDispatch, Origin, RuntimeKind, SessionBrief, Submitted, Via};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub const ID: &str = "sess_0a";

/// What a test waits for: a caller's token.
pub type Token = u64;

pub struct Session {
    pub state: SessionState,
    /// Milliseconds of the fake clock.
    pub now: i64,
    /// The store: the session's row, messages in order of insertion, the rest by id.
    pub row: Option<SessionRow>,
    pub messages: Vec<MessageRow>,
    pub approvals: BTreeMap<String, ApprovalRow>,
    pub rules: Vec<Rule>,
    pub settings: BTreeMap<String, Option<String>>,
    /// The log: run and line of every event, from index 1.
    pub log: Vec<(u64, Value)>,
    /// Approvals that were asked for, and that were resolved.
    pub asked: usize,
    pub resolved: usize,
    /// Everything said to runners, and what is not acknowledged yet.
    pub told: Vec<(u64, Order)>,
    pub in_flight: VecDeque<(u64, Purpose)>,
    pub replies: BTreeMap<Token, Result<Reply, Error>>,
    /// Callers that wait.
    pub owed: BTreeSet<Token>,
    pub timers: BTreeMap<Timer, i64>,
    /// Runners asked for, killed, up and down again.
    pub starts: Vec<u64>,
    pub kills: Vec<u64>,
    pub ups: Vec<u64>,
    pub downs: Vec<(u64, EndReason)>,
    pub rules_changed: Vec<String>,
    /// Every stream has ended, and why.
    pub closed: Option<EndReason>,
    pub deleted: bool,
    pub forgotten: bool,
    /// The run's text is being read back.
    pub collecting: bool,
    /// The runner that exists or is being made.
    pub live: Option<u64>,
    /// It is there.
    pub exists: bool,
    /// Messages the runner has or may have.
    pub handed_over: BTreeSet<String>,
    /// Pairs of a gate and an input that occurred.
    pub covered: BTreeSet<(&'static str, &'static str)>,
    next: u64,
}

/// An ordinary caller.
pub fn origin() -> Origin {
    Origin { via: Via::Cli, supervisor: None, reason: None }
}

/// A start failure's cause and message.
pub fn failed(result: &Result<Reply, Error>) -> (StartCause, &str) {
    match result {
        Err(Error::Runner { cause, message, .. }) => (*cause, message),
        other => panic!("no runner error: {other:?}"),
    }
}

/// One of two models; the first is the current one.
pub fn model(index: u32) -> Llm {
    Llm { index, name: format!("m{index}"), display_name: format!("Model {index}"), key: Some(format!("k{index}")), is_current: index == 0 }
}

fn session_row() -> SessionRow {
    let at = Timestamp::from_millis(1_000);
    SessionRow {
        id: ID.to_owned(),
        project_id: None,
        title: "t".to_owned(),
        status: SessionStatus::Idle,
        summary: None,
        turn_count: 0,
        last_activity_at: at,
        created_at: at,
        updated_at: at,
        pinned: None,
        has_unread: None,
        origin: None,
        llm: None,
        llm_index: None,
        runtime_kind: RuntimeKind::External,
        runtime_label: "mock".to_owned(),
        runtime_id: "mock".to_owned(),
        prompt_profile: None,
        approval_mode: None,
        last_exit: None,
        ask: None,
        cwd: None,
        run: 0,
        run_first_index: 0,
    }
}

impl Session {
    /// A session that exists and has never run.
    pub fn new() -> Self {
        Self::with(|_| {}, Limits::default(), ApprovalMode::Ask)
    }

    pub fn with(change: impl FnOnce(&mut SessionRow), limits: Limits, default_mode: ApprovalMode) -> Self {
        let mut row = session_row();
        change(&mut row);
        Self {
            state: SessionState::new(row, limits, default_mode),
            now: 1_000,
            row: None,
            messages: Vec::new(),
            approvals: BTreeMap::new(),
            rules: Vec::new(),
            settings: BTreeMap::new(),
            log: Vec::new(),
            asked: 0,
            resolved: 0,
            told: Vec::new(),
            in_flight: VecDeque::new(),
            replies: BTreeMap::new(),
            owed: BTreeSet::new(),
            timers: BTreeMap::new(),
            starts: Vec::new(),
            kills: Vec::new(),
            ups: Vec::new(),
            downs: Vec::new(),
            rules_changed: Vec::new(),
            closed: None,
            deleted: false,
            forgotten: false,
            collecting: false,
            live: None,
            exists: false,
            handed_over: BTreeSet::new(),
            covered: BTreeSet::new(),
            next: 0,
        }
    }

    /// A session whose runner is up and idle, after a first run.
    pub fn idle() -> Self {
        let mut session = Self::new();
        session.send("first");
        session.up();
        session.answer("done");
        session.told.clear();
        session
    }

    /// A session with an open run, announced and acknowledged.
    pub fn running() -> Self {
        let mut session = Self::idle();
        session.send("work");
        session.deliver_all();
        session.line(json!({"kind":"turn_start","turnIndex":1}));
        session.told.clear();
        session
    }

    pub fn token(&mut self) -> Token {
        self.next += 1;
        self.owed.insert(self.next);
        self.next
    }

    // Inputs.

    pub fn apply(&mut self, input: Input) {
        self.covered.insert((gate_name(&self.state.gate), input_name(&input)));
        let now = Timestamp::from_millis(self.now);
        let mut out = Output::default();
        self.state.apply(now, input, &mut out);
        let (changes, _, effects) = self.state.finish(now, out);
        for change in changes {
            self.commit(change);
        }
        for effect in effects {
            self.perform(effect);
        }
        self.check();
    }

    pub fn send(&mut self, text: &str) -> Token {
        self.send_with(text, |_| {})
    }

    pub fn send_with(&mut self, text: &str, change: impl FnOnce(&mut NewMessage)) -> Token {
        let (message, to) = self.message(text, change);
        self.apply(Input::Send { message, to: ReplyTo(to) });
        to
    }

    pub fn create(&mut self, text: &str) -> Token {
        let (message, to) = self.message(text, |_| {});
        self.apply(Input::Create { message, to: ReplyTo(to) });
        to
    }

    fn message(&mut self, text: &str, change: impl FnOnce(&mut NewMessage)) -> (NewMessage, Token) {
        let to = self.token();
        let mut message = NewMessage {
            id: format!("m{to}"),
            content: text.to_owned(),
            origin: origin(),
            if_busy: IfBusy::Queue,
            spawn: true,
            client_request_id: None,
            retries: None,
        };
        change(&mut message);
        (message, to)
    }

    pub fn jump(&mut self, text: &str) -> Token {
        self.send_with(text, |message| message.if_busy = IfBusy::Jump)
    }

    pub fn stop(&mut self) -> Token {
        let to = self.token();
        self.apply(Input::Stop { origin: origin(), to: ReplyTo(to) });
        to
    }

    pub fn kill(&mut self) -> Token {
        self.ask(|to| Input::Kill { origin: origin(), to })
    }

    pub fn resume(&mut self) -> Token {
        self.ask(|to| Input::Resume { to })
    }

    pub fn archive(&mut self) -> Token {
        self.ask(|to| Input::Archive { if_busy: ArchiveIfBusy::Stop, origin: origin(), to })
    }

    pub fn unarchive(&mut self) -> Token {
        self.ask(|to| Input::Restore { origin: origin(), to })
    }

    pub fn delete(&mut self) -> Token {
        self.ask(|to| Input::Delete { to })
    }

    /// Changes the place or the text of the message that `token` sent.
    pub fn edit(&mut self, token: Token, edit: QueueEdit) -> Token {
        let message = format!("m{token}");
        self.ask(|to| Input::EditQueue { message, edit, to })
    }

    /// Sends again what `token` sent.
    pub fn retry(&mut self, token: Token) -> Token {
        let row = self.message_row(token);
        let (text, earlier) = (row.content.clone(), Earlier { id: row.id.clone(), turn: row.turn_index.expect("a turn") });
        self.send_with(&text, |message| message.retries = Some(earlier))
    }

    /// Chooses a model by its place in a list of two.
    pub fn set_llm(&mut self, index: u32) -> Token {
        self.ask(|to| Input::SetLlm { llm: model(index), to })
    }

    /// An input that somebody waits for.
    pub fn ask(&mut self, input: impl FnOnce(ReplyTo) -> Input) -> Token {
        let to = self.token();
        self.apply(input(ReplyTo(to)));
        to
    }

    pub fn end(&mut self, reason: EndReason) -> Token {
        let to = self.token();
        self.apply(Input::EndRunner { reason, to: Some(ReplyTo(to)) });
        to
    }

    pub fn respond(&mut self, id: &str, decision: Decision) -> Token {
        self.respond_as(id, decision, origin())
    }

    pub fn respond_as(&mut self, id: &str, decision: Decision, origin: Origin) -> Token {
        let to = self.token();
        self.apply(Input::Respond { id: id.to_owned(), decision, origin, to: ReplyTo(to) });
        to
    }

    /// The current runner writes a line.
    pub fn line(&mut self, line: Value) {
        self.line_of(self.state.generation, line);
    }

    pub fn line_of(&mut self, generation: u64, line: Value) {
        self.raw_line_of(generation, &line.to_string());
    }

    pub fn raw_line(&mut self, line: &str) {
        self.raw_line_of(self.state.generation, line);
    }

    pub fn raw_line_of(&mut self, generation: u64, line: &str) {
        let line = admit(ID, Bytes::from(line.to_owned()));
        self.apply(Input::Line { generation, line });
    }

    /// Makes sure that the line has room.
    pub fn make_room(&mut self) {
        self.state.limits.max_queued = 100;
    }

    pub fn started(&mut self) {
        self.exists = true;
        self.apply(Input::Started { generation: self.state.generation, result: Ok(Some(4_242)) });
    }

    pub fn not_started(&mut self, cause: StartCause) {
        self.live = None;
        self.apply(Input::Started { generation: self.state.generation, result: Err(Error::runner(cause, "no such program")) });
    }

    pub fn ready(&mut self) {
        self.line(json!({"kind":"ready","protocolVersion":"0.1","availableLLMs":[]}));
    }

    /// A runner with two models is up and idle.
    pub fn idle_with_models() -> Self {
        let mut session = Self::new();
        session.send("first");
        session.started();
        session.line(json!({"kind":"ready","protocolVersion":"0.1","availableLLMs":[model(0), model(1)]}));
        session.deliver_all();
        session.answer("done");
        session.told.clear();
        session
    }

    /// Brings the runner up: started, ready, set up, told what waited for it.
    pub fn up(&mut self) {
        self.started();
        self.ready();
        self.deliver_all();
        if !matches!(self.state.runner, RunnerPhase::Up) {
            self.line(json!({"kind":"history_loaded","messageCount":2}));
        }
        self.deliver_all();
        assert!(matches!(self.state.runner, RunnerPhase::Up));
    }

    pub fn deliver(&mut self, outcome: Delivered) {
        let Some((generation, purpose)) = self.in_flight.pop_front() else { return };
        if let (Purpose::Message { id }, Delivered::No) = (&purpose, outcome) {
            self.handed_over.remove(id);
        }
        self.apply(Input::Delivered { generation, purpose, outcome });
    }

    pub fn deliver_all(&mut self) {
        while !self.in_flight.is_empty() {
            self.deliver(Delivered::Yes);
        }
    }

    /// Nothing that is in flight reaches the runner.
    pub fn refuse_all(&mut self) {
        while !self.in_flight.is_empty() {
            self.deliver(Delivered::No);
        }
    }

    pub fn exit(&mut self, exit: Exit) {
        self.refuse_all();
        self.exit_first(exit);
    }

    /// The runner's end is heard of before what it did not take.
    pub fn exit_first(&mut self, exit: Exit) {
        self.live = None;
        self.exists = false;
        self.apply(Input::Exited { generation: self.state.generation, exit });
    }

    pub fn exit_code(&mut self, code: i32) {
        self.exit(Exit { code: Some(code), stderr_tail: vec!["last words".to_owned()], ..Exit::default() });
    }

    pub fn signalled(&mut self) {
        self.exit(Exit { signal: Some(9), ..Exit::default() });
    }

    pub fn partial(&mut self, text: &str) {
        assert!(std::mem::take(&mut self.collecting), "nobody asked for the text");
        self.apply(Input::Partial { text: text.to_owned() });
    }

    /// Lets a clock that runs ring at its time.
    pub fn ring(&mut self, timer: Timer) {
        let due = self.timers.remove(&timer).unwrap_or_else(|| panic!("{timer:?} does not run"));
        self.now = self.now.max(due);
        self.apply(Input::Timer(timer));
    }

    pub fn wait(&mut self, millis: i64) {
        self.now += millis;
    }

    /// A step, and the run's end as the agent tells it.
    pub fn answer(&mut self, text: &str) {
        self.line(json!({"kind":"turn_start","turnIndex":1}));
        self.step(1, text, "CURRENT_TASK_DONE");
        self.complete("CURRENT_TASK_DONE");
    }

    pub fn step(&mut self, step: u32, text: &str, exit: &str) {
        let reason = if exit.is_empty() { Value::Null } else { json!({"result": exit}) };
        self.line(json!({"kind":"turn_end","turnIndex":step,"summary":format!("did {text}"),"responseContent":text,"exitReason":reason}));
    }

    pub fn complete(&mut self, result: &str) {
        self.line(json!({"kind":"run_complete","exitReason":{"result":result}}));
    }

    pub fn ask_approval(&mut self, runner_id: &str) -> String {
        self.ask_approval_of(runner_id, "code_run")
    }

    pub fn ask_approval_of(&mut self, runner_id: &str, tool: &str) -> String {
        self.line(json!({"kind":"tool_call_pending","approvalId":runner_id,"toolName":tool,"reason":"dangerous"}));
        let asked = self
            .approvals
            .values()
            .filter(|row| row.approval_id == runner_id)
            .max_by_key(|row| row.id.len() * 1_000 + row.created_at.as_millis() as usize);
        asked.expect("asked").id.clone()
    }

    /// Core dies and starts again: what is durable is all there is.
    pub fn restart(&mut self) {
        let session = self.row.clone().expect("stored");
        let mut open: Vec<MessageRow> = self
            .messages
            .iter()
            .filter(|row| matches!(row.state, Some(MessageState::Queued | MessageState::Pending | MessageState::Dispatched)))
            .cloned()
            .collect();
        open.sort_by_key(|row| row.rank);
        let open_approvals =
            self.approvals.values().filter(|row| matches!(row.state, ApprovalState::Pending | ApprovalState::Answered)).cloned().collect();
        let snapshot = SessionSnapshot { session, last_index: self.log.len() as u64, open_messages: open, open_approvals };
        self.state = SessionState::restore(snapshot, self.state.limits.clone(), self.state.default_mode.clone());
        self.told.clear();
        self.in_flight.clear();
        self.owed.clear();
        self.timers.clear();
        self.starts.clear();
        self.ups.clear();
        self.downs.clear();
        self.handed_over.clear();
        self.collecting = false;
        self.live = None;
        self.exists = false;
        self.apply(Input::Recover);
    }

    // What happened.

    pub fn status(&self) -> SessionStatus {
        self.row.as_ref().expect("stored").status.clone()
    }

    pub fn reply(&self, token: Token) -> &Result<Reply, Error> {
        self.replies.get(&token).unwrap_or_else(|| panic!("{token} was not answered"))
    }

    pub fn submitted(&self, token: Token) -> &Submitted {
        match self.reply(token) {
            Ok(Reply::Submitted(submitted)) => submitted,
            other => panic!("not submitted: {other:?}"),
        }
    }

    pub fn dispatch(&self, token: Token) -> Dispatch {
        self.submitted(token).dispatch.clone()
    }

    /// The row that the answer to `token` shows.
    pub fn session_told(&self, token: Token) -> &SessionBrief {
        match self.reply(token) {
            Ok(Reply::Session(session)) => session,
            other => panic!("no session: {other:?}"),
        }
    }

    pub fn resumed(&self, token: Token) -> Dispatch {
        match self.reply(token) {
            Ok(Reply::Resumed(resumed)) => resumed.dispatch.clone(),
            other => panic!("not resumed: {other:?}"),
        }
    }

    pub fn model_dispatch(&self, token: Token) -> LlmDispatch {
        match self.reply(token) {
            Ok(Reply::Model(result)) => result.dispatch.clone(),
            other => panic!("no model: {other:?}"),
        }
    }

    /// Ids of the waiting messages, as `session.queue_edit` answered.
    pub fn queue_told(&self, token: Token) -> Vec<String> {
        match self.reply(token) {
            Ok(Reply::Queue(queue)) => {
                assert!(queue.iter().zip(1..).all(|(item, position)| item.position == position));
                queue.iter().map(|item| item.message_id.clone()).collect()
            }
            other => panic!("no queue: {other:?}"),
        }
    }

    pub fn stopped(&self, token: Token) -> StopDispatch {
        match self.reply(token) {
            Ok(Reply::Stopped(dispatch)) => dispatch.clone(),
            other => panic!("not stopped: {other:?}"),
        }
    }

    pub fn error(&self, token: Token) -> &Error {
        self.reply(token).as_ref().expect_err("an error")
    }

    /// State of the message that `token` sent.
    pub fn state_of(&self, token: Token) -> MessageState {
        self.message_row(token).state.clone().expect("a user message")
    }

    pub fn message_row(&self, token: Token) -> &MessageRow {
        self.messages.iter().find(|row| row.id == format!("m{token}")).expect("stored")
    }

    pub fn agent_rows(&self) -> Vec<&MessageRow> {
        self.messages.iter().filter(|row| row.role == MessageRole::Agent).collect()
    }

    /// The text of every message and answer told to a runner, with the verb.
    pub fn verbs(&self) -> Vec<String> {
        self.told
            .iter()
            .map(|(_, order)| match order {
                Order::Rules { scope } => format!("rules {scope}"),
                Order::History { .. } => "history".to_owned(),
                Order::Command { command, .. } => match command {
                    Command::UserMessage(message) => format!("user {}", message.text),
                    Command::AskUserResponse(answer) => format!("answer {}", answer.text),
                    Command::ApprovalResponse(answer) => format!("approval {} {}", answer.approval_id, answer.decision),
                    Command::SetYoloMode(mode) => format!("yolo {}", mode.enabled),
                    Command::SetLlm(llm) => format!("llm {}", llm.llm_index),
                    Command::Abort(_) => "abort".to_owned(),
                    Command::Shutdown(_) => "shutdown".to_owned(),
                    other => format!("{other:?}"),
                },
            })
            .collect()
    }

    pub fn events(&self, kind: &str) -> Vec<&Value> {
        self.log.iter().map(|(_, line)| line).filter(|line| line["kind"] == kind).collect()
    }

    // The world around the session.

    fn commit(&mut self, change: Change) {
        assert!(!self.deleted, "written after its deletion: {change:?}");
        match change {
            Change::PutSession(row) => {
                if let Some(before) = &self.row {
                    assert!(row.last_activity_at >= before.last_activity_at && row.updated_at >= before.updated_at, "time went back");
                    assert!(row.turn_count >= before.turn_count && row.run >= before.run);
                }
                self.row = Some(*row);
            }
            Change::InsertMessage(row) => {
                assert!(self.messages.iter().all(|other| other.id != row.id), "{} twice", row.id);
                self.messages.push(*row);
            }
            Change::SetMessageState { id, state, run } => {
                let row = self.messages.iter_mut().find(|row| row.id == id).expect("known message");
                let settled = matches!(row.state, Some(MessageState::Answered | MessageState::Failed | MessageState::Cancelled));
                assert!(!settled, "{id} was {:?} and becomes {state}", row.state);
                (row.state, row.run) = (Some(state), run);
            }
            Change::SetMessageContent { id, content } => {
                let row = self.messages.iter_mut().find(|row| row.id == id).expect("known message");
                assert!(matches!(row.state, Some(MessageState::Queued | MessageState::Pending)), "{id} is {:?} and is changed", row.state);
                row.content = content;
            }
            Change::SupersedeTurn { turn, .. } => {
                for row in self.messages.iter_mut().filter(|row| row.turn_index == Some(turn) && row.role != MessageRole::System) {
                    let settled = matches!(row.state, Some(MessageState::Answered | MessageState::Failed | MessageState::Cancelled));
                    assert!(settled || row.role == MessageRole::Agent, "{} is {:?} and is superseded", row.id, row.state);
                    row.state = Some(MessageState::Superseded);
                }
            }
            Change::DeleteSession { .. } => {
                self.row = None;
                self.messages.clear();
                self.approvals.clear();
                self.deleted = true;
            }
            Change::RemoveRule { .. } | Change::PutProject(_) | Change::DeleteProject { .. } => panic!("no session does that: {change:?}"),
            Change::SetMessageRank { id, rank } => self.messages.iter_mut().find(|row| row.id == id).expect("known message").rank = rank,
            Change::SetFinalAnswer { id, answer, .. } => {
                self.messages.iter_mut().find(|row| row.id == id).expect("known message").final_answer = Some(answer);
            }
            Change::AppendLog(chunk) => {
                assert_eq!(chunk.first, self.log.len() as u64 + 1, "a gap in the log");
                let lines = chunk.lines.expect("lines");
                for line in lines.split(|byte| *byte == b'\n') {
                    let line: Value = serde_json::from_slice(line).expect("a JSON line");
                    self.asked += usize::from(line["kind"] == "tool_call_pending");
                    self.resolved += usize::from(line["kind"] == "approval_resolved");
                    self.log.push((chunk.run, line));
                }
                assert_eq!(chunk.last, self.log.len() as u64);
            }
            Change::PutApproval(row) => {
                if let Some(before) = self.approvals.get(&row.id) {
                    assert!(matches!(before.state, ApprovalState::Pending | ApprovalState::Answered), "{} is resolved", row.id);
                }
                self.approvals.insert(row.id.clone(), *row);
            }
            Change::PutRule(rule) => self.rules.push(rule),
            Change::SetSetting { key, value } => {
                self.settings.insert(key, value);
            }
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::StartRunner { generation, .. } => {
                assert_eq!(self.live, None, "two runners");
                self.live = Some(generation);
                self.starts.push(generation);
            }
            Effect::Tell { generation, order } => {
                assert!(self.live == Some(generation) && self.exists, "told to a runner that is not there: {order:?}");
                let purpose = match &order {
                    Order::Command { purpose, .. } => purpose.clone(),
                    Order::Rules { .. } => Purpose::None,
                    Order::History { .. } => Purpose::History,
                };
                if let Purpose::Message { id } = &purpose {
                    assert!(self.handed_over.insert(id.clone()), "{id} handed over twice");
                    let row = self.messages.iter().find(|row| row.id == *id).expect("stored before it is told");
                    assert_eq!(row.state, Some(MessageState::Dispatched));
                }
                self.in_flight.push_back((generation, purpose));
                self.told.push((generation, order));
            }
            Effect::KillRunner { generation } => {
                assert!(self.live == Some(generation), "killed a runner that is not there");
                self.kills.push(generation);
            }
            Effect::CollectPartial { from } => {
                assert!(!std::mem::replace(&mut self.collecting, true) && from >= 1);
            }
            Effect::Reply { to, result } => {
                assert!(self.owed.remove(&to.0), "{} was answered twice", to.0);
                self.replies.insert(to.0, result);
            }
            Effect::SetTimer { timer, after } => {
                self.timers.insert(timer, self.now + after.as_millis() as i64);
            }
            Effect::ClearTimer(timer) => {
                self.timers.remove(&timer);
            }
            Effect::RunnerUp { generation } => self.ups.push(generation),
            Effect::RunnerDown { generation, reason } => {
                assert!(self.ups.contains(&generation) && self.downs.iter().all(|(down, _)| *down != generation));
                self.downs.push((generation, reason));
            }
            Effect::RulesChanged { scope } => self.rules_changed.push(scope),
            Effect::CloseStreams { reason } => self.closed = Some(reason),
            Effect::OpenStreams => self.closed = None,
            Effect::Forget => self.forgotten = true,
        }
    }

    /// What holds between any two inputs.
    fn check(&self) {
        let Some(row) = &self.row else { return };
        let state = &self.state;
        assert_eq!(*row, state.row, "memory and store differ");
        assert_eq!(state.last_index, self.log.len() as u64);
        let at_rest = matches!((&state.gate, &state.runner), (Gate::Free, RunnerPhase::Down));
        assert!(state.departure.is_none() || !at_rest, "it should have left");
        assert!(state.resumers.is_empty() || !at_rest, "nobody starts the runner that is wanted");
        if row.status == SessionStatus::Archived {
            assert!(at_rest, "archived with a runner");
            assert_eq!(state.queued_count(), 0);
        }

        let line: Vec<&MessageRow> = state.waiting.iter().map(|waiting| &waiting.row).collect();
        let mut stored: Vec<&MessageRow> =
            self.messages.iter().filter(|row| matches!(row.state, Some(MessageState::Queued | MessageState::Pending))).collect();
        stored.sort_by_key(|row| row.rank);
        assert_eq!(line, stored, "the line in memory and in the store differ");
        let in_hand: Vec<&MessageRow> = match &state.gate {
            Gate::Open(run) | Gate::Closing(run, _) => run.messages.iter().map(|message| &message.row).collect(),
            _ => Vec::new(),
        };
        let dispatched: Vec<&MessageRow> = self.messages.iter().filter(|row| row.state == Some(MessageState::Dispatched)).collect();
        assert_eq!(in_hand, dispatched, "a dispatched message is in nobody's hands");

        let status = &row.status;
        let held = state.hold || (row.ask.is_some() && state.waiting.front().is_some_and(|front| front.answers.is_none()));
        match &state.gate {
            Gate::Free => {
                assert!(!matches!(status, SessionStatus::Connecting | SessionStatus::Running | SessionStatus::WaitingApproval), "{status}");
                let stuck = match &state.runner {
                    RunnerPhase::Up => !state.waiting.is_empty(),
                    RunnerPhase::Down | RunnerPhase::Ending(_) => state.queued_count() > 0,
                    RunnerPhase::Starting(_) => false,
                };
                assert!(held || !stuck, "the line stands still");
            }
            Gate::Reserved => {
                assert_eq!(*status, SessionStatus::Connecting);
                assert!(!state.waiting.is_empty() && matches!(state.runner, RunnerPhase::Starting(_) | RunnerPhase::Ending(_)));
            }
            Gate::Open(run) => {
                let waits = *status == SessionStatus::WaitingApproval;
                assert!(waits || *status == SessionStatus::Running, "{status}");
                assert_eq!(waits, !state.approvals.is_empty());
                assert!(run.number == row.run && matches!(state.runner, RunnerPhase::Up | RunnerPhase::Ending(_)));
                assert!(self.timers.contains_key(&Timer::Stall), "nobody watches for silence");
                assert!(run.abort.is_none() || self.timers.contains_key(&Timer::Abort) || matches!(state.runner, RunnerPhase::Ending(_)));
            }
            Gate::Closing(..) => assert!(self.collecting, "nobody reads the text back"),
        }
        if !matches!(state.gate, Gate::Open(_)) {
            assert!(state.approvals.is_empty());
        }
        assert_eq!(self.asked, self.resolved + state.approvals.len(), "an approval ended twice or never");
    }
}

pub fn gate_name(gate: &Gate) -> &'static str {
    match gate {
        Gate::Free => "free",
        Gate::Reserved => "reserved",
        Gate::Open(_) => "open",
        Gate::Closing(..) => "closing",
    }
}

fn input_name(input: &Input) -> &'static str {
    match input {
        Input::Create { .. } => "create",
        Input::Send { message, .. } if message.retries.is_some() => "retry",
        Input::Send { message, .. } if message.if_busy == IfBusy::Jump => "jump",
        Input::Send { message, .. } if message.if_busy == IfBusy::Reject => "reject",
        Input::Send { message, .. } if !message.spawn => "send without spawn",
        Input::Send { .. } => "send",
        Input::Stop { .. } => "stop",
        Input::EndRunner { .. } => "end",
        Input::Kill { .. } => "kill",
        Input::Resume { .. } => "resume",
        Input::Archive { .. } => "archive",
        Input::Restore { .. } => "restore",
        Input::Delete { .. } => "delete",
        Input::Move { .. } => "move",
        Input::Rename { .. } => "rename",
        Input::Pin { .. } => "pin",
        Input::MarkRead { .. } => "read",
        Input::EditQueue { edit: QueueEdit::Remove, .. } => "remove",
        Input::EditQueue { edit: QueueEdit::Jump, .. } => "put first",
        Input::EditQueue { edit: QueueEdit::Edit(_), .. } => "edit",
        Input::Direct { .. } => "direct",
        Input::SetLlm { .. } => "set llm",
        Input::Evict => "evict",
        Input::Respond { .. } => "respond",
        Input::SetMode { .. } => "set mode",
        Input::DefaultMode(_) => "default mode",
        Input::RulesChanged { .. } => "rules changed",
        Input::ProjectGone { .. } => "project gone",
        Input::Report { .. } => "report",
        Input::Started { result, .. } => {
            if result.is_ok() {
                "started"
            } else {
                "not started"
            }
        }
        Input::Line { .. } => "line",
        Input::Exited { .. } => "exited",
        Input::Delivered { outcome: Delivered::No, .. } => "undelivered",
        Input::Delivered { .. } => "delivered",
        Input::Partial { .. } => "partial",
        Input::Timer(Timer::Start) => "start timer",
        Input::Timer(Timer::Abort) => "abort timer",
        Input::Timer(Timer::RunComplete) => "run_complete timer",
        Input::Timer(Timer::Shutdown) => "shutdown timer",
        Input::Timer(Timer::Stall) => "stall timer",
        Input::Recover => "recover",
    }
}
