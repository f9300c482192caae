//! What can go wrong in the test kit.

use std::path::PathBuf;
use std::time::Duration;

/// Why a script could not be read or a check failed. Every message says what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A script names a step that does not exist.
    #[error("unknown step `{name}`; the steps are: {known}")]
    UnknownStep {
        /// The name as written.
        name: String,
        /// Every step there is.
        known: String,
    },
    /// A step's arguments are wrong.
    #[error("bad step `{step}`: {problem}; write `{usage}`")]
    BadStep {
        /// The step as written.
        step: String,
        /// What is wrong with it.
        problem: String,
        /// How it is written.
        usage: &'static str,
    },
    /// A scenario names a section that does not exist.
    #[error("unknown section `{name}`; the sections are: [start], [message], [history], [abort], [shutdown]")]
    UnknownSection {
        /// The section as written.
        name: String,
    },
    /// A scenario has a step before its first section.
    #[error("`{line}` stands before the first section; begin with [start], [message], [history], [abort] or [shutdown]")]
    NoSection {
        /// The line.
        line: String,
    },
    /// The runner is not built.
    #[error("no galley-testkit-runner in {looked:?}; build it with `cargo build -p galley-testkit`")]
    RunnerNotFound {
        /// The folders that were searched.
        looked: Vec<PathBuf>,
    },
    /// A condition did not come true in time.
    #[error("waited {waited:?}, but this did not happen: {what}")]
    TimedOut {
        /// How long it was waited for.
        waited: Duration,
        /// The condition, in words.
        what: String,
    },
    /// A watcher saw an index that does not follow the one before.
    #[error("event log {problem}: index {index} came after {previous}: {data}")]
    BrokenOrder {
        /// `gap`, `duplicate` or `step back`.
        problem: &'static str,
        /// The index seen.
        index: u64,
        /// The index before it.
        previous: u64,
        /// The beginning of the event's data.
        data: String,
    },
    /// The indexes are right, but the runner's own sequence numbers show a loss or a repetition.
    #[error("the runner's sequence broke at index {index}: {seq} came after {previous}")]
    BrokenSequence {
        /// The index seen.
        index: u64,
        /// The runner's number.
        seq: u64,
        /// The runner's number before it.
        previous: u64,
    },
    /// The process table could not be read.
    #[error("cannot read the process table: {0}")]
    Processes(#[from] std::io::Error),
}
