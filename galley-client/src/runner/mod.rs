//! Write an agent for Galley as a function.
//!
//! ```no_run
//! use galley_client::runner::{self, AgentError, Context, Task};
//! use std::process::ExitCode;
//!
//! async fn agent(task: Task, ctx: Context) -> Result<(), AgentError> {
//!     ctx.progress(format!("You said: {}", task.text)).await;
//!     Ok(())
//! }
//!
//! fn main() -> ExitCode {
//!     runner::run(agent)
//! }
//! ```
//!
//! An agent is an async function of a [`Task`] and a [`Context`]. What it streams with
//! [`Context::progress`] or returns is the answer. The IPC protocol, approvals
//! ([`Context::approve`]), questions ([`Context::ask`]), tool calls ([`Context::tool`]), steps
//! ([`Context::next_step`]), history, models, stopping and the end of everything are looked after.
//! [`Runner`] says more about an agent than [`run`] does.
//!
//! Standard input and output are moved away before the agent is called: what it prints goes to
//! standard error. What must happen before Galley may send anything belongs in
//! [`Runner::before_ready`], not in front of [`run`].
//!
//! A stopped run's future is dropped where it waits. An error ends the run and is reported, a panic
//! as well. An agent that never waits cannot be stopped: after three seconds its run is ended
//! without it, and the next task waits until it returns.

mod agent;
mod approvals;
mod arguments;
mod context;
mod error;
mod input;
mod output;
mod processes;
mod run;
mod server;
mod stdio;
mod text;

pub use agent::{Model, Outcome, Question, Reply, Task};
pub use arguments::Arguments;
pub use context::{Context, ToolCall};
pub use error::AgentError;
pub use galley_protocol::ipc::{Category, ExitResult, HistoryMessage, HistoryRole, RiskLevel, Severity};
pub use server::{Runner, run};
