//! A session: a pure state machine, and the actor that gives it a clock, a store and a runner.

mod actor;
mod approvals;
mod event;
mod input;
mod output;
mod phase;
mod registry;
mod run;
mod runner_life;
mod sending;
mod state;
mod stopping;

#[cfg(test)]
mod tests;

pub use actor::{Actor, Gauges, Host, SessionHandle};
pub use approvals::{already_answered, approval_id};
pub use event::{Admitted, admit};
pub use input::{Input, Limits, NewMessage};
pub use output::{Effect, Order, Output, Reply, ReplyTo, Timer, describe_exit};
pub use registry::{Sessions, not_found};
pub use sending::submitted_again;
pub use state::{SessionState, new_message_id};
