//! One dispatcher behind every door: a request's name decides, its type checks the arguments.

use super::connection::{Answer, Call, Counters, Responder};
use super::watch::WatchStream;
use crate::core::Inner;
use crate::error::Error;
use crate::reads::{self, WaitStream};
use async_trait::async_trait;
use futures::future::BoxFuture;
use galley_protocol::socket::{
    ApprovalModeSet, ApprovalRespond, ApprovalRevoke, Command, CoreInfoGet, CoreShutdown, CoreShutdownResult, LlmSet, ProjectCreate, ProjectDelete,
    ProjectUpdate, RuntimeAdd, RuntimeCheck, RuntimeInstall, RuntimeRemove, RuntimeUse, SessionArchive, SessionBtw, SessionCommand, SessionDelete,
    SessionKill, SessionMove, SessionNew, SessionPin, SessionQueueEdit, SessionRead, SessionRename, SessionRestore, SessionResume, SessionRetry,
    SessionSend, SessionStateGet, SessionStop, SessionWait, SessionWatch, StreamCommand,
};
use serde_json::value::RawValue;
use std::future::Future;
use std::sync::Arc;

#[async_trait]
impl Responder for Inner {
    async fn answer(self: Arc<Self>, call: Call) -> Answer {
        let args = call.args.as_deref();
        match call.command.as_str() {
            SessionNew::NAME => reply(args, |args: SessionNew| self.session_new(args)).await,
            SessionSend::NAME => reply(args, |args: SessionSend| self.session_send(args)).await,
            SessionRetry::NAME => reply(args, |args: SessionRetry| self.session_retry(args)).await,
            SessionQueueEdit::NAME => reply(args, |args: SessionQueueEdit| self.session_queue_edit(args)).await,
            SessionBtw::NAME => reply(args, |args: SessionBtw| self.session_btw(args)).await,
            SessionCommand::NAME => reply(args, |args: SessionCommand| self.session_command(args)).await,
            SessionStateGet::NAME => reply(args, |args: SessionStateGet| self.session_state(args)).await,
            SessionStop::NAME => reply(args, |args: SessionStop| self.session_stop(args)).await,
            SessionKill::NAME => reply(args, |args: SessionKill| self.session_kill(args)).await,
            SessionResume::NAME => reply(args, |args: SessionResume| self.session_resume(args)).await,
            SessionArchive::NAME => reply(args, |args: SessionArchive| self.session_archive(args)).await,
            SessionRestore::NAME => reply(args, |args: SessionRestore| self.session_restore(args)).await,
            SessionMove::NAME => reply(args, |args: SessionMove| self.session_move(args)).await,
            SessionRename::NAME => reply(args, |args: SessionRename| self.session_rename(args)).await,
            SessionPin::NAME => reply(args, |args: SessionPin| self.session_pin(args)).await,
            SessionRead::NAME => reply(args, |args: SessionRead| self.session_read(args)).await,
            SessionDelete::NAME => reply(args, |args: SessionDelete| self.session_delete(args)).await,
            ApprovalRespond::NAME => reply(args, |args: ApprovalRespond| self.approval_respond(args)).await,
            ApprovalRevoke::NAME => reply(args, |args: ApprovalRevoke| self.approval_revoke(args)).await,
            ApprovalModeSet::NAME => reply(args, |args: ApprovalModeSet| self.approval_mode(args)).await,
            LlmSet::NAME => reply(args, |args: LlmSet| self.llm_set(args)).await,
            ProjectCreate::NAME => reply(args, |args: ProjectCreate| self.project_create(args)).await,
            ProjectUpdate::NAME => reply(args, |args: ProjectUpdate| self.project_update(args)).await,
            ProjectDelete::NAME => reply(args, |args: ProjectDelete| self.project_delete(args)).await,
            RuntimeRemove::NAME => Answer::once(reads::arguments(RuntimeRemove::NAME, args).and_then(|args| self.config_file().remove(&args))),
            RuntimeUse::NAME => {
                Answer::once(reads::arguments(RuntimeUse::NAME, args).and_then(|args: RuntimeUse| self.config_file().set_current(&args.name)))
            }
            RuntimeCheck::NAME => reply(args, |args: RuntimeCheck| self.runtime_check(args)).await,
            RuntimeAdd::NAME => reply(args, |args: RuntimeAdd| self.runtime_add(args)).await,
            CoreInfoGet::NAME => Answer::once(reads::arguments::<CoreInfoGet>(CoreInfoGet::NAME, args).map(|_| self.info())),
            CoreShutdown::NAME => Answer::once(reads::arguments::<CoreShutdown>(CoreShutdown::NAME, args).map(|_| {
                self.ask_to_stop();
                CoreShutdownResult { shutting_down: true }
            })),
            SessionWatch::NAME => match reads::arguments(SessionWatch::NAME, args) {
                Ok(args) => Answer::stream(self.session_watch(args, call.request_id).await),
                Err(error) => Answer::Once(Err(error)),
            },
            RuntimeInstall::NAME => {
                Answer::stream(reads::arguments(RuntimeInstall::NAME, args).map(|args| self.runtime_install(args, call.request_id)))
            }
            SessionWait::NAME => match reads::arguments(SessionWait::NAME, args) {
                Ok(args) => Answer::stream(self.session_wait(args, call.request_id).await),
                Err(error) => Answer::Once(Err(error)),
            },
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
    async fn session_watch(&self, args: SessionWatch, request_id: Option<String>) -> Result<WatchStream, Error> {
        let session = self.sessions.get(&args.session_id).await?;
        WatchStream::open(&args, session.log.clone(), self.store.clone(), request_id).await
    }

    async fn session_wait(&self, args: SessionWait, request_id: Option<String>) -> Result<WaitStream, Error> {
        let session = self.sessions.get(&args.session_id).await?;
        let changes = Box::new(session.log.decisions());
        WaitStream::start(self.store.clone(), args, request_id, changes).await
    }
}

/// Answers a command: its arguments are read, its result is written.
async fn reply<C: Command, F: Future<Output = Result<C::Output, Error>>>(args: Option<&RawValue>, run: impl FnOnce(C) -> F) -> Answer {
    match reads::arguments::<C>(C::NAME, args) {
        Ok(args) => Answer::once(run(args).await),
        Err(error) => Answer::Once(Err(error)),
    }
}
