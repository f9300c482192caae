//! `sessions.watch`: one feed that keeps a list of all sessions true.

use super::stream::required;
use super::{Approval, EndReason, MessageBrief, SessionBrief, explicit_nulls, wire};
use crate::RawJson;
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

wire! {
    /// Streams every change to a session, a message or an approval, whatever its runtime or
    /// project.
    ///
    /// The stream begins with a snapshot, unless `sinceRevision` is of this life of Core and not too
    /// old: then it begins with a start frame and goes on with the first change after that
    /// revision.
    #[derive(Default)]
    pub struct SessionsWatch {
        /// The revision of the last change the client has seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub since_revision: Option<u64>,
    }

    /// Where things stand at a revision. A large snapshot comes in parts of one revision.
    pub struct FeedSnapshot {
        /// Sessions that are not archived, in the order of `sessions.list`.
        pub sessions: Vec<SessionBrief>,
        /// Approvals that wait for an answer, oldest first.
        pub approvals: Vec<Approval>,
        /// Another part follows. A snapshot after a part without it replaces everything.
        pub more: bool,
    }

    /// A session that is gone, with its messages and approvals.
    pub struct SessionGone {
        /// Which session.
        pub session_id: String,
    }
}

/// One line of the feed: `kind` and `revision` beside the fields of the row, where absent fields
/// are null, so that the row can be laid over an older one.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedEvent {
    /// Grows from change to change, also when Core is restarted, and fits a JavaScript number. It
    /// need not grow by one.
    pub revision: u64,
    /// What changed.
    pub change: Change,
}

/// What every line of the feed has.
#[derive(Deserialize)]
struct FeedLine {
    kind: String,
    revision: u64,
}

macro_rules! changes {
    ($($(#[$meta:meta])* $variant:ident($row:ident) = $kind:literal),+ $(,)?) => {
        /// What changed, with the whole row as it is now.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum Change {
            $($(#[$meta])* $variant(Box<$row>),)+
            /// A kind this version does not know.
            Unknown(UnknownChange),
        }

        impl Change {
            /// The kinds of this version.
            pub const KINDS: &'static [&'static str] = &[$($kind),+];

            /// The change's kind.
            pub fn kind(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $kind,)+
                    Self::Unknown(unknown) => &unknown.kind,
                }
            }

            fn write_row<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self {
                    $(Self::$variant(row) => explicit_nulls::write_fields(row, map),)+
                    Self::Unknown(_) => Ok(()),
                }
            }

            fn read(kind: String, line: RawJson) -> Result<Self, serde_json::Error> {
                match kind.as_str() {
                    $($kind => line.read().map(Self::$variant),)+
                    _ => Ok(Self::Unknown(UnknownChange { kind, raw: line })),
                }
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for FeedEvent {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                "FeedEvent".into()
            }

            fn json_schema(types: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut variants = vec![$(feed_variant(types.subschema_for::<$row>(), serde_json::json!({ "const": $kind }))),+];
                let unknown = serde_json::json!({ "type": "string", "not": { "enum": Change::KINDS } });
                variants.push(feed_variant(schemars::Schema::default(), unknown));
                schemars::json_schema!({ "oneOf": variants })
            }
        }
    };
}

changes! {
    /// Where things stand: the first line of a feed that does not resume.
    Snapshot(FeedSnapshot) = "snapshot",
    /// A session is new or its row is another.
    SessionChanged(SessionBrief) = "session_changed",
    /// A session is gone.
    SessionDeleted(SessionGone) = "session_deleted",
    /// A visible message was stored.
    MessageAdded(MessageBrief) = "message_added",
    /// An approval is new or was decided.
    ApprovalChanged(Approval) = "approval_changed",
}

/// A change of a kind this version does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownChange {
    /// Its kind.
    pub kind: String,
    /// The whole line.
    pub raw: RawJson,
}

/// A row with the two fields of the feed beside its own.
#[cfg(feature = "schema")]
fn feed_variant(row: schemars::Schema, kind: serde_json::Value) -> schemars::Schema {
    let mut variant = row;
    variant.insert("type".to_owned(), "object".into());
    variant.insert("required".to_owned(), serde_json::json!(["kind", "revision"]));
    variant.insert("properties".to_owned(), serde_json::json!({ "kind": kind, "revision": { "type": "integer", "minimum": 0 } }));
    variant
}

impl Serialize for FeedEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Change::Unknown(unknown) = &self.change {
            return unknown.raw.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", self.change.kind())?;
        map.serialize_entry("revision", &self.revision)?;
        self.change.write_row(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for FeedEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = RawJson::deserialize(deserializer)?;
        let FeedLine { kind, revision } = line.read().map_err(D::Error::custom)?;
        Ok(Self { revision, change: Change::read(kind, line).map_err(D::Error::custom)? })
    }
}

/// One frame of the feed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "stream", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum FeedFrame {
    /// First frame of a feed that resumes: there is no snapshot, the client's rows are good.
    Start {
        /// The request's id, or null.
        request_id: Option<String>,
        /// The revision that was asked for.
        revision: u64,
    },
    /// One change.
    Event {
        /// The request's id, or null.
        request_id: Option<String>,
        /// The change.
        data: FeedEvent,
    },
    /// Last frame.
    End {
        /// The request's id, or null.
        request_id: Option<String>,
        /// Why.
        reason: EndReason,
    },
}

impl<'de> Deserialize<'de> for FeedFrame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            stream: String,
            request_id: Option<String>,
            revision: Option<u64>,
            data: Option<FeedEvent>,
            reason: Option<EndReason>,
        }
        let Fields { stream, request_id, revision, data, reason } = Fields::deserialize(deserializer)?;
        Ok(match stream.as_str() {
            "start" => Self::Start { request_id, revision: required(revision, "revision")? },
            "event" => Self::Event { request_id, data: required(data, "data")? },
            "end" => Self::End { request_id, reason: required(reason, "reason")? },
            other => return Err(D::Error::unknown_variant(other, &["start", "event", "end"])),
        })
    }
}
