//! What an author writes and returns.

use super::context::Context;
use super::error::AgentError;
use futures::future::BoxFuture;
use galley_protocol::ipc::ExitResult;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// An agent, as it is called for every task.
pub(super) type Agent = Arc<dyn Fn(Task, Context) -> BoxFuture<'static, Result<Reply, AgentError>> + Send + Sync>;

/// What answers `/btw` questions.
pub(super) type SideQuestion = Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, AgentError>> + Send + Sync>;

/// One message of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Task {
    /// What the user said.
    pub text: String,
    /// Image files.
    pub images: Vec<PathBuf>,
    /// Whether it answers the question the last run ended with.
    pub answers: bool,
}

/// A model the agent can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Identifies it for good.
    pub name: String,
    /// Its name for people; `name`, if absent.
    pub display_name: Option<String>,
}

impl Model {
    /// The name for people.
    pub fn shown(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }
}

impl From<&str> for Model {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), display_name: None }
    }
}

/// How a run ended: its answer, and `exitReason` (IPC protocol §4.9).
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The final answer, as Markdown; what the last step streamed, if absent.
    pub content: Option<String>,
    /// The result word.
    pub result: ExitResult,
    /// Whatever belongs to the result.
    pub data: Option<Value>,
    /// One line about the last step.
    pub summary: Option<String>,
    /// The whole reply of the last step, if it is more than `content`.
    pub response: Option<String>,
    /// Figures about the run.
    pub telemetry: Option<Value>,
}

impl Default for Outcome {
    fn default() -> Self {
        Self { content: None, result: ExitResult::CurrentTaskDone, data: None, summary: None, response: None, telemetry: None }
    }
}

/// Ends a run by asking the user; the answer starts the next run ([`Task::answers`]).
///
/// To ask and go on in the same run, use [`Context::ask`].
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The question.
    pub text: String,
    /// Answers to choose from; empty for an open question.
    pub candidates: Vec<String>,
}

/// What an agent returns: an answer, nothing (what it streamed is the answer), or more.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The run is done.
    Outcome(Outcome),
    /// The run ends with a question.
    Question(Question),
}

impl From<Outcome> for Reply {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl From<Question> for Reply {
    fn from(question: Question) -> Self {
        Self::Question(question)
    }
}

impl From<String> for Reply {
    fn from(content: String) -> Self {
        Outcome { content: Some(content), ..Outcome::default() }.into()
    }
}

impl From<&str> for Reply {
    fn from(content: &str) -> Self {
        content.to_owned().into()
    }
}

impl From<()> for Reply {
    fn from((): ()) -> Self {
        Outcome::default().into()
    }
}
