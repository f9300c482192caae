//! The rules of a session, one test per rule, on a fake clock, a fake runner and a fake store.

mod harness;
mod sending;

use super::output::{Effect, Order, Purpose, Reply, ReplyTo, Timer};
use super::state::{Delivered, Gate, Hold, Input, Limits, NewMessage, RunnerPhase, SessionState};
use galley_protocol::socket::{ApprovalState, Dispatch, EndReason, MessageRole, MessageState, SessionStatus, StopDispatch};
use harness::{Session, failed};
use serde_json::json;
