//! A session: a pure state machine, and the actor that gives it a clock, a store and a runner.

mod actor;
mod approvals;
mod departure;
mod event;
mod input;
mod output;
mod phase;
mod queue;
mod registry;
mod resuming;
mod run;
mod runner_life;
mod sending;
mod settings;
mod state;
mod stopping;

#[cfg(test)]
mod tests;

pub use actor::{Host, SessionHandle};
pub use approvals::{already_answered, approval_id};
pub use event::admit;
pub use input::{Earlier, Input, Limits, NewMessage, QueueEdit};
pub use output::{Reply, ReplyTo, describe_exit};
pub use phase::Abilities;
pub use registry::{Sessions, not_found};
pub use sending::submitted_again;
pub use state::new_message_id;
