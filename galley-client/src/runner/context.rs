//! A run as the agent sees it: what it can say, ask and wait for.

use super::agent::Model;
use super::arguments::Arguments;
use super::error::AgentError;
use super::run::Run;
use galley_protocol::ipc::{HistoryMessage, RiskLevel, SystemMessage, SystemVariant, ToolStatus};
use serde_json::{Map, Value};
use std::sync::Arc;

/// One run. Cheap to clone.
///
/// When the run is stopped, the agent's future is dropped: clean up in `Drop`. A task that the
/// agent spawned is not; there, what is called on a context of a stopped run does not return, and
/// [`aborted`](Self::aborted) tells.
#[derive(Debug, Clone)]
pub struct Context {
    run: Arc<Run>,
}

impl Context {
    pub(super) fn new(run: Arc<Run>) -> Self {
        Self { run }
    }

    /// What the runner was started with; `workspace_root` is the user's project folder, if any.
    pub fn arguments(&self) -> &Arguments {
        &self.run.session.arguments
    }

    /// The session in Galley.
    pub fn session_id(&self) -> &str {
        &self.arguments().session_id
    }

    /// The conversation before this task, oldest first.
    pub fn history(&self) -> Arc<Vec<HistoryMessage>> {
        Arc::clone(&self.run.session.talk().history)
    }

    /// The model in use, of those the agent listed.
    pub fn model(&self) -> Option<Model> {
        self.run.session.talk().model.clone()
    }

    /// The number of the current step, from 1.
    pub fn step(&self) -> u32 {
        self.run.step()
    }

    /// Streams a piece of text; the pieces of a step are its reply.
    pub async fn progress(&self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.run.progress(text).await;
        }
    }

    /// Ends the current step and begins the next. `response` is the step's whole reply; what was
    /// streamed, if absent.
    pub async fn next_step(&self, summary: Option<&str>, response: Option<&str>) {
        self.run.next_step(summary.map(str::to_owned), response.map(str::to_owned)).await;
    }

    /// Says something that is not the agent's reply, as Markdown.
    pub async fn system_message(&self, content: impl Into<String>) {
        let message = SystemMessage { session_id: None, content: content.into(), variant: SystemVariant::System, timestamp: None };
        self.run.event(message).await;
    }

    /// Reports something that went wrong; the run goes on.
    pub async fn report(&self, error: AgentError) {
        self.run.event(error.event("user_message")).await;
    }

    /// Writes an event of a kind of the agent's own.
    pub async fn emit(&self, kind: &str, fields: Map<String, Value>) {
        self.run.custom_event(kind, fields).await;
    }

    /// Starts a tool call, which ends when it is told how. It does not ask; see
    /// [`approve`](Self::approve).
    pub async fn tool(&self, name: &str, args: Value) -> ToolCall {
        ToolCall { id: self.run.start_call(name, &args).await, run: Arc::clone(&self.run) }
    }

    /// Whether the user lets `tool` run with `args`: asks, unless a rule or the session's mode says
    /// yes. Waits as long as it takes. A no is recorded as a denied tool call.
    pub async fn approve(&self, tool: &str, args: &Value, risk: RiskLevel, reason: &str) -> bool {
        self.run.approve(tool, args, risk, Some(reason.to_owned()).filter(|reason| !reason.is_empty())).await
    }

    /// Asks the user and waits for the answer, as long as it takes; the run stays open.
    pub async fn ask(&self, question: impl Into<String>, candidates: &[&str]) -> String {
        self.run.ask(question.into(), candidates.iter().map(ToString::to_string).collect()).await
    }

    /// Whether the run was stopped.
    pub fn is_aborted(&self) -> bool {
        self.run.is_stopped()
    }

    /// Waits until the run is stopped or over: for tasks that the agent spawned.
    pub async fn aborted(&self) {
        self.run.stopped().await;
    }
}

/// A tool call that runs. Dropped before it was told how it ended, it has failed, or was cancelled
/// with its run.
#[derive(Debug)]
#[must_use = "a call that is dropped has failed"]
pub struct ToolCall {
    run: Arc<Run>,
    id: String,
}

impl ToolCall {
    /// Says how it goes, in free words.
    pub async fn progress(&self, text: impl Into<String>) {
        self.run.call_progress(&self.id, text.into()).await;
    }

    /// It did what it should; `result` is what came of it.
    pub async fn succeed(self, result: impl Into<String>) {
        self.run.end_call(&self.id, ToolStatus::Success, result.into()).await;
    }

    /// It failed; `result` says why.
    pub async fn fail(self, result: impl Into<String>) {
        self.run.end_call(&self.id, ToolStatus::Failed, result.into()).await;
    }
}

impl Drop for ToolCall {
    fn drop(&mut self) {
        self.run.abandon_call(&self.id);
    }
}
