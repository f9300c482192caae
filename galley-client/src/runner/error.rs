//! What can go wrong in an agent, and how it is told (IPC protocol §4.10).

use super::text::{ERROR_MESSAGE, clip};
use galley_protocol::ipc::{Category, ErrorEvent, Severity};
use std::error::Error;

/// An error that says how it is to be reported. Returned by an agent, it ends the run.
///
/// Any [`std::error::Error`] becomes one through `?`: category `runtime`, severity `error`,
/// retryable.
#[derive(Debug, Clone)]
#[must_use]
pub struct AgentError(Box<Report>);

#[derive(Debug, Clone)]
struct Report {
    message: String,
    category: Category,
    severity: Severity,
    retryable: bool,
    hint: Option<String>,
    context: Option<String>,
}

impl AgentError {
    /// An error of the agent, its model or its tools: category `runtime`, severity `error`, worth
    /// another try.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Report {
            message: message.into(),
            category: Category::Runtime,
            severity: Severity::Error,
            retryable: true,
            hint: None,
            context: None,
        }))
    }

    /// A request that is fine in itself and cannot be met now, or by this agent.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(message).category(Category::Business).retryable(false)
    }

    /// With another category: `business` never makes a run a failed one.
    pub fn category(mut self, category: Category) -> Self {
        self.0.category = category;
        self
    }

    /// With another severity.
    pub fn severity(mut self, severity: Severity) -> Self {
        self.0.severity = severity;
        self
    }

    /// Whether trying again may help.
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// What the user can do: `check_llm_config`, `network` or `quota_exceeded`.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// What was being done.
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.0.context = Some(context.into());
        self
    }

    /// The error's words.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The event, with `context` unless the error has its own.
    pub(super) fn event(self, context: &str) -> ErrorEvent {
        let report = *self.0;
        let words = report.message.split_whitespace().collect::<Vec<_>>().join(" ");
        ErrorEvent {
            session_id: None,
            message: if words.is_empty() { "unknown error".to_owned() } else { clip(&words, ERROR_MESSAGE) },
            category: report.category,
            severity: report.severity,
            retryable: report.retryable,
            hint: report.hint,
            context: Some(report.context.unwrap_or_else(|| context.to_owned())),
            traceback: None,
            source: None,
            exit_code: None,
            signal: None,
            stderr_tail: None,
            timestamp: None,
        }
    }
}

impl<E: Error> From<E> for AgentError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        Self::new(message)
    }
}
