//! The pieces that events and commands are made of.

use crate::RawJson;
use crate::open_enum::open_enum;
use serde::{Deserialize, Deserializer, Serialize};

open_enum! {
    /// How dangerous a tool call is (§4.3).
    pub enum RiskLevel { Low = "low", Medium = "medium", High = "high" }
}

open_enum! {
    /// How a tool call ended (§4.5). `Denied` only after an approval was denied.
    pub enum ToolStatus { Success = "success", Failed = "failed", Denied = "denied", Cancelled = "cancelled" }
}

open_enum! {
    /// Where an error belongs (§4.10). Business errors never fail a run. Bridge, when a runner does not say.
    #[derive(Default)]
    pub enum Category { #[default] Bridge = "bridge", Runtime = "runtime", Business = "business" }
}

open_enum! {
    /// How bad an error is (§4.10). Error, when a runner does not say.
    #[derive(Default)]
    pub enum Severity { #[default] Error = "error", Warning = "warning", Info = "info" }
}

open_enum! {
    /// What kind of message a `system_message` is (§4.16). System, when a runner does not say.
    #[derive(Default)]
    pub enum SystemVariant { SideQuestion = "side_question", #[default] System = "system" }
}

open_enum! {
    /// An answer to `tool_call_pending` (§5.2).
    pub enum Decision {
        /// This call only.
        AllowOnce = "allow_once",
        /// Not this call.
        Deny = "deny",
        /// This call, and the tool from now on in this project (or in ungrouped sessions).
        AlwaysAllowProject = "always_allow_project",
        /// This call, and the tool from now on everywhere.
        AlwaysAllowGlobal = "always_allow_global",
    }
}

impl Decision {
    /// Whether the tool may run.
    pub fn allows(&self) -> bool {
        matches!(self, Self::AllowOnce | Self::AlwaysAllowProject | Self::AlwaysAllowGlobal)
    }
}

open_enum! {
    /// How an approval ended; Core's own word in `approval_resolved`.
    pub enum ApprovalOutcome { Allowed = "allowed", Denied = "denied", Cancelled = "cancelled" }
}

open_enum! {
    /// Why a run ended (§4.9). The set grows with the agents; unknown words are passed through.
    pub enum ExitResult {
        /// The task was done.
        CurrentTaskDone = "CURRENT_TASK_DONE",
        /// The agent left its loop by itself, to ask the user for example.
        Exited = "EXITED",
        /// The agent used up its steps.
        MaxTurnsExceeded = "MAX_TURNS_EXCEEDED",
        /// The user stopped it.
        Aborted = "ABORTED",
    }
}

/// Why a run ended, with whatever the agent adds (§4.7, §4.9).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExitReason {
    /// The result word.
    pub result: ExitResult,
    /// The agent's own data, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

/// One model the runner can use (§4.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Llm {
    /// Position in the runner's list; it may point elsewhere after a restart.
    pub index: u32,
    /// Raw name, the stable identity of an external runtime's model.
    pub name: String,
    /// Stable key, where the runner has one; otherwise `name` is the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Name for people.
    pub display_name: String,
    /// Whether the runner uses it now.
    #[serde(default, deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<bool>"))]
    pub is_current: bool,
}

impl Llm {
    /// What identifies the model across restarts.
    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.name)
    }
}

/// A tool call of a step (§4.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// The tool's name.
    pub tool_name: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<RawJson>,
}

/// A tool result of a step (§4.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// Which call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// What the tool said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<RawJson>,
}

open_enum! {
    /// Who said a message of the history (§5.5).
    pub enum HistoryRole { User = "user", Assistant = "assistant" }
}

/// One message of a resumed conversation (§5.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryMessage {
    /// Who said it.
    pub role: HistoryRole,
    /// What was said.
    pub content: String,
    /// The step's tool calls, as the runner reported them.
    #[serde(default, deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<RawJson>>"))]
    pub tool_calls: Vec<RawJson>,
    /// The step's tool results, as the runner reported them.
    #[serde(default, deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<RawJson>>"))]
    pub tool_results: Vec<RawJson>,
}

/// For a field that has a default: null means the same as its absence (§2).
pub(super) fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
