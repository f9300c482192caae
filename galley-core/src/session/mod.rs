//! A session: a pure state machine, and the actor that gives it a clock, a store and a runner.

mod actor;
mod approvals;
mod event;
mod output;
mod run;
mod runner_life;
mod sending;
mod state;

pub use actor::{Actor, Gauges, Host, SessionHandle};
pub use event::{Admitted, admit};
pub use output::{Effect, Order, Output, Reply, ReplyTo, Timer};
pub use state::{Input, Limits, NewMessage, SessionState};
