//! The rules of a session, one test per rule, on a fake clock, a fake runner and a fake store.

mod approvals;
mod departure;
mod harness;
mod images;
mod model;
mod queue;
mod recovery;
mod resuming;
mod retry;
mod runner_life;
mod runs;
mod sending;
mod settings;
mod stopping;

use super::output::{Effect, Order, Purpose, Reply, ReplyTo, Timer};
use super::state::{Delivered, Earlier, Gate, Input, Limits, NewMessage, QueueEdit, RunnerPhase, SessionState};
use galley_protocol::socket::{ApprovalState, Dispatch, EndReason, MessageRole, MessageState, SessionStatus, StopDispatch};
use harness::{Session, failed};
use serde_json::json;
