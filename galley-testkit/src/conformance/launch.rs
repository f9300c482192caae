//! The seam between the suite and what it tests.

use std::io;
use std::time::Duration;

/// Starts runners.
pub trait Launcher {
    /// Starts one. It need not be ready yet.
    ///
    /// # Errors
    /// Why there is no runner.
    fn start(&self, start: &Start) -> io::Result<Box<dyn Connection>>;

    /// Whether a runner is a program that reads lines. One that is not gets the commands of the
    /// protocol alone: checks of lines, arguments and processes are skipped.
    fn is_program(&self) -> bool;
}

/// What a runner is started with.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The session it serves.
    pub session_id: String,
    /// Arguments after those of the protocol.
    pub arguments: Vec<String>,
    /// The process it is to end with, instead of this one.
    pub parent: Option<u32>,
}

/// A started runner. Dropping it ends the runner and all it started.
pub trait Connection {
    /// Hands over `bytes`, one or more whole lines. Does not wait for the runner to read them.
    ///
    /// # Errors
    /// The runner is gone.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// The next line, if there is one within `limit`.
    fn read(&mut self, limit: Duration) -> Received;

    /// Closes the runner's input. A runner that is no program is ended by force.
    fn close_input(&mut self);

    /// Waits for the runner's end, for `limit` at most.
    fn ended(&mut self, limit: Duration) -> Option<Ended>;

    /// The processes of the runner that still run.
    ///
    /// # Errors
    /// The process table cannot be read.
    fn left(&self) -> io::Result<Vec<u32>>;
}

/// What came of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A line, without its newline.
    Line(Vec<u8>),
    /// Nothing came in time.
    Nothing,
    /// The runner's output has ended.
    End,
}

/// How a runner ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
}
