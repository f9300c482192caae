//! One dispatcher behind every door: a request's name decides, its type checks the arguments.

use super::connection::{Answer, Call, Counters, Responder};
use super::watch::WatchStream;
use crate::core::Inner;
use crate::error::Error;
use crate::reads::{self, WaitStream};
use crate::session::{Input, NewMessage, Reply, SessionHandle, already_answered, new_message_id, not_found, submitted_again};
use crate::store::{ApprovalQuery, ReadStore, SessionRow, SessionStore};
use crate::time::Timestamp;
use async_trait::async_trait;
use futures::future::BoxFuture;
use galley_protocol::ipc::Decision;
use galley_protocol::socket::{
    ApprovalMode, ApprovalModeResult, ApprovalModeSet, ApprovalRespond, ApprovalRespondResult, Command, CoreInfoGet, CoreShutdown,
    CoreShutdownResult, IfBusy, NewSession, Origin, RuntimeAdd, RuntimeCheck, RuntimeCheckResult, SessionNew, SessionSend,
    SessionState as StateReport, SessionStateGet, SessionStatus, SessionStop, SessionWait, SessionWatch, StopResult, StreamCommand, Submitted, Via,
};
use serde_json::value::RawValue;
use std::sync::Arc;

/// A title taken from the first message, in characters.
const TITLE_CHARS: usize = 80;

#[async_trait]
impl Responder for Inner {
    async fn answer(self: Arc<Self>, call: Call) -> Answer {
        let args = call.args.as_deref();
        match call.command.as_str() {
            SessionNew::NAME => Answer::once(self.session_new(args).await),
            SessionSend::NAME => Answer::once(self.session_send(args).await),
            SessionStop::NAME => Answer::once(self.session_stop(args).await),
            SessionStateGet::NAME => Answer::once(self.session_state(args).await),
            ApprovalRespond::NAME => Answer::once(self.approval_respond(args).await),
            ApprovalModeSet::NAME => Answer::once(self.approval_mode(args).await),
            RuntimeAdd::NAME => Answer::once(reads::arguments::<RuntimeAdd>(RuntimeAdd::NAME, args).and_then(|add| self.config_file().add(&add))),
            RuntimeCheck::NAME => Answer::once(self.runtime_check(args).await),
            CoreInfoGet::NAME => Answer::once(reads::arguments::<CoreInfoGet>(CoreInfoGet::NAME, args).map(|_| self.info())),
            CoreShutdown::NAME => Answer::once(reads::arguments::<CoreShutdown>(CoreShutdown::NAME, args).map(|_| {
                self.ask_to_stop();
                CoreShutdownResult { shutting_down: true }
            })),
            SessionWatch::NAME => Answer::stream(self.session_watch(args, call.request_id).await),
            SessionWait::NAME => Answer::stream(self.session_wait(args, call.request_id).await),
            command => match reads::answer(self.as_ref(), command, args).await {
                Some(result) => Answer::Once(result),
                None => Answer::Unknown(call.command),
            },
        }
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn stopped(&self) -> BoxFuture<'static, ()> {
        Self::stopped(self)
    }
}

