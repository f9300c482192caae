//! `session.follow` and its frames: a snapshot, what happens, a snapshot.

use super::stream::{VersionedFrame, required};
use super::{EndReason, MessageBrief, SessionBrief, WaitPhase, wire};
use crate::RawJson;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

wire! {
    /// Streams a session from a snapshot to a snapshot (§5.5c): its row and messages, every event
    /// of its runner from then on, and its row and messages again when the runner is gone. Where
    /// there was nothing to follow, the first snapshot is the only one. No event is missing between
    /// the snapshot and the first event, and none is in both.
    #[derive(Default)]
    pub struct SessionFollow {
        /// Which session.
        pub session_id: String,
        /// Only the last N messages in each snapshot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tail: Option<u32>,
    }
}

/// One frame of a follow.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(tag = "stream", rename_all = "snake_case", rename_all_fields = "camelCase"))]
#[non_exhaustive]
pub enum FollowFrame {
    /// The session and its messages, at the start and at the end.
    Snapshot {
        /// The schema version.
        schema_version: u32,
        /// The request's id, only if it had one.
        request_id: Option<String>,
        /// Which of the two.
        phase: WaitPhase,
        /// The session.
        session: Box<SessionBrief>,
        /// Its messages, oldest first.
        messages: Vec<MessageBrief>,
    },
    /// One event.
    Event {
        /// The schema version.
        schema_version: u32,
        /// The request's id, only if it had one.
        request_id: Option<String>,
        /// The session.
        session_id: String,
        /// The line, as the runner wrote it.
        data: RawJson,
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

impl Serialize for FollowFrame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Snapshot { schema_version, request_id, phase, session, messages } => VersionedFrame {
                phase: Some(phase),
                session: Some(session),
                messages: Some(messages),
                ..VersionedFrame::new(*schema_version, "snapshot", request_id)
            },
            Self::Event { schema_version, request_id, session_id, data } => VersionedFrame::event(*schema_version, request_id, session_id, data),
            Self::End { schema_version, request_id, reason } => VersionedFrame::end(*schema_version, request_id, reason),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FollowFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            stream: String,
            schema_version: u32,
            request_id: Option<String>,
            phase: Option<WaitPhase>,
            session: Option<Box<SessionBrief>>,
            messages: Option<Vec<MessageBrief>>,
            session_id: Option<String>,
            data: Option<RawJson>,
            reason: Option<EndReason>,
        }
        let Fields { stream, schema_version, request_id, phase, session, messages, session_id, data, reason } = Fields::deserialize(deserializer)?;
        Ok(match stream.as_str() {
            "snapshot" => {
                let (phase, session, messages) = (required(phase, "phase")?, required(session, "session")?, required(messages, "messages")?);
                Self::Snapshot { schema_version, request_id, phase, session, messages }
            }
            "event" => {
                let (session_id, data) = (required(session_id, "sessionId")?, required(data, "data")?);
                Self::Event { schema_version, request_id, session_id, data }
            }
            "end" => Self::End { schema_version, request_id, reason: required(reason, "reason")? },
            other => return Err(D::Error::unknown_variant(other, &["snapshot", "event", "end"])),
        })
    }
}
