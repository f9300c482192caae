//! `galley core`: the running Galley Core.

use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::Subcommand;
use galley_client::protocol::socket::{CoreInfoGet, CoreShutdown};

#[derive(Debug, Subcommand)]
pub enum CoreCommand {
    /// Print its process id, paths, limits and counters
    #[command(after_help = "Example:\n  galley core info")]
    Info,
    /// Shut it down
    #[command(after_help = "Example:\n  galley core shutdown")]
    Shutdown,
}

impl CoreCommand {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::Info => output.line(&engine.answer(CoreInfoGet {}).await?.result),
            Self::Shutdown => output.line(&engine.answer(CoreShutdown {}).await?.result),
        }
    }
}