impl Inner {
    async fn session_new(&self, args: Option<&RawValue>) -> Result<NewSession, Error> {
        let args: SessionNew = reads::arguments(SessionNew::NAME, args)?;
        if args.task.trim().is_empty() {
            return Err(Error::invalid("task is blank; say what the session is to do"));
        }
        if let Some(id) = &args.client_request_id
            && let Some((session_id, message_id)) = self.store.request(id).await?
        {
            return self.created_before(&session_id, &message_id).await;
        }
        if let Some(cwd) = &args.cwd
            && !std::path::Path::new(cwd).is_absolute()
        {
            return Err(Error::invalid(format!("cwd {cwd:?} is not absolute")));
        }
        if let Some(project) = &args.project_id {
            return Err(Error::invalid(format!("project {project} does not exist")));
        }
        if let Some(llm) = &args.llm {
            return Err(Error::invalid(format!("model {llm:?} is not known; no runtime has listed its models yet")));
        }
        let config = self.config()?;
        let runtime = config.runtime(args.runtime.as_deref().unwrap_or("current")).map_err(|error| Error::invalid(error.to_string()))?;
        let now = Timestamp::now();
        let origin = origin(args.supervisor, args.reason);
        let row = SessionRow {
            id: format!("sess_{}", &uuid::Uuid::new_v4().simple().to_string()[..20]),
            project_id: None,
            title: args.title.as_deref().map(title_of).filter(|title| !title.is_empty()).unwrap_or_else(|| title_of(&args.task)),
            status: SessionStatus::Idle,
            summary: None,
            turn_count: 0,
            last_activity_at: now,
            created_at: now,
            updated_at: now,
            pinned: None,
            has_unread: None,
            origin: Some(origin.clone()),
            llm: None,
            llm_index: None,
            runtime_kind: runtime.kind(),
            runtime_label: runtime.label().to_owned(),
            runtime_id: runtime.name.clone(),
            prompt_profile: None,
            approval_mode: own_mode(args.approval_mode)?,
            last_exit: None,
            ask: None,
            cwd: args.cwd,
            run: 0,
            run_first_index: 0,
        };
        let session = self.sessions.create(row)?;
        let message = NewMessage {
            id: new_message_id(),
            content: args.task,
            origin,
            if_busy: IfBusy::Queue,
            spawn: true,
            client_request_id: args.client_request_id,
        };
        match ask(&session, |to| Input::Create { message, to }).await? {
            Reply::Created(created) => Ok(*created),
            other => Err(unexpected(&other)),
        }
    }

    async fn created_before(&self, session_id: &str, message_id: &str) -> Result<NewSession, Error> {
        let session = self.store.session(session_id).await?.ok_or_else(|| not_found(session_id))?;
        let message = self.store.message(message_id).await?.ok_or_else(|| not_found(session_id))?;
        let dispatch = submitted_again(message.state.as_ref());
        Ok(NewSession { session, message, dispatch, warning: None })
    }

    async fn session_send(&self, args: Option<&RawValue>) -> Result<Submitted, Error> {
        let args: SessionSend = reads::arguments(SessionSend::NAME, args)?;
        if args.content.trim().is_empty() {
            return Err(Error::invalid("content is blank; say something"));
        }
        let if_busy = args.if_busy.unwrap_or(IfBusy::Queue);
        if !if_busy.is_known() {
            return Err(Error::invalid(format!("ifBusy {if_busy:?} is not one of {:?}", IfBusy::WORDS)));
        }
        if let Some(id) = &args.client_request_id
            && let Some((session_id, message_id)) = self.store.request(id).await?
        {
            if session_id != args.session_id {
                return Err(Error::invalid(format!("clientRequestId {id} was used for session {session_id}")));
            }
            let message = self.store.message(&message_id).await?;
            let dispatch = submitted_again(message.as_ref().and_then(|message| message.state.as_ref()));
            return Ok(Submitted { message, dispatch, queue: None, warning: None });
        }
        let message = NewMessage {
            id: new_message_id(),
            content: args.content,
            origin: origin(args.supervisor, args.reason),
            if_busy,
            spawn: args.spawn.unwrap_or(true),
            client_request_id: args.client_request_id,
        };
        match self.ask_session(&args.session_id, move |to| Input::Send { message, to }).await? {
            Reply::Submitted(submitted) => Ok(*submitted),
            other => Err(unexpected(&other)),
        }
    }

    async fn session_stop(&self, args: Option<&RawValue>) -> Result<StopResult, Error> {
        let args: SessionStop = reads::arguments(SessionStop::NAME, args)?;
        let origin = origin(args.supervisor, args.reason);
        match self.ask_session(&args.session_id, move |to| Input::Stop { origin, to }).await? {
            Reply::Stopped(dispatch) => Ok(StopResult { dispatch }),
            other => Err(unexpected(&other)),
        }
    }

    async fn session_state(&self, args: Option<&RawValue>) -> Result<StateReport, Error> {
        let args: SessionStateGet = reads::arguments(SessionStateGet::NAME, args)?;
        match self.ask_session(&args.session_id, |to| Input::Report { to }).await? {
            Reply::State(report) => Ok(*report),
            other => Err(unexpected(&other)),
        }
    }

    async fn session_watch(&self, args: Option<&RawValue>, request_id: Option<String>) -> Result<WatchStream, Error> {
        let args: SessionWatch = reads::arguments(SessionWatch::NAME, args)?;
        let session = self.sessions.get(&args.session_id).await?;
        WatchStream::open(&args, session.log.clone(), self.store.clone(), request_id).await
    }

