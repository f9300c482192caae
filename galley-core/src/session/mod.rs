//! A session: a pure state machine, and the actor that gives it a clock, a store and a runner.

mod actor;
mod approvals;
mod event;
mod output;
mod registry;
mod run;
mod runner_life;
mod sending;
mod state;

pub use actor::{Actor, Gauges, Host, SessionHandle};
pub use event::{Admitted, admit};
pub use output::{Effect, Order, Output, Reply, ReplyTo, Timer};
pub use approvals::{already_answered, approval_id};
pub use registry::{Sessions, not_found};
pub use sending::submitted_again;
pub use state::{Input, Limits, NewMessage, SessionState, new_message_id};
