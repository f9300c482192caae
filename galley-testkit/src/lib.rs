//! What Galley's tests measure with: a runner that misbehaves on request, and checks of what an
//! engine made of it.
//!
//! The binary `galley-testkit-runner` speaks IPC v0.1 and does what a [`Script`] says: from a file
//! with a section for each occasion (a [`Scenario`]), from `--on-start`, or from the text of a
//! message that begins with `!`:
//!
//! ```text
//! !emit 1000 300; wait 50ms; die KILL
//! ```
//!
//! Without any script it answers `echo: <text>`. [`runner_path`] finds the binary from another
//! crate's tests. The checks are [`wait_until`], [`EventLogChecker`] and the process look-ups
//! [`process_gone`], [`descendants`] and [`marked_processes`].
//!
//! Every step is listed at [`Script`].
//!
//! For authors of other runners there is the conformance suite, [`conformance`].

#![forbid(unsafe_code)]

pub mod conformance;
mod error;
mod event_log;
mod processes;
mod runner_path;
mod script;
mod wait;

pub use error::Error;
pub use event_log::EventLogChecker;
pub use processes::{descendants, marked_processes, process_gone};
pub use runner_path::runner_path;
pub use script::{Scenario, Script, Setting, Step};
pub use wait::{wait_some, wait_until};
