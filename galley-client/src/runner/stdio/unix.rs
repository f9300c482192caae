//! Descriptors 0 and 1.

use super::Pipes;
use rustix::stdio::{dup2_stdin, dup2_stdout};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Takes standard input and output away from everybody else. What the agent or its children read
/// is empty from here on, and what they print goes to standard error.
pub(in crate::runner) fn claim() -> io::Result<Pipes> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(io::stderr())?;
    Ok(Pipes { input: input.into(), output: output.into() })
}
