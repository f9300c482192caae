//! Agents as runners: how they are started, spoken to, and ended.

mod backend;
mod descriptors;
#[cfg(unix)]
mod guard;
mod kill;
mod marker;
mod spawn;
mod table;

pub use backend::{Backend, Delivery, Exit, Runner, RunnerControl, StartSpec, Undelivered};
