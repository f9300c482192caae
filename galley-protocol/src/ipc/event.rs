//! What a runner tells Core (§4), and the few events Core adds to a session's log.

use super::model::{ApprovalOutcome, Category, ExitReason, Llm, RiskLevel, Severity, SystemVariant, ToolStatus, null_as_default};
use crate::RawJson;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Why a line is not the event or command it should be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The line is not a JSON object with a string `kind`.
    #[error("not an event: {0}")]
    NotAnEvent(#[source] serde_json::Error),
    /// The line is not a JSON object with a string `kind`.
    #[error("not a command: {0}")]
    NotACommand(#[source] serde_json::Error),
    /// No command of this version has this kind.
    #[error("unknown command: {0}")]
    UnknownCommand(String),
    /// The kind is known but its fields are not of its shape.
    #[error("bad {kind}: {source}")]
    BadFields {
        /// The line's kind.
        kind: &'static str,
        /// What was wrong.
        source: serde_json::Error,
    },
}

/// What every event line has, read without looking at the rest: the cheap check of the hot path.
/// Strings are borrowed unless the line escapes them. Of a key that is repeated the last value
/// counts, as most JSON readers have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLine<'a> {
    /// The event's kind, known or not.
    pub kind: Cow<'a, str>,
    /// The session the runner believes it serves; implied when it is absent or not a string.
    pub session_id: Option<Cow<'a, str>>,
}

impl<'a> EventLine<'a> {
    /// Reads the envelope of `line`.
    ///
    /// # Errors
    /// [`DecodeError::NotAnEvent`] when `line` is not a JSON object with a string `kind`.
    pub fn peek(line: &'a [u8]) -> Result<Self, DecodeError> {
        serde_json::from_slice(line).map_err(DecodeError::NotAnEvent)
    }
}

// Not derived: a derived struct refuses a key that is repeated.
impl<'de: 'a, 'a> Deserialize<'de> for EventLine<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Envelope)
    }
}

struct Envelope;

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum EnvelopeKey {
    Kind,
    SessionId,
    #[serde(other)]
    Other,
}

/// A string, borrowed unless it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for Envelope {
    type Value = EventLine<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a string `kind`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventLine<'de>, A::Error> {
        let (mut kind, mut session_id) = (None, None);
        while let Some(key) = map.next_key()? {
            match key {
                EnvelopeKey::Kind => kind = Some(map.next_value::<Text<'de>>()?.0),
                EnvelopeKey::SessionId => session_id = text_if_any(map.next_value()?),
                EnvelopeKey::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(EventLine { kind: kind.ok_or_else(|| A::Error::missing_field("kind"))?, session_id })
    }
}

/// The value when it is a string, borrowed unless it has escapes. Whatever else it is does not stop
/// the line from being an event.
fn text_if_any(value: &RawValue) -> Option<Cow<'_, str>> {
    let json = value.get();
    let text = json.strip_prefix('"')?.strip_suffix('"')?;
    if text.contains('\\') { serde_json::from_str(json).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(text)) }
}

/// Reads the fields of an event. Should that fail, it is tried once more without the earlier values
/// of keys that are repeated.
fn read_fields<T: DeserializeOwned>(line: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(line).or_else(|error| {
        let last: BTreeMap<Cow<'_, str>, RawJson> = serde_json::from_slice(line)?;
        RawJson::new(&last)?.read().map_err(|_| error)
    })
}

