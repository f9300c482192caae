//! `session.watch`, `session.wait` and the frames of streams.

use super::{MessageBrief, SessionBrief, wire};
use crate::RawJson;
use crate::open_enum::open_enum;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

open_enum! {
    /// Why a stream ended.
    pub enum EndReason {
        /// The runner exited as it was told to.
        SubprocessExited = "subprocess_exited",
        /// The runner died.
        SubprocessError = "subprocess_error",
        /// The log is delivered and no runner is alive.
        NotLive = "not_live",
        /// The client cancelled it.
        Cancelled = "cancelled",
        /// The session was archived.
        Archived = "archived",
        /// The session was deleted.
        Deleted = "deleted",
        /// The session was moved out of the project.
        Moved = "moved",
        /// Core is going.
        CoreShutdown = "core_shutdown",
        /// The wait found what it waited for.
        Completed = "completed",
        /// The wait's time was up.
        Timeout = "timeout",
        /// The session is in `error`.
        SessionError = "session_error",
        /// The session is `cancelled`.
        SessionCancelled = "session_cancelled",
        /// Core went away, or was not there.
        CoreUnavailable = "core_unavailable",
        /// No session of the project is busy any more.
        ProjectIdle = "project_idle",
        /// Every runner of the project that was alive is gone.
        AllLiveSessionsEnded = "all_live_sessions_ended",
        /// No session of the project had a live runner.
        NoLiveSessions = "no_live_sessions",
    }
}

open_enum! {
    /// Which payload of a wait or a follow this is.
    pub enum WaitPhase { Initial = "initial", Final = "final" }
}

open_enum! {
    /// How a wait ended. These describe the wait, not the task.
    pub enum WaitStatus {
        /// There is an answer.
        Completed = "completed",
        /// The waiter stopped waiting; the session may still answer.
        TimedOut = "timed_out",
        /// The session is in `error`.
        SessionError = "session_error",
        /// The session is `cancelled`.
        SessionCancelled = "session_cancelled",
    }
}

/// Where a watch starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchFrom {
    /// This index, inclusive.
    Index(u64),
    /// After the last event of now.
    Now,
    /// The first event of the current run, or of the last one.
    Run,
    /// The first event of the session.
    Start,
}

impl Serialize for WatchFrom {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Index(index) => serializer.serialize_u64(*index),
            Self::Now => serializer.serialize_str("now"),
            Self::Run => serializer.serialize_str("run"),
            Self::Start => serializer.serialize_str("start"),
        }
    }
}

impl std::str::FromStr for WatchFrom {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "now" => Ok(Self::Now),
            "run" => Ok(Self::Run),
            "start" => Ok(Self::Start),
            number => number
                .parse()
                .ok()
                .filter(|index| *index >= 1)
                .map(Self::Index)
                .ok_or_else(|| format!("`{number}` is not an event index from 1 up, `now`, `run` or `start`")),
        }
    }
}

impl<'de> Deserialize<'de> for WatchFrom {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::String(word) => word,
            other => other.to_string(),
        };
        word.parse().map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for WatchFrom {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WatchFrom".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "oneOf": [{ "type": "integer", "minimum": 1 }, { "enum": ["now", "run", "start"] }] })
    }
}

wire! {
    /// Streams a session's events (§5.5b).
    #[derive(Default)]
    pub struct SessionWatch {
        /// Which session.
        pub session_id: String,
        /// Where to start; absent: live events only, and `not_found` without a live runner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub from: Option<WatchFrom>,
        /// Keep the stream across runners.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub stay: Option<bool>,
    }

    /// Waits for an answer (§5.5d).
    #[derive(Default)]
    pub struct SessionWait {
        /// Which session.
        pub session_id: String,
        /// Seconds until the wait gives up; 300 by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub timeout: Option<f64>,
        /// Upper bound, in seconds, between two looks at the database; 5 by default, at least 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub poll: Option<f64>,
        /// Messages in each payload; 20 by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tail: Option<u32>,
        /// Messages in the last payload too; true by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub final_show: Option<bool>,
        /// Only answers of this turn or later.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub after_turn: Option<u32>,
        /// The end of this message's run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message_id: Option<String>,
        /// The end of everything the session has in hand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub until_idle: Option<bool>,
    }

    /// Ends a stream of this connection.
    pub struct StreamCancel {
        /// The stream's request id.
        pub request_id: String,
    }

    /// Whether there was such a stream.
    pub struct StreamCancelled {
        /// Whether there was such a stream.
        pub cancelled: bool,
    }
}

/// One frame of a watch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "stream", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum StreamFrame {
    /// First frame of a watch with `from`.
    Start {
        /// The request's id, or null.
        request_id: Option<String>,
        /// The index the stream starts at.
        next_index: u64,
    },
    /// One event.
    Event {
        /// The request's id, or null.
        request_id: Option<String>,
        /// Its place in the session's log, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u64>,
        /// The run it belongs to, from 1; 0 before the first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<u64>,
        /// Core's id of the approval, on `tool_call_pending`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<String>,
        /// The line, as the runner wrote it.
        data: RawJson,
    },
    /// Events that were compacted away.
    Gap {
        /// The request's id, or null.
        request_id: Option<String>,
        /// First index of the span.
        from: u64,
        /// Last index of the span.
        to: u64,
    },
    /// Last frame.
    End {
        /// The request's id, or null.
        request_id: Option<String>,
        /// Why.
        reason: EndReason,
    },
}

