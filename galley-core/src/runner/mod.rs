//! Agents as runners: how they are started, spoken to, and ended.

mod backend;
mod check;
mod descriptors;
mod genericagent;
#[cfg(unix)]
mod guard;
mod kill;
mod manager;
mod marker;
mod pipes;
mod process;
mod shell;
mod spawn;
mod table;

pub use backend::{Backend, Delivery, Exit, Runner, RunnerControl, StartSpec, Undelivered};
pub(crate) use check::{check_runtime, start_runtime};
pub(crate) use descriptors::{Descriptors, Listed};
pub(crate) use genericagent::{Installation, install, key_file};
pub use manager::RunnerManager;
pub use process::ProcessBackend;
pub(crate) use process::find as find_program;
pub use shell::ShellBackend;
