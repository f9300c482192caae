//! The state of one run: what is open, what was said, and the one end it gets.

use super::agent::{Model, Outcome, Question, Reply, Task};
use super::approvals::Approvals;
use super::arguments::Arguments;
use super::error::AgentError;
use super::output::{Output, Room};
use super::text::{RESULT_PREVIEW, args_preview, clip};
use galley_protocol::RawJson;
use galley_protocol::ipc::{
    AskUser, Event, ExitReason, ExitResult, HistoryMessage, HistoryRole, RiskLevel, RunComplete, ToolCallEnd, ToolCallPending, ToolCallProgress,
    ToolCallStart, ToolStatus, TurnEnd, TurnProgress, TurnStart,
};
use serde_json::{Map, Value, json};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;
use uuid::Uuid;

/// Where text comes from, as watchers are told (IPC protocol §4.7a).
const SOURCE: &str = "workbench";

/// What outlives a run.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) arguments: Arguments,
    pub(super) approvals: Approvals,
    pub(super) output: Output,
    pub(super) talk: Mutex<Talk>,
}

/// The conversation so far, and the model that goes on with it.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pub(super) history: Arc<Vec<HistoryMessage>>,
    pub(super) model: Option<Model>,
}

impl Session {
    pub(super) fn talk(&self) -> MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One run. It writes under its lock, so that nothing of it follows its `run_complete`.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) session: Arc<Session>,
    pub(super) task: Task,
    state: Mutex<State>,
    phase: watch::Sender<Phase>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Open,
    /// From here on no answer counts, and whatever its agent does with it never returns.
    Stopped,
    /// `run_complete` is written.
    Settled,
}

#[derive(Debug, Default)]
struct State {
    step: u32,
    streamed: String,
    calls: Vec<RawJson>,
    results: Vec<RawJson>,
    open_calls: Vec<Call>,
    answer: Option<oneshot::Sender<String>>,
    agent: Option<AbortHandle>,
}

/// A tool call that runs.
#[derive(Debug)]
struct Call {
    id: String,
    started: Instant,
    /// Nobody is left to say how it ended.
    abandoned: bool,
}

/// How a run ends.
#[derive(Debug)]
pub(super) enum End {
    /// As its agent said.
    Reply(Reply),
    /// With an error.
    Failed(AgentError),
    /// The user stopped it.
    Aborted,
}

