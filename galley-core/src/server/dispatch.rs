//! One dispatcher behind every door: a request's name decides, its type checks the arguments.

use super::connection::{Answer, Call, Counters, FrameStream, Responder};
use super::feed::FeedStream;
use super::watch::WatchStream;
use crate::core::Inner;
use crate::cursor::{Cursor, Until};
use crate::error::Error;
use crate::reads::{self, FollowStream, ProjectStream, SessionLogs, WaitStream};
use async_trait::async_trait;
use futures::future::BoxFuture;
use galley_protocol::socket::{
    ApprovalModeSet, ApprovalRespond, ApprovalRevoke, Command, CoreInfoGet, CoreShutdown, CoreShutdownResult, EndReason, LlmSet, ProjectCreate,
    ProjectDelete, ProjectFollow, ProjectUpdate, RuntimeAdd, RuntimeCheck, RuntimeInstall, RuntimeRemove, RuntimeUse, SessionArchive, SessionBtw,
    SessionCommand, SessionDelete, SessionFollow, SessionKill, SessionMove, SessionNew, SessionPin, SessionQueueEdit, SessionRead, SessionRename,
    SessionRestore, SessionResume, SessionRetry, SessionSend, SessionStateGet, SessionStop, SessionWait, SessionWatch, SessionsWatch, StreamCommand,
};
use serde_json::value::RawValue;
use std::future::Future;
use std::sync::{Arc, Weak};

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
            SessionWatch::NAME => stream(&call, |args, id| self.session_watch(args, id)).await,
            SessionWait::NAME => stream(&call, |args, id| self.session_wait(args, id)).await,
            SessionFollow::NAME => stream(&call, |args, id| self.session_follow(args, id)).await,
            ProjectFollow::NAME => stream(&call, |args, id| self.project_follow(args, id)).await,
            SessionsWatch::NAME => stream(&call, async |args, id| Ok(FeedStream::open(&args, self.feed.clone(), self.store.clone(), id))).await,
            RuntimeInstall::NAME => stream(&call, async |args, id| Ok(self.runtime_install(args, id))).await,
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

    async fn session_follow(&self, args: SessionFollow, request_id: Option<String>) -> Result<FollowStream, Error> {
        let session = self.sessions.get(&args.session_id).await?;
        let cursor = Cursor::of_log(session.id.clone(), self.store.clone(), session.log.clone(), Until::RunnerGoneOrIdle);
        FollowStream::start(self.store.clone(), args, request_id, cursor).await
    }

    async fn project_follow(self: &Arc<Self>, args: ProjectFollow, request_id: Option<String>) -> Result<ProjectStream, Error> {
        let changes = Box::new(self.store.decisions());
        ProjectStream::start(self.store.clone(), args, request_id, Box::new(LiveLogs(Arc::downgrade(self))), changes).await
    }
}

/// The logs of a running Core's sessions.
struct LiveLogs(Weak<Inner>);

#[async_trait]
impl SessionLogs for LiveLogs {
    async fn cursor(&self, session_id: &str, wanted: bool) -> Option<Cursor> {
        let core = self.0.upgrade()?;
        let session = match core.sessions.peek(session_id) {
            Some(session) if wanted || session.log.is_live() => session,
            None if wanted => core.sessions.get(session_id).await.ok()?,
            _ => return None,
        };
        Some(Cursor::of_log(session_id.to_owned(), core.store.clone(), session.log.clone(), Until::RunnerGoneOrIdle))
    }

    fn over(&self) -> Option<EndReason> {
        self.0.upgrade().is_none_or(|core| core.is_stopping()).then_some(EndReason::CoreShutdown)
    }
}

/// Opens a stream: its arguments are read.
async fn stream<C: StreamCommand, S: FrameStream + 'static>(call: &Call, open: impl AsyncFnOnce(C, Option<String>) -> Result<S, Error>) -> Answer {
    match reads::arguments(C::NAME, call.args.as_deref()) {
        Ok(args) => Answer::stream(open(args, call.request_id.clone()).await),
        Err(error) => Answer::Once(Err(error)),
    }
}

/// Answers a command: its arguments are read, its result is written.
async fn reply<C: Command, F: Future<Output = Result<C::Output, Error>>>(args: Option<&RawValue>, run: impl FnOnce(C) -> F) -> Answer {
    match reads::arguments::<C>(C::NAME, args) {
        Ok(args) => Answer::once(run(args).await),
        Err(error) => Answer::Once(Err(error)),
    }
}
