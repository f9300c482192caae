//! The command line's grammar, but for the nouns, which bring their own.

use crate::commands::approval::ApprovalCommand;
use crate::commands::core::CoreCommand;
use crate::commands::llm::LlmCommand;
use crate::commands::project::ProjectCommand;
use crate::commands::runtime::RuntimeCommand;
use crate::commands::session::SessionCommand;
use crate::commands::sessions::SessionsCommand;
use crate::run::RunArgs;
use crate::serve::ServeArgs;
use clap::{Args, ColorChoice, Parser, Subcommand};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

/// Run AI agents as supervised local processes, and keep everything they say.
#[derive(Debug, Parser)]
#[command(name = "galley", version, color = ColorChoice::Never)]
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
    /// Sessions that belong together
    #[command(subcommand)]
    Project(ProjectCommand),
    /// The models
    #[command(subcommand)]
    Llm(LlmCommand),
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
    /// Print what completes this command line in a shell
    #[command(after_help = "Example:\n  galley completions bash > ~/.local/share/bash-completion/completions/galley")]
    Completions {
        /// The shell
        shell: Shell,
    },
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
            word => return matches!(word, Some("serve" | "run" | "completions" | "help")),
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Every command that does something, by its words.
    fn leaves(command: &clap::Command, words: &[String], found: &mut Vec<(Vec<String>, clap::Command)>) {
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            let words = [words, &[one.get_name().to_owned()]].concat();
            if one.has_subcommands() {
                leaves(one, &words, found);
            } else {
                found.push((words, one.clone()));
            }
        }
    }

    #[test]
    fn every_command_has_an_example_that_is_one() {
        let mut found = Vec::new();
        leaves(&Cli::command(), &["galley".to_owned()], &mut found);
        assert!(found.len() > 50, "{}", found.len());
        for (words, command) in found {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<_> = help.lines().filter_map(|line| line.strip_prefix("  ")).collect();
            assert!(help.starts_with("Example") && !examples.is_empty(), "{words:?}: {help}");
            for example in examples {
                let mut line = shell_words::split(example).unwrap();
                line.retain(|word| !word.starts_with("GALLEY_"));
                line.truncate(line.iter().position(|word| word == ">").unwrap_or(line.len()));
                assert!(line.starts_with(&words), "{example}");
                if let Err(error) = Cli::try_parse_from(&line) {
                    panic!("{example}: {error}");
                }
            }
        }
    }
}
