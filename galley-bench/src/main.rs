//! Benchmarks of Galley: what a figure is with Galley, what it is at the floor (the same work with
//! plain system calls and SQLite) in the same run, and what it should be.
//!
//! `cargo xtask bench` builds everything and runs it. The Core that is measured is a `galley serve`
//! of its own, spoken to over its socket as any program would.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

#[cfg(unix)]
mod suite;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    match suite::run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("galley-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("galley-bench: the benchmarks speak to Unix sockets; run them on Linux or macOS");
    ExitCode::FAILURE
}
