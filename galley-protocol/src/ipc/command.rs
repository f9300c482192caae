//! What Core tells a runner (§5).

use super::event::DecodeError;
use super::model::{Decision, HistoryMessage};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One command to a runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Command {
    /// §5.1: start a run.
    UserMessage(UserMessage),
    /// §5.2: the answer to `tool_call_pending`.
    ApprovalResponse(ApprovalResponse),
    /// §5.3: the answer to `ask_user`.
    AskUserResponse(AskUserResponse),
    /// §5.4: stop the current run.
    Abort(Abort),
    /// §5.5: put an earlier conversation in place.
    LoadHistory(LoadHistory),
    /// §5.6: the tools that need no approval.
    SetApprovalRules(SetApprovalRules),
    /// §5.7: run every tool without approval, or not.
    SetYoloMode(SetYoloMode),
    /// §5.8: use another model.
    SetLlm(SetLlm),
    /// §5.9: finish and exit.
    Shutdown(Shutdown),
    /// §5.10: put the tool definitions into the history again.
    ReinjectTools(ReinjectTools),
    /// §5.11: start the desktop pet.
    AttachPet(AttachPet),
    /// §5.12: stop the desktop pet.
    DetachPet(DetachPet),
}

impl Command {
    /// The kinds of this version.
    pub const KINDS: &'static [&'static str] = &[
        "user_message",
        "approval_response",
        "ask_user_response",
        "abort",
        "load_history",
        "set_approval_rules",
        "set_yolo_mode",
        "set_llm",
        "shutdown",
        "reinject_tools",
        "attach_pet",
        "detach_pet",
    ];

    /// Decodes a line.
    ///
    /// # Errors
    /// [`DecodeError`] when the line is no command; unknown fields are not an error.
    pub fn from_line(line: &[u8]) -> Result<Self, DecodeError> {
        serde_json::from_slice(line).map_err(|source| {
            #[derive(Deserialize)]
            struct Kind<'a>(#[serde(borrow)] Cow<'a, str>);
            #[derive(Deserialize)]
            struct Peek<'a> {
                #[serde(borrow)]
                kind: Kind<'a>,
            }
            let kind = serde_json::from_slice::<Peek<'_>>(line).ok().map(|peek| peek.kind.0);
            match kind.and_then(|kind| Self::KINDS.iter().find(|known| **known == kind)) {
                Some(kind) => DecodeError::BadFields { kind, source },
                None => DecodeError::NotAnEvent(source),
            }
        })
    }

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
    #[serde(default)]
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
    #[serde(default)]
    pub always_allow_global: Vec<String>,
    /// Tools allowed in this session's project (or in ungrouped sessions).
    #[serde(default)]
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
