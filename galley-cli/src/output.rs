//! What Agent API commands print: JSON lines on standard output, and nothing else anywhere.

use clap_complete::Shell;
use galley_client::Error;
use galley_client::protocol::socket::{ErrorBody, ErrorTag};
use serde_json::value::RawValue;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// Something went wrong; it becomes the error line and the exit code.
    Error(Error),
    /// Nobody reads what is printed any more. That is no error.
    Closed,
}

impl Failure {
    /// A wrong command line.
    pub fn invalid_args(message: String) -> Self {
        Self::Error(Error::Api { tag: ErrorTag::InvalidArgs, message, detail: None })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Error(Error::Api { tag: ErrorTag::Internal, message: error.to_string(), detail: None }),
        }
    }
}

/// Standard output.
pub struct Output(BufWriter<Stdout>);

impl Output {
    pub fn new() -> Self {
        Self(BufWriter::new(io::stdout()))
    }

    /// Prints one line.
    pub fn line(&mut self, json: &[u8]) -> Result<(), Failure> {
        self.0.write_all(json)?;
        self.0.write_all(b"\n")?;
        Ok(())
    }

    /// Prints each element of a JSON array on a line of its own, as it was written.
    pub fn rows(&mut self, array: &[u8]) -> Result<(), Failure> {
        let rows: Vec<&RawValue> = serde_json::from_slice(array).map_err(|error| Error::Protocol(format!("a list was expected: {error}")))?;
        rows.into_iter().try_for_each(|row| self.line(row.get().as_bytes()))
    }

    /// Prints the script that completes a command line in a shell.
    pub fn completions(&mut self, shell: Shell, command: &mut clap::Command) -> Result<(), Failure> {
        // Written as a whole first: the generator does not survive a reader that goes away.
        let mut script = Vec::new();
        clap_complete::generate(shell, command, "galley", &mut script);
        self.0.write_all(&script)?;
        Ok(())
    }

    /// Lets the reader have what was printed.
    pub fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.0.flush()?)
    }

    /// Ends a command: prints the error, if it is one, and returns the exit code.
    pub fn finish(mut self, result: Result<(), Failure>) -> i32 {
        let error = match result.and_then(|()| self.flush()) {
            Ok(()) | Err(Failure::Closed) => return 0,
            Err(Failure::Error(error)) => error,
        };
        let (tag, message, detail) = match error {
            Error::Api { tag: ErrorTag::SchemaMismatch, message, detail } => (ErrorTag::InvalidArgs, format!("schema_mismatch: {message}"), detail),
            Error::Api { tag, message, detail } => (tag, message, detail),
            other => (other.tag(), other.to_string(), None),
        };
        let code = tag.exit_code();
        if let Ok(line) = serde_json::to_vec(&ErrorBody::new(tag, message, detail)) {
            // A reader that is gone does not change how the command ended.
            let _ = self.line(&line).and_then(|()| self.flush());
        }
        code.into()
    }
}
