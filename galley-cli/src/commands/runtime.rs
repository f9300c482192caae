//! `galley runtime`: the agents that can be started.

use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::{Args, Subcommand};
use galley_client::protocol::socket::{RuntimeAdd, RuntimeCheck, RuntimeList};
use std::path::Path;

#[derive(Debug, Subcommand)]
pub enum RuntimeCommand {
    /// List the runtimes
    #[command(after_help = "Example:\n  galley runtime list")]
    List,
    /// Configure a runtime
    #[command(after_help = "Example:\n  galley runtime add mine --command=\"python3 /opt/mine/agent.py\"")]
    Add(AddArgs),
    /// Start a runtime for real, wait until it is ready, and stop it
    #[command(after_help = "Example:\n  galley runtime check mine")]
    Check {
        /// The runtime's name
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct AddArgs {
    /// The runtime's name
    name: String,
    /// How it is spoken to: shell or process [default: process]
    #[arg(long, value_name = "BACKEND")]
    backend: Option<String>,
    /// The program and its arguments, split like shell words; no shell runs
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// The agent's folder
    #[arg(long, value_name = "DIRECTORY")]
    ga_path: Option<String>,
    /// Replace what is configured under this name
    #[arg(long)]
    replace: bool,
}

impl RuntimeCommand {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::List => output.rows(&engine.answer(RuntimeList {}).await?.result),
            Self::Add(args) => {
                let add = RuntimeAdd {
                    name: args.name,
                    backend: args.backend.as_deref().map(Into::into),
                    command: args.command.map(|command| from_here(&command)),
                    ga_path: args.ga_path,
                    replace: args.replace.then_some(true),
                };
                output.line(&engine.answer(add).await?.result)
            }
            Self::Check { name } => output.line(&engine.answer(RuntimeCheck { name }).await?.result),
        }
    }
}

/// The command with its files named absolutely: Core starts it from a directory of its own. A word
/// is a file's name if it is one here, seen from where the person types.
fn from_here(command: &str) -> String {
    // What cannot be split is refused where the command is taken.
    let Ok(words) = shell_words::split(command) else { return command.to_owned() };
    let absolute = words.iter().enumerate().map(|(place, word)| {
        let path = Path::new(word);
        // A bare first word is a program on PATH.
        let may_be_file = path.is_relative() && (place > 0 || path.components().count() > 1);
        match std::path::absolute(path) {
            Ok(found) if may_be_file && found.is_file() => found.to_string_lossy().into_owned(),
            _ => word.clone(),
        }
    });
    shell_words::join(absolute)
}
