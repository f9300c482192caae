//! `galley llm`: the models.

use crate::args::Audit;
use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::{Args, Subcommand};
use galley_client::protocol::socket::{LlmList, LlmSet};

#[derive(Debug, Subcommand)]
pub enum LlmCommand {
    /// List a runtime's models, as it last told them
    #[command(after_help = "Example:\n  galley llm list --runtime=external")]
    List {
        /// current, all, or a runtime's name [default: current]
        #[arg(long, value_name = "RUNTIME")]
        runtime: Option<String>,
    },
    /// Choose a session's model
    #[command(after_help = "Example:\n  galley llm set sess_1 glm-4.5-x")]
    Set(SetArgs),
}

#[derive(Debug, Args)]
pub struct SetArgs {
    /// The session's id
    id: String,
    /// The model's name, in upper or lower case
    name: String,
    #[command(flatten)]
    audit: Audit,
}

impl LlmCommand {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::List { runtime } => output.rows(&engine.answer(LlmList { runtime }).await?.result),
            Self::Set(SetArgs { id, name, audit: Audit { supervisor, reason } }) => {
                output.line(&engine.answer(LlmSet { session_id: id, llm: name, supervisor, reason }).await?.result)
            }
        }
    }
}
