//! The usual calls by noun, as the command line reads. Each is [`Client::call`] with its most used
//! arguments; for the others, build the command and call it.

use crate::client::{Client, Page};
use crate::error::Error;
use crate::stream::{Wait, Watch, WatchOptions};
use galley_protocol::ipc::Decision;
use galley_protocol::socket::{
    Approval, ApprovalList, ApprovalMode, ApprovalModeSet, ApprovalRespond, MessageBrief, NewSession, RuntimeAdd, RuntimeBrief, RuntimeCheck,
    RuntimeCheckResult, RuntimeList, SearchHit, SessionBrief, SessionBriefGet, SessionNew, SessionSend, SessionShow, SessionState, SessionStateGet,
    SessionStop, SessionWait, SessionsList, SessionsSearch, StopDispatch, Submitted,
};

/// Many sessions.
#[derive(Debug, Clone, Copy)]
pub struct Sessions<'a>(pub(crate) &'a Client);

impl Sessions<'_> {
    /// One page of the list.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn list(&self, filter: SessionsList) -> Result<Page<SessionBrief>, Error> {
        self.0.page(filter).await
    }

    /// Searches message bodies of the current runtime's sessions.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn search(&self, query: impl Into<String>) -> Result<Vec<SearchHit>, Error> {
        self.0.call(SessionsSearch { query: query.into(), ..SessionsSearch::default() }).await
    }

    /// Creates a session and starts its first task.
    ///
    /// # Errors
    /// As [`Client::call`]; `runner_error` when the agent could not be started, with the ids of
    /// what was stored in `detail`.
    pub async fn create(&self, session: SessionNew) -> Result<NewSession, Error> {
        self.0.call(session).await
    }
}

/// One session.
#[derive(Debug, Clone)]
pub struct Session<'a> {
    pub(crate) client: &'a Client,
    pub(crate) id: String,
}

impl Session<'_> {
    /// Its row.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn brief(&self) -> Result<SessionBrief, Error> {
        self.client.call(SessionBriefGet { session_id: self.id.clone() }).await
    }

    /// Its transcript, or the last `tail` messages of it, oldest first.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn show(&self, tail: Option<u32>) -> Result<Vec<MessageBrief>, Error> {
        self.client.call(SessionShow { session_id: self.id.clone(), tail, ..SessionShow::default() }).await
    }

    /// What Core has in hand for it.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn state(&self) -> Result<SessionState, Error> {
        self.client.call(SessionStateGet { session_id: self.id.clone() }).await
    }

    /// Sends a message, or answers the question the agent asked.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn send(&self, content: impl Into<String>) -> Result<Submitted, Error> {
        self.client.call(SessionSend { session_id: self.id.clone(), content: content.into(), ..SessionSend::default() }).await
    }

    /// Stops its current run.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn stop(&self) -> Result<StopDispatch, Error> {
        Ok(self.client.call(SessionStop { session_id: self.id.clone(), ..SessionStop::default() }).await?.dispatch)
    }

    /// Its events.
    pub fn watch(&self, options: WatchOptions) -> Watch {
        self.client.watch(self.id.clone(), options)
    }

    /// Waits for its answer; `options.session_id` is filled in.
    pub fn wait(&self, options: SessionWait) -> Wait {
        self.client.wait(SessionWait { session_id: self.id.clone(), ..options })
    }
}

/// What waits for a yes or a no.
#[derive(Debug, Clone, Copy)]
pub struct Approvals<'a>(pub(crate) &'a Client);

impl Approvals<'_> {
    /// Those that are pending, oldest first.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn list(&self) -> Result<Vec<Approval>, Error> {
        self.0.call(ApprovalList::default()).await
    }

    /// Answers one by Core's id of it.
    ///
    /// # Errors
    /// As [`Client::call`]; `invalid_args` when somebody was first.
    pub async fn respond(&self, id: impl Into<String>, decision: Decision) -> Result<Approval, Error> {
        let command = ApprovalRespond { id: id.into(), session_id: None, decision, supervisor: None, reason: None };
        Ok(self.0.call(command).await?.approval)
    }

    /// Sets how approvals are handled, for one session or as the default.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn set_mode(&self, session_id: Option<String>, mode: ApprovalMode) -> Result<ApprovalMode, Error> {
        Ok(self.0.call(ApprovalModeSet { session_id, mode }).await?.mode)
    }
}

/// The agents that can be started.
#[derive(Debug, Clone, Copy)]
pub struct Runtimes<'a>(pub(crate) &'a Client);

impl Runtimes<'_> {
    /// All that are configured.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn list(&self) -> Result<Vec<RuntimeBrief>, Error> {
        self.0.call(RuntimeList::default()).await
    }

    /// Configures one.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn add(&self, runtime: RuntimeAdd) -> Result<RuntimeBrief, Error> {
        self.0.call(runtime).await
    }

    /// Starts one for real, waits until it is ready, and stops it.
    ///
    /// # Errors
    /// As [`Client::call`]; `runner_error` when it did not start.
    pub async fn check(&self, name: impl Into<String>) -> Result<RuntimeCheckResult, Error> {
        self.0.call(RuntimeCheck { name: name.into() }).await
    }
}