    async fn session_wait(&self, args: Option<&RawValue>, request_id: Option<String>) -> Result<WaitStream, Error> {
        let args: SessionWait = reads::arguments(SessionWait::NAME, args)?;
        let session = self.sessions.get(&args.session_id).await?;
        let changes = Box::new(session.log.decisions());
        WaitStream::start(self.store.clone(), args, request_id, changes).await
    }

    async fn approval_respond(&self, args: Option<&RawValue>) -> Result<ApprovalRespondResult, Error> {
        let args: ApprovalRespond = reads::arguments(ApprovalRespond::NAME, args)?;
        if !args.decision.is_known() {
            return Err(Error::invalid(format!("decision {:?} is not one of {:?}", args.decision.as_str(), Decision::WORDS)));
        }
        let session_id = match (&args.session_id, self.store.approval_session(&args.id).await?) {
            (Some(given), Some(owner)) if *given != owner => {
                return Err(Error::invalid(format!("approval {} belongs to session {owner}, not {given}", args.id)));
            }
            (_, Some(owner)) => owner,
            (Some(given), None) => given.clone(),
            (None, None) => return Err(Error::NotFound(format!("approval {} does not exist; a runner's own id needs sessionId", args.id))),
        };
        let origin = origin(args.supervisor, args.reason);
        let (id, decision) = (args.id.clone(), args.decision);
        match self.ask_session(&session_id, move |to| Input::Respond { id, decision, origin, to }).await {
            Ok(Reply::Approved(approval)) => Ok(ApprovalRespondResult { approval: *approval }),
            Ok(other) => Err(unexpected(&other)),
            Err(Error::NotFound(message)) => Err(self.settled_approval(&session_id, &args.id).await?.unwrap_or(Error::NotFound(message))),
            Err(error) => Err(error),
        }
    }

    /// The error for an approval that is not open any more: it says how it ended.
    async fn settled_approval(&self, session_id: &str, id: &str) -> Result<Option<Error>, Error> {
        let query = ApprovalQuery { session_id: Some(session_id.to_owned()), id: None, all: true };
        let all = self.store.approvals(&query).await?;
        Ok(all.iter().rev().find(|approval| approval.id == id || approval.approval_id == id).map(already_answered))
    }

    async fn approval_mode(&self, args: Option<&RawValue>) -> Result<ApprovalModeResult, Error> {
        let args: ApprovalModeSet = reads::arguments(ApprovalModeSet::NAME, args)?;
        let own = own_mode(Some(args.mode.clone()))?;
        let Some(session_id) = args.session_id else {
            let mode = own.unwrap_or(ApprovalMode::Ask);
            self.set_default_mode(mode.clone()).await?;
            return Ok(ApprovalModeResult { mode });
        };
        match self.ask_session(&session_id, |to| Input::SetMode { mode: own, to }).await? {
            Reply::Mode(mode) => Ok(ApprovalModeResult { mode }),
            other => Err(unexpected(&other)),
        }
    }

    async fn runtime_check(&self, args: Option<&RawValue>) -> Result<RuntimeCheckResult, Error> {
        let args: RuntimeCheck = reads::arguments(RuntimeCheck::NAME, args)?;
        self.check_runtime(&args.name).await
    }

    /// Asks a session, taking it up if need be.
    async fn ask_session(&self, id: &str, input: impl FnOnce(crate::session::ReplyTo) -> Input + Send + 'static) -> Result<Reply, Error> {
        let session = self.sessions.get(id).await?;
        ask(&session, input).await
    }
}

/// Asks a session that somebody holds a door to: its actor cannot be put away meanwhile.
async fn ask(session: &SessionHandle, input: impl FnOnce(crate::session::ReplyTo) -> Input + Send + 'static) -> Result<Reply, Error> {
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

/// The first characters of a text, on one line, without control characters.
fn title_of(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.retain(|character| !character.is_control());
    if let Some((end, _)) = line.char_indices().nth(TITLE_CHARS) {
        line.truncate(end);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_cut_at_a_character() {
        assert_eq!(title_of("  list\n\tall   files "), "list all files");
        let long = "🦀".repeat(100);
        assert_eq!(title_of(&long), "🦀".repeat(80));
        assert_eq!(title_of("a\nb\u{1b}[31m\0c"), "a b[31mc");
    }
}
