//! Agents as runners: how they are started, spoken to, and ended.

mod backend;

pub use backend::{Backend, Delivery, Exit, Runner, RunnerControl, StartSpec, Undelivered};