// Frames are not derived: an internally tagged enum buffers its fields in a form that cannot hold
// raw JSON. Reading all fields of all frames at once is also the quicker way.
impl<'de> Deserialize<'de> for StreamFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            stream: String,
            request_id: Option<String>,
            next_index: Option<u64>,
            index: Option<u64>,
            run: Option<u64>,
            approval: Option<String>,
            data: Option<RawJson>,
            from: Option<u64>,
            to: Option<u64>,
            reason: Option<EndReason>,
        }
        let Fields { stream, request_id, next_index, index, run, approval, data, from, to, reason } = Fields::deserialize(deserializer)?;
        Ok(match stream.as_str() {
            "start" => Self::Start { request_id, next_index: required(next_index, "nextIndex")? },
            "event" => Self::Event { request_id, index, run, approval, data: required(data, "data")? },
            "gap" => Self::Gap { request_id, from: required(from, "from")?, to: required(to, "to")? },
            "end" => Self::End { request_id, reason: required(reason, "reason")? },
            other => return Err(D::Error::unknown_variant(other, &["start", "event", "gap", "end"])),
        })
    }
}

/// One frame of a wait.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(tag = "stream", rename_all = "snake_case", rename_all_fields = "camelCase"))]
#[non_exhaustive]
pub enum WaitFrame {
    /// The session and its last messages, at the start and at the end.
    Wait {
        /// The schema version.
        schema_version: u32,
        /// The request's id, only if it had one.
        request_id: Option<String>,
        /// Which payload.
        phase: WaitPhase,
        /// How the wait ended, on the last payload.
        status: Option<WaitStatus>,
        /// The session.
        session: Box<SessionBrief>,
        /// Its last messages; absent with `finalShow: false` on the last payload.
        messages: Option<Vec<MessageBrief>>,
    },
    /// Last frame.
    End {
        /// The schema version.
        schema_version: u32,
        /// The request's id, only if it had one.
        request_id: Option<String>,
        /// Why.
        reason: EndReason,
    },
}

impl Serialize for WaitFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Wait { schema_version, request_id, phase, status, session, messages } => VersionedFrame {
                phase: Some(phase),
                status: status.as_ref(),
                session: Some(session),
                messages: messages.as_deref(),
                ..VersionedFrame::new(*schema_version, "wait", request_id)
            },
            Self::End { schema_version, request_id, reason } => VersionedFrame::end(*schema_version, request_id, reason),
        }
        .serialize(serializer)
    }
}

/// A frame that tells its schema version, which comes first (§5.5c, §5.5d); an internally tagged enum
/// would begin with its tag.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VersionedFrame<'a> {
    pub(super) schema_version: u32,
    pub(super) stream: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phase: Option<&'a WaitPhase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<&'a WaitStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<&'a SessionBrief>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<&'a [MessageBrief]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) data: Option<&'a RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'a EndReason>,
}

impl<'a> VersionedFrame<'a> {
    pub(super) fn new(schema_version: u32, stream: &'static str, request_id: &'a Option<String>) -> Self {
        Self { schema_version, stream, request_id: request_id.as_deref(), ..Self::default() }
    }

    pub(super) fn event(schema_version: u32, request_id: &'a Option<String>, session_id: &'a str, data: &'a RawJson) -> Self {
        Self { session_id: Some(session_id), data: Some(data), ..Self::new(schema_version, "event", request_id) }
    }

    pub(super) fn end(schema_version: u32, request_id: &'a Option<String>, reason: &'a EndReason) -> Self {
        Self { reason: Some(reason), ..Self::new(schema_version, "end", request_id) }
    }
}

impl<'de> Deserialize<'de> for WaitFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            stream: String,
            schema_version: u32,
            request_id: Option<String>,
            phase: Option<WaitPhase>,
            status: Option<WaitStatus>,
            session: Option<Box<SessionBrief>>,
            messages: Option<Vec<MessageBrief>>,
            reason: Option<EndReason>,
        }
        let Fields { stream, schema_version, request_id, phase, status, session, messages, reason } = Fields::deserialize(deserializer)?;
        Ok(match stream.as_str() {
            "wait" => {
                let (phase, session) = (required(phase, "phase")?, required(session, "session")?);
                Self::Wait { schema_version, request_id, phase, status, session, messages }
            }
            "end" => Self::End { schema_version, request_id, reason: required(reason, "reason")? },
            other => return Err(D::Error::unknown_variant(other, &["wait", "end"])),
        })
    }
}

pub(super) fn required<T, E: serde::de::Error>(field: Option<T>, name: &'static str) -> Result<T, E> {
    field.ok_or_else(|| E::missing_field(name))
}
