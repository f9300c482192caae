//! What happens to a session as a whole: stopped, resumed, put away, moved, renamed, deleted.

use super::{origin, unexpected};
use crate::core::Inner;
use crate::error::Error;
use crate::session::{Input, Reply, ReplyTo};
use galley_protocol::socket::{
    ArchiveIfBusy, KillDispatch, KillResult, Resumed, SessionArchive, SessionDelete, SessionDeleted, SessionKill, SessionMove, SessionPin,
    SessionRead, SessionRename, SessionRestore, SessionResult, SessionResume, SessionState as StateReport, SessionStateGet, SessionStop, StopResult,
};

impl Inner {
    pub(in crate::server) async fn session_stop(&self, args: SessionStop) -> Result<StopResult, Error> {
        let origin = origin(args.supervisor, args.reason);
        match self.ask_session(&args.session_id, move |to| Input::Stop { origin, to }).await? {
            Reply::Stopped(dispatch) => Ok(StopResult { dispatch }),
            other => Err(unexpected(&other)),
        }
    }

    pub(in crate::server) async fn session_state(&self, args: SessionStateGet) -> Result<StateReport, Error> {
        match self.ask_session(&args.session_id, |to| Input::Report { to }).await? {
            Reply::State(report) => Ok(*report),
            other => Err(unexpected(&other)),
        }
    }

    pub(in crate::server) async fn session_kill(&self, args: SessionKill) -> Result<KillResult, Error> {
        let origin = origin(args.supervisor, args.reason);
        match self.ask_session(&args.session_id, move |to| Input::Kill { origin, to }).await? {
            Reply::RunnerGone => Ok(KillResult { dispatch: KillDispatch::ShutdownSent }),
            Reply::NoRunner => Ok(KillResult { dispatch: KillDispatch::AlreadyStopped }),
            other => Err(unexpected(&other)),
        }
    }

    pub(in crate::server) async fn session_resume(&self, args: SessionResume) -> Result<Resumed, Error> {
        match self.ask_session(&args.session_id, |to| Input::Resume { to }).await? {
            Reply::Resumed(resumed) => Ok(*resumed),
            other => Err(unexpected(&other)),
        }
    }

    pub(in crate::server) async fn session_archive(&self, args: SessionArchive) -> Result<SessionResult, Error> {
        let if_busy = args.if_busy.unwrap_or(ArchiveIfBusy::Stop);
        if !if_busy.is_known() {
            return Err(Error::invalid(format!("ifBusy {:?} is not one of {:?}", if_busy.as_str(), ArchiveIfBusy::WORDS)));
        }
        let origin = origin(args.supervisor, args.reason);
        self.change_session(&args.session_id, move |to| Input::Archive { if_busy, origin, to }).await
    }

    pub(in crate::server) async fn session_restore(&self, args: SessionRestore) -> Result<SessionResult, Error> {
        let origin = origin(args.supervisor, args.reason);
        self.change_session(&args.session_id, move |to| Input::Restore { origin, to }).await
    }

    pub(in crate::server) async fn session_move(&self, args: SessionMove) -> Result<SessionResult, Error> {
        if let Some(project) = &args.to {
            self.check_project(project).await?;
        }
        let (project, origin) = (args.to, origin(args.supervisor, args.reason));
        self.change_session(&args.session_id, move |to| Input::Move { project, origin, to }).await
    }

    pub(in crate::server) async fn session_rename(&self, args: SessionRename) -> Result<SessionResult, Error> {
        let title = args.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(Error::invalid("title is blank; give the session a name"));
        }
        self.change_session(&args.session_id, move |to| Input::Rename { title, to }).await
    }

    pub(in crate::server) async fn session_pin(&self, args: SessionPin) -> Result<SessionResult, Error> {
        let pinned = args.pinned.unwrap_or(true);
        self.change_session(&args.session_id, move |to| Input::Pin { pinned, to }).await
    }

    pub(in crate::server) async fn session_read(&self, args: SessionRead) -> Result<SessionResult, Error> {
        self.change_session(&args.session_id, |to| Input::MarkRead { to }).await
    }

    pub(in crate::server) async fn session_delete(&self, args: SessionDelete) -> Result<SessionDeleted, Error> {
        match self.ask_session(&args.session_id, |to| Input::Delete { to }).await? {
            Reply::Deleted => Ok(SessionDeleted { deleted: true, session_id: args.session_id }),
            other => Err(unexpected(&other)),
        }
    }

    async fn change_session(&self, id: &str, input: impl FnOnce(ReplyTo) -> Input + Send + 'static) -> Result<SessionResult, Error> {
        match self.ask_session(id, input).await? {
            Reply::Session(session) => Ok(SessionResult { session: *session }),
            other => Err(unexpected(&other)),
        }
    }
}
