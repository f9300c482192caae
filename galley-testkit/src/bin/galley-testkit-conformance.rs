//! Checks a program that speaks IPC v0.1, and says what it does not do as Galley expects.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use clap::Parser;
use galley_testkit::conformance::{Options, Program, check};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Check that a runner speaks the Galley IPC protocol as Galley expects. The exit code is 1 when a
/// check fails.
///
/// The runner is started many times, with the protocol's arguments after COMMAND. What needs a task
/// that only its author can name is skipped without it.
#[derive(Debug, Parser)]
#[command(name = "galley-testkit-conformance")]
struct Arguments {
    /// A task that any run does.
    #[arg(long, value_name = "TEXT", env = "GALLEY_CONFORMANCE_TASK", default_value = "Say hello.")]
    task: String,
    /// A task that asks for an approval.
    #[arg(long, value_name = "TEXT", env = "GALLEY_CONFORMANCE_TASK_APPROVAL")]
    task_approval: Option<String>,
    /// A task that asks the user a question.
    #[arg(long, value_name = "TEXT", env = "GALLEY_CONFORMANCE_TASK_QUESTION")]
    task_question: Option<String>,
    /// A task that goes on for minutes and shows that it has begun.
    #[arg(long, value_name = "TEXT", env = "GALLEY_CONFORMANCE_TASK_LONG")]
    task_long: Option<String>,
    /// A task that prints to standard output, past the protocol.
    #[arg(long, value_name = "TEXT", env = "GALLEY_CONFORMANCE_TASK_PRINT")]
    task_print: Option<String>,
    /// The answer to questions; the first candidate unless given.
    #[arg(long, value_name = "TEXT", env = "GALLEY_CONFORMANCE_ANSWER")]
    answer: Option<String>,
    /// Run these checks alone, by the beginnings of their names; `ready` is always run.
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    only: Vec<String>,
    /// The agent's folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    ga_path: PathBuf,
    /// How long anything may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    limit: u64,
    /// The runner's program and its first arguments.
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let program = Program::new(arguments.command).ga_path(arguments.ga_path);
    let options = Options {
        task: arguments.task,
        approval: arguments.task_approval,
        question: arguments.task_question,
        long: arguments.task_long,
        print: arguments.task_print,
        answer: arguments.answer,
        only: arguments.only,
        limit: Duration::from_secs(arguments.limit),
    };
    let report = check(&program, &options);
    print!("{report}");
    if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
