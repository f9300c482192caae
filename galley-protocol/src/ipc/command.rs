//! What Core tells a runner (§5).

use super::event::DecodeError;
use super::model::{Decision, HistoryMessage, null_as_default};
use crate::RawJson;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;

macro_rules! commands {
    ($($(#[$meta:meta])* $variant:ident($body:ident) = $kind:literal),+ $(,)?) => {
        /// One command to a runner.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(tag = "kind")]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub enum Command {
            $($(#[$meta])* #[serde(rename = $kind)] $variant($body),)+
        }

        impl Command {
            /// The kinds of this version.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// Decodes a line.
            ///
            /// # Errors
            /// [`DecodeError`] when the line is no command of this version or lacks a field;
            /// unknown fields are not an error.
            pub fn from_line(line: &[u8]) -> Result<Self, DecodeError> {
                let CommandLine { kind } = serde_json::from_slice(line).map_err(DecodeError::NotACommand)?;
                match kind.as_ref() {
                    $($kind => serde_json::from_slice(line).map(Self::$variant).map_err(|source| DecodeError::BadFields { kind: $kind, source }),)+
                    other => Err(DecodeError::UnknownCommand(other.to_owned())),
                }
            }

            /// The command's kind.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                }
            }
        }

        $(impl From<$body> for Command {
            fn from(body: $body) -> Self {
                Self::$variant(body)
            }
        })+
    };
}

commands! {
    /// §5.1: start a run.
    UserMessage(UserMessage) = "user_message",
    /// §5.2: the answer to `tool_call_pending`.
    ApprovalResponse(ApprovalResponse) = "approval_response",
    /// §5.3: the answer to `ask_user`.
    AskUserResponse(AskUserResponse) = "ask_user_response",
    /// §5.4: stop the current run.
    Abort(Abort) = "abort",
    /// §5.5: put an earlier conversation in place.
    LoadHistory(LoadHistory) = "load_history",
    /// §5.6: the tools that need no approval.
    SetApprovalRules(SetApprovalRules) = "set_approval_rules",
    /// §5.7: run every tool without approval, or not.
    SetYoloMode(SetYoloMode) = "set_yolo_mode",
    /// §5.8: use another model.
    SetLlm(SetLlm) = "set_llm",
    /// §5.9: finish and exit.
    Shutdown(Shutdown) = "shutdown",
    /// §5.10: put the tool definitions into the history again.
    ReinjectTools(ReinjectTools) = "reinject_tools",
    /// §5.11: start the desktop pet.
    AttachPet(AttachPet) = "attach_pet",
    /// §5.12: stop the desktop pet.
    DetachPet(DetachPet) = "detach_pet",
}

/// What every command line has.
#[derive(Deserialize)]
struct CommandLine<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

// Not derived: an internally tagged enum buffers its fields in a form that cannot hold raw JSON.
impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = RawJson::deserialize(deserializer)?;
        Self::from_line(line.as_str().as_bytes()).map_err(D::Error::custom)
    }
}

impl Command {
    /// The command as one line, with its newline: what is written to the runner.
    ///
    /// # Errors
    /// Never for commands built from valid JSON parts; the signature is serde's.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// Starts a run (§5.1).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserMessage {
    /// What the user said.
    pub text: String,
    /// Absolute paths of local image files.
    #[serde(default, deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub images: Vec<String>,
    /// The turn this message has in the session, from 0; runners may ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute_turn_index: Option<u32>,
}

/// Answers an approval (§5.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ApprovalResponse {
    /// The runner's id of the approval.
    pub approval_id: String,
    /// The answer.
    pub decision: Decision,
}

/// Answers a question (§5.3); starts a run, unless the question was blocking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskUserResponse {
    /// The answer.
    pub text: String,
    /// The turn this answer has in the session, from 0; runners may ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute_turn_index: Option<u32>,
}

/// Puts an earlier conversation in place (§5.5): after `ready`, before the first message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadHistory {
    /// The conversation, oldest first.
    pub messages: Vec<HistoryMessage>,
}

/// Replaces the runner's lists of tools that need no approval (§5.6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetApprovalRules {
    /// Tools allowed everywhere.
    #[serde(default, deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub always_allow_global: Vec<String>,
    /// Tools allowed in this session's project (or in ungrouped sessions).
    #[serde(default, deserialize_with = "null_as_default")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub always_allow_project: Vec<String>,
}

/// Turns automatic execution on or off (§5.7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetYoloMode {
    /// Whether tools run without approval.
    pub enabled: bool,
}

/// Chooses a model (§5.8); only between runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetLlm {
    /// Position in `availableLLMs`.
    pub llm_index: u32,
}

/// Starts the desktop pet (§5.11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttachPet {
    /// The loopback HTTP port it listens on.
    pub port: u16,
}

macro_rules! bare {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {
        $($(#[$meta])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name {})+
    };
}

bare! {
    /// Stops the current run (§5.4).
    Abort,
    /// Asks the runner to finish and exit (§5.9).
    Shutdown,
    /// Puts the tool definitions into the history again (§5.10).
    ReinjectTools,
    /// Stops the desktop pet (§5.12).
    DetachPet,
}