impl Run {
    pub(super) fn new(session: Arc<Session>, task: Task) -> Self {
        Self { session, task, state: Mutex::default(), phase: watch::Sender::new(Phase::Open) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    // Its life.

    /// Opens the first step, unless the run was stopped before.
    pub(super) async fn begin(&self) -> bool {
        let room = self.session.output.room().await;
        let mut state = self.state();
        if self.phase() == Phase::Open {
            self.write(state.begin_step(), room);
        }
        state.step > 0
    }

    /// The agent's task, which a stop ends.
    pub(super) fn performed_by(&self, agent: AbortHandle) {
        let mut state = self.state();
        if self.phase() > Phase::Open {
            agent.abort();
        }
        state.agent = Some(agent);
    }

    /// Stops the run: its agent's future is dropped where it waits. False when it was stopped
    /// already or is over.
    pub(super) fn stop(&self) -> bool {
        let state = self.state();
        if self.phase() != Phase::Open {
            return false;
        }
        self.phase.send_replace(Phase::Stopped);
        if let Some(agent) = &state.agent {
            agent.abort();
        }
        true
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.phase() > Phase::Open
    }

    pub(super) fn is_settled(&self) -> bool {
        self.phase() == Phase::Settled
    }

    /// Waits until the run is stopped or over.
    pub(super) async fn stopped(&self) {
        // The sender lives as long as this run.
        let _ = self.phase.subscribe().wait_for(|phase| *phase > Phase::Open).await;
    }

    /// Waits until the run is over.
    pub(super) async fn settled(&self) {
        let _ = self.phase.subscribe().wait_for(|phase| *phase == Phase::Settled).await;
    }

    /// Whether it has begun.
    pub(super) fn step(&self) -> u32 {
        self.state().step
    }

    /// Ends the run, once: what is open is closed, and `run_complete` is its last event. A stopped
    /// run ends as aborted, whatever `end` says.
    pub(super) async fn settle(&self, end: End) {
        let room = self.session.output.room().await;
        let mut state = self.state();
        if self.is_settled() {
            return;
        }
        let end = if self.is_stopped() { End::Aborted } else { end };
        let mut events = Vec::new();
        let left = if matches!(end, End::Aborted) { ToolStatus::Cancelled } else { ToolStatus::Failed };
        for call in std::mem::take(&mut state.open_calls) {
            let status = if call.abandoned { ToolStatus::Failed } else { left.clone() };
            events.push(call.end(status, None));
        }
        let steps = state.step;
        let complete =
            |exit_reason, final_content| RunComplete { session_id: None, exit_reason, final_content, total_turns: Some(steps), timestamp: None };
        let answer = match end {
            End::Aborted => {
                events.push(complete(exit_reason(ExitResult::Aborted, None), None).into());
                None
            }
            End::Failed(error) => {
                events.extend([error.event("user_message").into(), complete(exit_reason(ExitResult::Exited, None), None).into()]);
                None
            }
            End::Reply(reply) => {
                let (outcome, question) = match reply {
                    Reply::Outcome(outcome) => (outcome, None),
                    Reply::Question(question) => (Outcome { result: ExitResult::Exited, ..Outcome::default() }, Some(question)),
                };
                let exit_reason = exit_reason(outcome.result, outcome.data.as_ref());
                let content = outcome.content.or_else(|| state.said());
                let telemetry = outcome.telemetry.as_ref().and_then(raw);
                let response = outcome.response.or_else(|| content.clone());
                events.push(state.end_step(outcome.summary, response, Some(exit_reason.clone()), telemetry));
                if let Some(Question { text: question, candidates }) = question {
                    events.push(AskUser { session_id: None, question, candidates, blocking: None, timestamp: None }.into());
                }
                events.push(complete(exit_reason, content.clone()).into());
                Some(content.unwrap_or_default())
            }
        };
        if let Some(answer) = answer {
            let mut talk = self.session.talk();
            Arc::make_mut(&mut talk.history).extend([said(HistoryRole::User, &self.task.text), said(HistoryRole::Assistant, &answer)]);
        }
        // Before the line is out: what answers it may come at once.
        self.phase.send_replace(Phase::Settled);
        self.write(events, room);
    }

    // What it says.

    /// Writes what `compose` makes of the run, if it is open; never returns if it is not.
    async fn say<T>(&self, compose: impl FnOnce(&mut State) -> (Vec<Event>, T)) -> T {
        {
            let mut room = self.session.output.room().await;
            let mut state = self.state();
            if self.phase() == Phase::Open {
                state.end_abandoned().into_iter().for_each(|event| room.add(event));
                let (events, result) = compose(&mut state);
                self.write(events, room);
                return result;
            }
        }
        pending().await
    }

    fn write(&self, events: impl IntoIterator<Item = Event>, mut room: Room<'_>) {
        events.into_iter().for_each(|event| room.add(event));
        room.send();
    }

    /// Writes an event.
    pub(super) async fn event(&self, event: impl Into<Event>) {
        self.say(|_| (vec![event.into()], ())).await;
    }

    /// Writes an event of a run that may have been stopped, though not of one that is over.
    pub(super) async fn late_event(&self, event: impl Into<Event>) {
        let room = self.session.output.room().await;
        let _state = self.state();
        if !self.is_settled() {
            self.write([event.into()], room);
        }
    }

    /// Writes an event of a kind of the agent's own.
    pub(super) async fn custom_event(&self, kind: &str, fields: Map<String, Value>) {
        {
            let mut room = self.session.output.room().await;
            let _state = self.state();
            if self.phase() == Phase::Open {
                room.add_custom(kind, fields);
                return room.send();
            }
        }
        pending().await
    }

    /// Streams a piece of the reply.
    pub(super) async fn progress(&self, delta: String) {
        self.say(|state| {
            state.streamed.push_str(&delta);
            (vec![TurnProgress { session_id: None, delta, source: Some(SOURCE.to_owned()), timestamp: None }.into()], ())
        })
        .await;
    }

    /// Ends the step and begins the next.
    pub(super) async fn next_step(&self, summary: Option<String>, response: Option<String>) {
        self.say(|state| {
            let response = response.or_else(|| state.said());
            let end = state.end_step(summary, response, None, None);
            ([vec![end], state.begin_step()].concat(), ())
        })
        .await;
    }

    // Its tools.

    /// Starts a tool call; its id.
    pub(super) async fn start_call(&self, tool: &str, args: &Value) -> String {
        let id = call_id();
        self.say(|state| {
            state.open_calls.push(Call { id: id.clone(), started: Instant::now(), abandoned: false });
            state.record(&id, tool, args);
            let start = ToolCallStart {
                session_id: None,
                tool_call_id: id.clone(),
                turn_index: Some(state.step),
                tool_name: tool.to_owned(),
                args: raw(args),
                args_preview: Some(args_preview(args)),
                timestamp: None,
            };
            (vec![start.into()], ())
        })
        .await;
        id
    }

    /// Says how a tool call goes.
    pub(super) async fn call_progress(&self, id: &str, text: String) {
        self.event(ToolCallProgress { session_id: None, tool_call_id: Some(id.to_owned()), text, timestamp: None }).await;
    }

    /// Ends a tool call.
    pub(super) async fn end_call(&self, id: &str, status: ToolStatus, result: String) {
        self.say(|state| {
            let Some(at) = state.open_calls.iter().position(|call| call.id == id) else { return (Vec::new(), ()) };
            let call = state.open_calls.remove(at);
            state.results.extend(raw(&json!({ "toolUseId": id, "content": result })));
            (vec![call.end(status, Some(&result))], ())
        })
        .await;
    }

    /// Nobody says any more how a tool call ended: it is reported as failed with the next event.
    pub(super) fn abandon_call(&self, id: &str) {
        if let Some(call) = self.state().open_calls.iter_mut().find(|call| call.id == id) {
            call.abandoned = true;
        }
    }

    /// Asks for a tool call, unless a rule or the mode says yes, and waits for the answer. A no is
    /// recorded as the call's end.
    pub(super) async fn approve(&self, tool: &str, args: &Value, risk: RiskLevel, reason: Option<String>) -> bool {
        let approvals = &self.session.approvals;
        if approvals.allows(tool) {
            return true;
        }
        let open = approvals.open(tool);
        self.say(|state| {
            let pending = ToolCallPending {
                session_id: None,
                approval_id: open.id.clone(),
                turn_index: Some(state.step),
                tool_name: tool.to_owned(),
                args: raw(args),
                args_preview: Some(args_preview(args)),
                risk_level: Some(risk),
                reason,
                timestamp: None,
            };
            (vec![pending.into()], ())
        })
        .await;
        let allowed = open.allowed().await;
        self.say(|state| {
            if allowed {
                return (Vec::new(), ());
            }
            const DENIED: &str = "The user denied this action";
            let id = call_id();
            state.record(&id, tool, args);
            state.results.extend(raw(&json!({ "toolUseId": id, "content": DENIED })));
            (vec![tool_call_end(id, ToolStatus::Denied, Some(DENIED), None)], ())
        })
        .await;
        allowed
    }

    /// Asks the user and waits for the answer.
    pub(super) async fn ask(&self, question: String, candidates: Vec<String>) -> String {
        let (answer, answered) = oneshot::channel();
        self.say(|state| {
            state.answer = Some(answer);
            (vec![AskUser { session_id: None, question, candidates, blocking: Some(true), timestamp: None }.into()], ())
        })
        .await;
        match answered.await {
            Ok(text) => self.say(|_| (Vec::new(), text)).await,
            // Another question took its place, or the run is over.
            Err(_) => pending().await,
        }
    }

    /// Takes the answer to a question of [`ask`](Self::ask); gives it back if none is open.
    pub(super) fn answer(&self, text: String) -> Result<(), String> {
        let mut state = self.state();
        match state.answer.take() {
            Some(answer) if self.phase() == Phase::Open => answer.send(text),
            _ => Err(text),
        }
    }
}

impl State {
    fn begin_step(&mut self) -> Vec<Event> {
        self.step += 1;
        vec![TurnStart { session_id: None, turn_index: self.step, timestamp: None }.into()]
    }

    fn end_step(&mut self, summary: Option<String>, response: Option<String>, exit_reason: Option<ExitReason>, telemetry: Option<RawJson>) -> Event {
        self.streamed.clear();
        TurnEnd {
            session_id: None,
            turn_index: self.step,
            summary,
            tool_calls: std::mem::take(&mut self.calls),
            tool_results: std::mem::take(&mut self.results),
            exit_reason,
            response_content: response,
            telemetry,
            timestamp: None,
        }
        .into()
    }

    /// What the step streamed.
    fn said(&self) -> Option<String> {
        (!self.streamed.is_empty()).then(|| self.streamed.clone())
    }

    fn record(&mut self, id: &str, tool: &str, args: &Value) {
        self.calls.extend(raw(&json!({ "id": id, "toolName": tool, "args": args })));
    }

    fn end_abandoned(&mut self) -> Vec<Event> {
        let (abandoned, open): (Vec<_>, Vec<_>) = std::mem::take(&mut self.open_calls).into_iter().partition(|call| call.abandoned);
        self.open_calls = open;
        abandoned.into_iter().map(|call| call.end(ToolStatus::Failed, None)).collect()
    }
}

impl Call {
    fn end(self, status: ToolStatus, result: Option<&str>) -> Event {
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).ok();
        tool_call_end(self.id, status, result, elapsed)
    }
}

fn tool_call_end(id: String, status: ToolStatus, result: Option<&str>, elapsed_ms: Option<u64>) -> Event {
    let result_preview = result.map(|result| clip(result, RESULT_PREVIEW));
    ToolCallEnd { session_id: None, tool_call_id: id, status, result_preview, elapsed_ms, timestamp: None }.into()
}

fn exit_reason(result: ExitResult, data: Option<&Value>) -> ExitReason {
    // Written out also when there is none, as the specification does.
    ExitReason { result, data: raw(data.unwrap_or(&Value::Null)) }
}

fn said(role: HistoryRole, content: &str) -> HistoryMessage {
    HistoryMessage { role, content: content.to_owned(), tool_calls: Vec::new(), tool_results: Vec::new() }
}

fn call_id() -> String {
    format!("tc_{}", Uuid::new_v4().simple())
}

/// `value` as text. Every `Value` can be written.
fn raw(value: &Value) -> Option<RawJson> {
    RawJson::new(value).ok()
}
