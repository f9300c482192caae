//! A session as a whole.

use crate::args::Audit;
use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::{Args, ValueEnum};
use galley_client::protocol::socket::{
    ArchiveIfBusy, SessionArchive, SessionDelete, SessionKill, SessionMove, SessionPin, SessionRead, SessionRename, SessionRestore, SessionResume,
    SessionStop,
};

/// One session, and who asks.
#[derive(Debug, Args)]
pub struct Target {
    /// The session's id
    id: String,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Args)]
pub struct ArchiveArgs {
    #[command(flatten)]
    target: Target,
    /// What to do with a session that is busy [default: stop]
    #[arg(long, value_name = "ACTION")]
    if_busy: Option<Busy>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Busy {
    /// Stop it first
    Stop,
    /// Refuse with `busy`
    Reject,
}

#[derive(Debug, Args)]
pub struct MoveArgs {
    #[command(flatten)]
    target: Target,
    /// The project [default: none, the session is ungrouped]
    #[arg(long, value_name = "ID")]
    to: Option<String>,
}

#[derive(Debug, Args)]
pub struct RenameArgs {
    /// The session's id
    id: String,
    /// The title
    title: String,
    #[command(flatten)]
    audit: Audit,
}

#[derive(Debug, Args)]
pub struct PinArgs {
    #[command(flatten)]
    target: Target,
    /// Sort it first no longer
    #[arg(long)]
    off: bool,
}

/// What is done to a session as a whole.
pub enum Action {
    Stop,
    Kill,
    Resume,
    Restore,
    Read,
    Delete,
}

impl Target {
    pub async fn run(self, action: Action, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let Self { id: session_id, audit: Audit { supervisor, reason } } = self;
        let answer = match action {
            Action::Stop => engine.answer(SessionStop { session_id, supervisor, reason }).await?,
            Action::Kill => engine.answer(SessionKill { session_id, supervisor, reason }).await?,
            Action::Resume => engine.answer(SessionResume { session_id, supervisor, reason }).await?,
            Action::Restore => engine.answer(SessionRestore { session_id, supervisor, reason }).await?,
            Action::Read => engine.answer(SessionRead { session_id, supervisor, reason }).await?,
            Action::Delete => engine.answer(SessionDelete { session_id, supervisor, reason }).await?,
        };
        output.line(&answer.result)
    }
}

impl ArchiveArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let if_busy = self.if_busy.map(|action| match action {
            Busy::Stop => ArchiveIfBusy::Stop,
            Busy::Reject => ArchiveIfBusy::Reject,
        });
        let Target { id: session_id, audit: Audit { supervisor, reason } } = self.target;
        output.line(&engine.answer(SessionArchive { session_id, if_busy, supervisor, reason }).await?.result)
    }
}

impl MoveArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let Target { id: session_id, audit: Audit { supervisor, reason } } = self.target;
        output.line(&engine.answer(SessionMove { session_id, to: self.to, supervisor, reason }).await?.result)
    }
}

impl RenameArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let Audit { supervisor, reason } = self.audit;
        output.line(&engine.answer(SessionRename { session_id: self.id, title: self.title, supervisor, reason }).await?.result)
    }
}

impl PinArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let Target { id: session_id, audit: Audit { supervisor, reason } } = self.target;
        output.line(&engine.answer(SessionPin { session_id, pinned: Some(!self.off), supervisor, reason }).await?.result)
    }
}
