//! `galley session`: one session.

mod life;
mod send;
mod watch;

pub use send::directory;

use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::{Args, Subcommand, ValueEnum};
use galley_client::protocol::socket::{ExportFormat, SessionBriefGet, SessionExport, SessionQueue, SessionShow, SessionStateGet};
use life::{Action, ArchiveArgs, MoveArgs, PinArgs, RenameArgs, Target};
use send::{BtwArgs, CommandArgs, NewArgs, QueueEditArgs, RetryArgs, SendArgs};
use watch::{FollowArgs, WaitArgs, WatchArgs};

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Create a session and start its first task
    #[command(after_help = "Example:\n  galley session new \"make test\" --approval-mode=auto")]
    New(NewArgs),
    /// Send a message, or the answer to the agent's question
    #[command(after_help = "Example:\n  galley session send sess_1 \"summarize the last turn\"")]
    Send(SendArgs),
    /// Ask a side question; the answer is an event of the session
    #[command(after_help = "Example:\n  galley session btw sess_1 \"how far are you?\"")]
    Btw(BtwArgs),
    /// Send an earlier message again
    #[command(after_help = "Example:\n  galley session retry sess_1")]
    Retry(RetryArgs),
    /// Give a runner a command of its own
    #[command(after_help = "Example:\n  galley session command sess_1 '{\"kind\":\"reinject_tools\"}'")]
    Command(CommandArgs),
    /// Print what waits in a session
    #[command(after_help = "Example:\n  galley session queue sess_1")]
    Queue(One),
    /// Change a message that waits
    #[command(after_help = "Example:\n  galley session queue-edit sess_1 msg_1 remove")]
    QueueEdit(QueueEditArgs),
    /// Stream a session's events
    #[command(after_help = "Example:\n  galley session watch sess_1 --from=run")]
    Watch(WatchArgs),
    /// Stream a session from a snapshot to a snapshot
    #[command(after_help = "Example:\n  galley session follow sess_1 --tail=20")]
    Follow(FollowArgs),
    /// Wait for an answer
    #[command(after_help = "Example:\n  galley session wait sess_1 --until-idle")]
    Wait(WaitArgs),
    /// Print a session's messages, oldest first
    #[command(after_help = "Example:\n  galley session show sess_1 --tail=20")]
    Show(ShowArgs),
    /// Print a session's row
    #[command(after_help = "Example:\n  galley session brief sess_1")]
    Brief(One),
    /// Print what Galley Core has in hand for a session
    #[command(after_help = "Example:\n  galley session state sess_1")]
    State(One),
    /// Print a whole conversation, to be kept elsewhere
    #[command(after_help = "Example:\n  galley session export sess_1 --format=markdown")]
    Export(ExportArgs),
    /// Stop the current run
    #[command(after_help = "Example:\n  galley session stop sess_1 --reason=\"changed my mind\"")]
    Stop(Target),
    /// End a session's runner, by force if need be
    #[command(after_help = "Example:\n  galley session kill sess_1")]
    Kill(Target),
    /// Start a runner and deliver what waits
    #[command(after_help = "Example:\n  galley session resume sess_1")]
    Resume(Target),
    /// Put a session away
    #[command(after_help = "Example:\n  galley session archive sess_1 --if-busy=reject")]
    Archive(ArchiveArgs),
    /// Take a session back from the archive
    #[command(after_help = "Example:\n  galley session restore sess_1")]
    Restore(Target),
    /// Move a session into a project, or out of one
    #[command(after_help = "Example:\n  galley session move sess_1 --to=proj_1")]
    Move(MoveArgs),
    /// Give a session another title
    #[command(after_help = "Example:\n  galley session rename sess_1 \"weekly review\"")]
    Rename(RenameArgs),
    /// Sort a session first
    #[command(after_help = "Example:\n  galley session pin sess_1")]
    Pin(PinArgs),
    /// Mark a session as read
    #[command(after_help = "Example:\n  galley session read sess_1")]
    Read(Target),
    /// Delete a session with all that belongs to it
    #[command(after_help = "Example:\n  galley session delete sess_1")]
    Delete(Target),
}

#[derive(Debug, Args)]
pub struct One {
    /// The session's id
    id: String,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The session's id
    id: String,
    /// Only the last N messages
    #[arg(long, value_name = "N")]
    tail: Option<u32>,
    /// Only messages before this one
    #[arg(long, value_name = "MESSAGE")]
    before: Option<String>,
    /// At most this many, the last ones
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Internal rows too
    #[arg(long)]
    internal: bool,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The session's id
    id: String,
    /// What to write it in [default: json]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// The rows, in one object
    Json,
    /// A document, in the field `content`
    Markdown,
}

impl SessionCommand {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::New(args) => output.line(&engine.answer(args.command()?).await?.result),
            Self::Send(args) => output.line(&engine.answer(args.command()).await?.result),
            Self::Btw(args) => args.run(engine, output).await,
            Self::Retry(args) => args.run(engine, output).await,
            Self::Command(args) => args.run(engine, output).await,
            Self::Queue(One { id }) => output.rows(&engine.answer(SessionQueue { session_id: id }).await?.result),
            Self::QueueEdit(args) => args.run(engine, output).await,
            Self::Watch(args) => args.run(engine, output).await,
            Self::Follow(args) => args.run(engine, output).await,
            Self::Wait(args) => args.run(engine, output).await,
            Self::Show(args) => output.rows(&engine.answer(args.command()).await?.result),
            Self::Brief(One { id }) => output.line(&engine.answer(SessionBriefGet { session_id: id }).await?.result),
            Self::State(One { id }) => output.line(&engine.answer(SessionStateGet { session_id: id }).await?.result),
            Self::Export(args) => output.line(&engine.answer(args.command()).await?.result),
            Self::Stop(target) => target.run(Action::Stop, engine, output).await,
            Self::Kill(target) => target.run(Action::Kill, engine, output).await,
            Self::Resume(target) => target.run(Action::Resume, engine, output).await,
            Self::Archive(args) => args.run(engine, output).await,
            Self::Restore(target) => target.run(Action::Restore, engine, output).await,
            Self::Move(args) => args.run(engine, output).await,
            Self::Rename(args) => args.run(engine, output).await,
            Self::Pin(args) => args.run(engine, output).await,
            Self::Read(target) => target.run(Action::Read, engine, output).await,
            Self::Delete(target) => target.run(Action::Delete, engine, output).await,
        }
    }
}

impl ShowArgs {
    fn command(self) -> SessionShow {
        SessionShow { session_id: self.id, tail: self.tail, before: self.before, limit: self.limit, internal: self.internal.then_some(true) }
    }
}

impl ExportArgs {
    fn command(self) -> SessionExport {
        let format = self.format.map(|format| match format {
            Format::Json => ExportFormat::Json,
            Format::Markdown => ExportFormat::Markdown,
        });
        SessionExport { session_id: self.id, format }
    }
}
