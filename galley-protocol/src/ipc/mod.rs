//! Galley IPC protocol, version 0.1: the lines a runner and Core exchange.
//!
//! A runner writes [`Event`]s to its standard output and reads [`Command`]s from its standard
//! input, one JSON object per line.

mod command;
mod event;
mod model;

pub use command::{
    Abort, ApprovalResponse, AskUserResponse, AttachPet, Command, DetachPet, LoadHistory, ReinjectTools, SetApprovalRules, SetLlm, SetYoloMode,
    Shutdown, UserMessage,
};
pub use event::{
    ApprovalResolved, AskUser, DecodeError, ErrorEvent, Event, EventLine, HistoryLoaded, LlmChanged, Malformed, PetAttached, PetDetached, Ready,
    RunComplete, Stalled, SystemMessage, ToolCallEnd, ToolCallPending, ToolCallProgress, ToolCallStart, ToolsReinjected, TurnEnd, TurnProgress,
    TurnStart, UnknownEvent,
};
pub use model::{
    ApprovalOutcome, Category, Decision, ExitReason, ExitResult, HistoryMessage, HistoryRole, Llm, RiskLevel, Severity, SystemVariant, ToolCall,
    ToolResult, ToolStatus,
};

/// The protocol version a runner must announce in `ready` (§9).
pub const PROTOCOL_VERSION: &str = "0.1";

/// Whether `text` is a side question (`/btw`, alone or followed by a space or a tab, after leading
/// white space). A side question goes to the runner at once, is not stored and opens no run.
///
/// ```
/// use galley_protocol::ipc::is_side_question;
/// assert!(is_side_question("  /btw\thow far?"));
/// assert!(!is_side_question("/btwice") && !is_side_question("/BTW x") && !is_side_question("/btw\nx"));
/// ```
pub fn is_side_question(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix("/btw");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}
