//! The floors that Galley is measured against: the least that each job takes, in plain code.

#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "a program for people at a terminal")]

#[cfg(unix)]
mod database;
#[cfg(unix)]
mod echo;
#[cfg(unix)]
mod engine;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["echo", socket] => echo::serve(socket),
        ["engine", socket, database, runner, session] => engine::run(socket, database, runner, session),
        ["answer", socket, database] => database::answer(socket, database),
        ["read", database] => database::read(database),
        _ => Err(anyhow::anyhow!("galley-bench starts this program itself")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("galley-bench-floor: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
