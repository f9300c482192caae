//! `galley sessions`: many sessions.

use super::stream;
use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::{Args, Subcommand};
use galley_client::protocol::socket::{Archived, SessionsList, SessionsSearch, SessionsWatch};

/// Rows asked for at a time, so that a long list is never in memory as a whole.
const PAGE: u32 = 500;

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List sessions: pinned first, then the latest first
    #[command(after_help = "Example:\n  galley sessions list --status=running")]
    List(ListArgs),
    /// Stream what keeps a list of all sessions true
    #[command(after_help = "Example:\n  galley sessions watch")]
    Watch {
        /// Go on after this revision of an earlier stream
        #[arg(long, value_name = "REVISION")]
        since: Option<u64>,
    },
    /// Search what was said
    #[command(after_help = "Example:\n  galley sessions search \"ndjson\"")]
    Search(SearchArgs),
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// current, managed, external, all, or a runtime's name [default: current]
    #[arg(long, value_name = "RUNTIME")]
    runtime: Option<String>,
    /// Only this project
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Only this status: idle, connecting, running, waiting_approval, error, completed, cancelled or archived
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only archived sessions
    #[arg(long)]
    archived: bool,
    /// Archived sessions too
    #[arg(long)]
    all: bool,
    /// At most this many
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// The words, taken literally
    query: String,
    /// current, managed, external, all, or a runtime's name [default: current]
    #[arg(long, value_name = "RUNTIME")]
    runtime: Option<String>,
    /// Archived sessions too
    #[arg(long)]
    all: bool,
    /// Only this project
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

impl SessionsCommand {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::List(args) => list(args, engine, output).await,
            Self::Watch { since } => stream::print_live(SessionsWatch { since_revision: since }, engine, output).await,
            Self::Search(args) => {
                let search = SessionsSearch {
                    query: args.query,
                    runtime: args.runtime,
                    all: args.all.then_some(true),
                    project_id: args.project,
                    session_id: args.session,
                    limit: args.limit,
                };
                output.rows(&engine.answer(search).await?.result)
            }
        }
    }
}

async fn list(args: ListArgs, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    let archived = match (args.all, args.archived) {
        (true, _) => Some(Archived::All),
        (false, true) => Some(Archived::Archived),
        (false, false) => None,
    };
    let mut left = args.limit;
    let mut page = SessionsList {
        runtime: args.runtime,
        project_id: args.project,
        status: args.status.as_deref().map(Into::into),
        archived,
        limit: None,
        cursor: None,
    };
    loop {
        let limit = left.map_or(PAGE, |left| left.min(PAGE));
        page.limit = Some(limit);
        let answer = engine.answer(page.clone()).await?;
        output.rows(&answer.result)?;
        output.flush()?;
        left = left.map(|left| left - limit);
        if left == Some(0) || answer.next_cursor.is_none() {
            return Ok(());
        }
        page.cursor = answer.next_cursor;
    }
}
