//! An IPC v0.1 runner that does what its script says, however wrong that is.
//!
//! This thread plays scripts; another reads stdin and answers what cannot wait for a script's end; a
//! third looks whether its parent lives.

#![forbid(unsafe_code)]

mod arguments;
mod children;
mod engine;
mod faults;
mod input;
mod output;
mod shared;
mod steps;

use arguments::{Arguments, Mode};
use engine::Engine;
use galley_testkit::Script;
use output::Output;
use shared::Shared;
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, io, thread};

fn main() -> ExitCode {
    let mode = match Mode::read(env::args().skip(1)) {
        Ok(mode) => mode,
        Err(problem) => return refuse(&problem),
    };
    let done = match mode {
        Mode::Child(child) => child.run(),
        Mode::Help => help(),
        Mode::Run(arguments) => serve(*arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&error.to_string()),
    }
}

fn serve(arguments: Arguments) -> io::Result<()> {
    let output = Output::open(Some(&arguments.session_id))?;
    let shared = Arc::new(Shared::new(output, arguments.llm_no));
    let record = arguments.record.as_deref().map(input::open_record).transpose()?;
    let (reader, watcher) = (Arc::clone(&shared), Arc::clone(&shared));
    let engine = Engine::new(arguments, Arc::clone(&shared));
    thread::Builder::new().name("stdin".to_owned()).spawn(move || input::read(&reader, record))?;
    thread::Builder::new().name("parent".to_owned()).spawn(move || input::watch_parent(&watcher))?;
    engine.run();
    Ok(())
}

/// A mistake in the arguments or scripts: an `error` event for the engine, the same on stderr for
/// people, and exit code 2.
fn refuse(problem: &str) -> ExitCode {
    if let Ok(output) = Output::open(None) {
        output.error("bridge", "error", "start", problem);
    }
    // The event is what counts; nobody may be listening on stderr.
    let _ = io::Write::write_all(&mut io::stderr(), format!("galley-testkit-runner: {problem}\n").as_bytes());
    ExitCode::from(2)
}

fn help() -> io::Result<()> {
    let text = format!(
        "galley-testkit-runner [--session-id ID] [--ga-path DIR] [--cwd DIR] [--workspace-root DIR] [--llm-no N]\n    \
         [--script FILE] [--on-start \"STEPS\"] [--record FILE]\n\n{}",
        Script::table()
    );
    io::Write::write_all(&mut io::stdout(), text.as_bytes())
}
