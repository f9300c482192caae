//! The `galley` command, as a library, so that packages of other languages install the same one.
//!
//! Agent API commands print JSON, one object per line, and nothing else; their errors are one JSON
//! line on standard output and an exit code (Agent API §5). `serve` and `run` are for people and
//! speak prose.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod engine;
mod output;
mod run;
mod serve;
mod signals;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use engine::Engine;
use output::{Failure, Output};
use std::ffi::OsString;
use std::io::Write;

/// Runs the command line `args`, the program's name first, and returns the exit code.
///
/// It reads and writes the process's standard streams, and installs signal handlers for the
/// commands that last.
pub fn main<A: Into<OsString> + Clone>(args: impl IntoIterator<Item = A>) -> i32 {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, args::speaks_prose(&args)),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Output::new().finish(Err(error.into())),
    };
    let code = runtime.block_on(dispatch(cli));
    // A thread that still reads the terminal must not keep the program.
    runtime.shutdown_background();
    code
}

async fn dispatch(cli: Cli) -> i32 {
    let engine = Engine::new(cli.global);
    let mut output = Output::new();
    let result = match cli.command {
        Command::Serve(args) => return serve::serve(*args, &engine).await,
        Command::Run(args) => return run::run(args, &engine).await,
        Command::Completions { shell } => output.completions(shell, &mut Cli::command()),
        Command::Version => commands::meta::version(&mut output),
        Command::Status => commands::meta::status(&engine, &mut output).await,
        Command::Health => commands::meta::health(&engine, &mut output).await,
        Command::Sessions(command) => command.run(&engine, &mut output).await,
        Command::Session(command) => command.run(&engine, &mut output).await,
        Command::Approval(command) => command.run(&engine, &mut output).await,
        Command::Project(command) => command.run(&engine, &mut output).await,
        Command::Llm(command) => command.run(&engine, &mut output).await,
        Command::Runtime(command) => command.run(&engine, &mut output).await,
        Command::Core(command) => command.run(&engine, &mut output).await,
    };
    output.finish(result)
}

/// Answers a command line that was not understood, or that asked for help.
fn refuse(error: &clap::Error, prose: bool) -> i32 {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render().to_string();
            std::io::stdout().write_all(text.as_bytes()).ok();
            0
        }
        _ if prose => {
            std::io::stderr().write_all(error.render().to_string().as_bytes()).ok();
            2
        }
        _ => Output::new().finish(Err(Failure::invalid_args(args::explain(error)))),
    }
}
