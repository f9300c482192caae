//! A session: a pure state machine, and the actor that gives it a clock, a store and a runner.

mod approvals;
mod event;
mod input;
mod output;
mod phase;
mod run;
mod runner_life;
mod sending;
mod state;
mod stopping;

#[cfg(test)]
mod tests;

pub use event::{Admitted, admit};
pub use input::{Input, Limits, NewMessage};
pub use output::{Effect, Order, Output, Reply, ReplyTo, Timer};
pub use state::SessionState;
