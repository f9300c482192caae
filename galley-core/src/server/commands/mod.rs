//! The commands that need a running Core, one module per noun: each a function from its typed
//! arguments to its result.

mod approval;
mod create;
mod life;
mod llm;
mod project;
mod runtime;
mod send;

use crate::core::Inner;
use crate::error::Error;
use crate::session::{Input, Reply, ReplyTo, SessionHandle};
use crate::store::ReadStore;
use galley_protocol::RawJson;
use galley_protocol::socket::{ApprovalMode, Origin, Via, Warning};
use serde_json::json;

impl Inner {
    /// Asks a session, taking it up if need be.
    async fn ask_session(&self, id: &str, input: impl FnOnce(ReplyTo) -> Input + Send + 'static) -> Result<Reply, Error> {
        let session = self.sessions.get(id).await?;
        ask(&session, input).await
    }

    /// Says so when somebody writes to a session of another runtime than the current one.
    fn runtime_warning(&self, runtime: &str) -> Option<Warning> {
        let config = self.config().ok()?;
        let current = config.current();
        (runtime != current).then(|| Warning {
            id: "non_current_runtime".to_owned(),
            message: format!("this session belongs to the runtime {runtime}; the current one is {current}"),
            detail: RawJson::new(&json!({ "runtime": runtime, "currentRuntime": current })).ok(),
        })
    }

    /// # Errors
    /// [`Error::InvalidArgs`] when there is no such project.
    async fn check_project(&self, id: &str) -> Result<(), Error> {
        match self.store.project(id).await? {
            Some(_) => Ok(()),
            None => Err(Error::invalid(format!("project {id} does not exist"))),
        }
    }
}

/// Asks a session that somebody holds a door to: its actor cannot be put away meanwhile.
async fn ask(session: &SessionHandle, input: impl FnOnce(ReplyTo) -> Input + Send + 'static) -> Result<Reply, Error> {
    session.ask(input).await.unwrap_or_else(|| Err(Error::DbUnavailable("this Galley Core is shutting down".to_owned())))
}

fn unexpected(reply: &Reply) -> Error {
    Error::Internal(format!("unexpected answer of a session: {reply:?}"))
}

/// Who asks: a supervisor's label makes it a supervisor.
fn origin(supervisor: Option<String>, reason: Option<String>) -> Origin {
    Origin { via: if supervisor.is_some() { Via::Supervisor } else { Via::Cli }, supervisor, reason }
}

fn own_mode(mode: Option<ApprovalMode>) -> Result<Option<ApprovalMode>, Error> {
    match mode {
        Some(ApprovalMode::Unknown(word)) => Err(Error::invalid(format!("approval mode {word:?} is not one of {:?}", ApprovalMode::WORDS))),
        Some(ApprovalMode::Default) | None => Ok(None),
        own => Ok(own),
    }
}
