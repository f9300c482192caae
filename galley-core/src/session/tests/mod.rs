//! The rules of a session, one test per rule, on a fake clock, a fake runner and a fake store.

mod approvals;
mod harness;
mod model;
mod recovery;
mod runner_life;
mod runs;
mod sending;
mod stopping;

use super::output::{Effect, Order, Purpose, Reply, ReplyTo, Timer};
use super::state::{Delivered, Gate, Input, Limits, NewMessage, RunnerPhase, SessionState};
use galley_protocol::socket::{ApprovalState, Dispatch, EndReason, MessageRole, MessageState, SessionStatus, StopDispatch};
use harness::{Session, failed};
use serde_json::json;