macro_rules! events {
    ($($(#[$meta:meta])* $variant:ident($body:ident) = $kind:literal),+ $(,)?) => {
        /// One event, typed. Fields this version does not know are dropped from the typed view;
        /// keep the line to keep them.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[serde(tag = "kind")]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[non_exhaustive]
        pub enum Event {
            $($(#[$meta])* #[serde(rename = $kind)] $variant($body),)+
            /// A kind this version does not know; serialises to the line it came from.
            #[serde(untagged)]
            Unknown(UnknownEvent),
        }

        impl Event {
            /// The kinds of this version.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// Decodes a line.
            ///
            /// # Errors
            /// [`DecodeError::NotAnEvent`] without a string `kind`, [`DecodeError::BadFields`]
            /// when a known kind has the wrong fields. An unknown kind is not an error.
            pub fn from_line(line: &[u8]) -> Result<Self, DecodeError> {
                let kind = EventLine::peek(line)?.kind;
                match kind.as_ref() {
                    $($kind => read_fields(line).map(Self::$variant).map_err(|source| DecodeError::BadFields { kind: $kind, source }),)+
                    _ => {
                        let raw = serde_json::from_slice(line).map_err(DecodeError::NotAnEvent)?;
                        Ok(Self::Unknown(UnknownEvent { kind: kind.into_owned(), raw }))
                    }
                }
            }

            /// The event's kind.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }
        }

        $(impl From<$body> for Event {
            fn from(body: $body) -> Self {
                Self::$variant(body)
            }
        })+
    };
}

events! {
    /// §4.1: the runner can take commands.
    Ready(Ready) = "ready",
    /// §4.2: a step begins.
    TurnStart(TurnStart) = "turn_start",
    /// §4.3: a tool waits for approval.
    ToolCallPending(ToolCallPending) = "tool_call_pending",
    /// §4.4: a tool starts.
    ToolCallStart(ToolCallStart) = "tool_call_start",
    /// §4.5: a tool ended.
    ToolCallEnd(ToolCallEnd) = "tool_call_end",
    /// §4.6: unstructured progress of a tool.
    ToolCallProgress(ToolCallProgress) = "tool_call_progress",
    /// §4.7: a step ended.
    TurnEnd(TurnEnd) = "turn_end",
    /// §4.7a: streamed text.
    TurnProgress(TurnProgress) = "turn_progress",
    /// §4.8: the agent asks the user.
    AskUser(AskUser) = "ask_user",
    /// §4.9: the run ended.
    RunComplete(RunComplete) = "run_complete",
    /// §4.10: something went wrong, and the runner goes on.
    Error(ErrorEvent) = "error",
    /// §4.11: the history is in place.
    HistoryLoaded(HistoryLoaded) = "history_loaded",
    /// §4.12: the model changed.
    LlmChanged(LlmChanged) = "llm_changed",
    /// §4.13: tool definitions were put into the history again.
    ToolsReinjected(ToolsReinjected) = "tools_reinjected",
    /// §4.14: the desktop pet runs.
    PetAttached(PetAttached) = "pet_attached",
    /// §4.15: the desktop pet is gone.
    PetDetached(PetDetached) = "pet_detached",
    /// §4.16: a message from outside the agent's loop.
    SystemMessage(SystemMessage) = "system_message",
    /// Core's own: nothing was heard of an open run for a while. Nothing is killed for it.
    Stalled(Stalled) = "stalled",
    /// Core's own: an approval ended. Every `tool_call_pending` gets exactly one.
    ApprovalResolved(ApprovalResolved) = "approval_resolved",
    /// Core's own: the runner wrote a line that is no event.
    Malformed(Malformed) = "malformed",
}

impl Event {
    /// The event as one line, without the newline.
    ///
    /// # Errors
    /// Never for events built from valid JSON parts; the signature is serde's.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }
}

/// An event of a kind this version does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownEvent {
    /// Its kind.
    pub kind: String,
    /// The whole line.
    pub raw: RawJson,
}

impl Serialize for UnknownEvent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for UnknownEvent {
    fn schema_name() -> Cow<'static, str> {
        "UnknownEvent".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        // The known kinds have schemas of their own, which this one must not soften.
        schemars::json_schema!({
            "type": "object",
            "required": ["kind"],
            "properties": { "kind": { "type": "string", "not": { "enum": Event::KINDS } } },
        })
    }
}

/// Declares an event body: `sessionId` and `timestamp` are on every event and implied when absent.
macro_rules! body {
    ($(#[$meta:meta])* $name:ident { $($(#[$fmeta:meta])* $field:ident: $ty:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name {
            /// The session, echoed by the runner.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub session_id: Option<String>,
            $($(#[$fmeta])* pub $field: $ty,)*
            /// When it happened, ISO 8601 with a zone.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub timestamp: Option<String>,
        }
    };
}

body! {
    /// The first event of a runner (§4.1). Core sends nothing before it.
    Ready {
        /// Must be [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
        protocol_version: String,
        /// Commit of the agent's checkout, or `unknown`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ga_commit: Option<String>,
        /// When that commit was made, or `unknown`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ga_commit_date: Option<String>,
        /// Where the agent lives.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ga_path: Option<String>,
        /// Raw name of the model in use.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        llm_name: Option<String>,
        /// The runner's working directory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
        /// The runner's process id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
        /// Every model it can use. Not defaulted: a runner that misspells it is told so.
        #[serde(rename = "availableLLMs")]
        available_llms: Vec<Llm>,
        /// What it can do; absent means everything the specification has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capabilities: Option<Vec<String>>,
    }
}
body! {
    /// A step begins (§4.2). It may be repeated or predicted: de-duplicate by run and `turnIndex`.
    TurnStart {
        /// The step within the run, from 1.
        turn_index: u32,
    }
}
body! {
    /// A tool waits for an `approval_response` (§4.3).
    ToolCallPending {
        /// The runner's own id of this approval.
        approval_id: String,
        /// The step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_index: Option<u32>,
        /// The tool.
        tool_name: String,
        /// Its full arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<RawJson>,
        /// The arguments in at most 200 characters, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args_preview: Option<String>,
        /// How dangerous it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        risk_level: Option<RiskLevel>,
        /// Why it needs approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
}
body! {
    /// A tool starts (§4.4).
    ToolCallStart {
        /// Ties it to its `tool_call_end`.
        tool_call_id: String,
        /// The step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_index: Option<u32>,
        /// The tool.
        tool_name: String,
        /// Its full arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<RawJson>,
        /// The arguments for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args_preview: Option<String>,
    }
}
body! {
    /// A tool ended (§4.5).
    ToolCallEnd {
        /// Which call.
        tool_call_id: String,
        /// How it ended.
        status: ToolStatus,
        /// The result in at most 500 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result_preview: Option<String>,
        /// How long it took, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        elapsed_ms: Option<u64>,
    }
}
body! {
    /// Unstructured progress of a tool (§4.6).
    ToolCallProgress {
        /// Which call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<String>,
        /// What it said.
        text: String,
    }
}
body! {
    /// A step ended (§4.7): alone enough for a correct transcript.
    TurnEnd {
        /// The step within the run, from 1.
        turn_index: u32,
        /// One line about the step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// The step's tool calls, verbatim; see [`ToolCall`](super::ToolCall).
        #[serde(default, deserialize_with = "null_as_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<RawJson>>"))]
        tool_calls: Vec<RawJson>,
        /// The step's tool results, verbatim; see [`ToolResult`](super::ToolResult).
        #[serde(default, deserialize_with = "null_as_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<RawJson>>"))]
        tool_results: Vec<RawJson>,
        /// Set when the agent leaves its loop with this step.
        #[serde(default)]
        exit_reason: Option<ExitReason>,
        /// The model's whole reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_content: Option<String>,
        /// Figures about the run, on the last step only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        telemetry: Option<RawJson>,
    }
}
body! {
    /// A piece of streamed text (§4.7a); append it. Pieces are neither tokens nor snapshots.
    TurnProgress {
        /// The text since the last piece.
        delta: String,
        /// Which part of the agent wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    }
}
body! {
    /// The agent asks the user (§4.8).
    AskUser {
        /// The question.
        question: String,
        /// Answers to choose from; empty for an open question.
        #[serde(default, deserialize_with = "null_as_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
        candidates: Vec<String>,
        /// The run stays open until the answer comes (otherwise asking ends the run).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blocking: Option<bool>,
    }
}
body! {
    /// The run ended (§4.9); the last event of a run.
    RunComplete {
        /// Why.
        exit_reason: ExitReason,
        /// The answer, Markdown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_content: Option<String>,
        /// How many steps it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total_turns: Option<u32>,
    }
}
body! {
    /// Something went wrong and the runner goes on (§4.10).
    ErrorEvent {
        /// One sentence for people.
        message: String,
        /// Where it belongs.
        #[serde(default, deserialize_with = "null_as_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Category>"))]
        category: Category,
        /// How bad it is.
        #[serde(default, deserialize_with = "null_as_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<Severity>"))]
        severity: Severity,
        /// Whether trying again may help.
        #[serde(default, deserialize_with = "null_as_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<bool>"))]
        retryable: bool,
        /// What to do about it: `check_llm_config`, `network`, `quota_exceeded`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
        /// What the runner was doing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<String>,
        /// A trace for developers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceback: Option<String>,
        /// `core` on errors that Core reports about a runner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// Core's `runner_exit`: the exit code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Core's `runner_exit`: the signal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// Core's `runner_exit`: the last lines of standard error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr_tail: Option<Vec<String>>,
    }
}
body! {
    /// The answer to `load_history` (§4.11).
    HistoryLoaded {
        /// How many messages were taken.
        message_count: u32,
    }
}
body! {
    /// The model changed (§4.12).
    LlmChanged {
        /// Its position.
        index: u32,
        /// Its raw name.
        name: String,
        /// Its name for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_name: Option<String>,
    }
}
body! {
    /// The answer to `reinject_tools` (§4.13).
    ToolsReinjected {
        /// How many blocks were added.
        blocks_added: u32,
    }
}
body! {
    /// The desktop pet runs (§4.14).
    PetAttached {
        /// Its loopback HTTP port.
        port: u16,
    }
}
body! {
    /// The desktop pet is gone (§4.15).
    PetDetached {}
}
body! {
    /// A message from outside the agent's loop (§4.16).
    SystemMessage {
        /// Markdown.
        content: String,
        /// Which kind of message.
        #[serde(default, deserialize_with = "null_as_default")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<SystemVariant>"))]
        variant: SystemVariant,
    }
}
body! {
    /// Core's own: an open run has been silent.
    Stalled {
        /// Always `core`.
        source: String,
        /// When it was last heard of.
        last_activity_at: String,
    }
}
body! {
    /// Core's own: an approval ended.
    ApprovalResolved {
        /// Always `core`.
        source: String,
        /// Core's id of the approval.
        id: String,
        /// The runner's id of it.
        approval_id: String,
        /// How it ended.
        outcome: ApprovalOutcome,
        /// Who decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    }
}
body! {
    /// Core's own: a line of the runner that is no event.
    Malformed {
        /// Always `core`.
        source: String,
        /// The line, or its beginning when it was over-long.
        line: String,
        /// What was wrong with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The line's length when it was over-long and cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
    }
}
