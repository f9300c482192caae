//! The command line's grammar, but for the nouns, which bring their own.

use crate::commands::{approval::ApprovalCommand, core::CoreCommand, runtime::RuntimeCommand, session::SessionCommand, sessions::SessionsCommand};
use crate::run::RunArgs;
use crate::serve::ServeArgs;
use clap::{Args, ColorChoice, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Run AI agents as supervised local processes, and keep everything they say.
#[derive(Debug, Parser)]
#[command(name = "galley", version, color = ColorChoice::Never, disable_help_subcommand = true)]
#[command(after_help = "Example:\n  galley run --auto \"echo hello\"")]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Which Galley is meant.
#[derive(Debug, Default, Args)]
pub struct Global {
    /// The database [default: GALLEY_DB_PATH, else galley/workbench.db in the data directory]
    #[arg(long, global = true, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// The socket [default: GALLEY_SOCKET_PATH, else galley-UID.sock in TMPDIR or /tmp]
    #[arg(long, global = true, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the versions of this program and of what it speaks
    #[command(after_help = "Example:\n  galley version")]
    Version,
    /// Count the sessions
    #[command(after_help = "Example:\n  galley status")]
    Status,
    /// Check the database, the configuration and the runtimes
    #[command(after_help = "Example:\n  galley health")]
    Health,
    /// Many sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// One session
    #[command(subcommand)]
    Session(SessionCommand),
    /// What waits for a yes or a no
    #[command(subcommand)]
    Approval(ApprovalCommand),
    /// The agents that can be started
    #[command(subcommand)]
    Runtime(RuntimeCommand),
    /// The running Galley Core
    #[command(subcommand)]
    Core(CoreCommand),
    /// Run Galley Core until it is told to stop
    Serve(Box<ServeArgs>),
    /// Run one task, show what happens, and end as it ends
    Run(RunArgs),
}

/// Who writes, and why; kept with what is written.
#[derive(Debug, Default, Args)]
pub struct Audit {
    /// The supervisor on whose behalf this is done
    #[arg(long, value_name = "LABEL")]
    pub supervisor: Option<String>,
    /// Why it is done
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Whether the command that `args` names speaks prose, errors included. Asked of command lines that
/// could not be parsed.
pub fn speaks_prose(args: &[OsString]) -> bool {
    let mut words = args.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--db" | "--socket") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            word => return matches!(word, Some("serve" | "run")),
        }
    }
    false
}

/// What was wrong with the command line and what would be right, on one line.
pub fn explain(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let usage = text.lines().find(|line| line.starts_with("Usage:")).unwrap_or_default();
        return format!("a command is missing. {usage} For more information, try '--help'.");
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
