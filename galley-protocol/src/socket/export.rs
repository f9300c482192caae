//! `session.export`: a whole conversation, to be kept elsewhere.

use super::stream::required;
use super::{MessageBrief, SessionBrief, wire};
use crate::open_enum::open_enum;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

open_enum! {
    /// What an export is written in.
    pub enum ExportFormat {
        /// For programs: the rows, as the Agent API has them.
        Json = "json",
        /// For people.
        Markdown = "markdown",
    }
}

wire! {
    /// Asks for a session's whole visible conversation.
    #[derive(Default)]
    pub struct SessionExport {
        /// Which session.
        pub session_id: String,
        /// `json` by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub format: Option<ExportFormat>,
    }
}

/// An exported conversation. `format` says which of the two it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "format", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Exported {
    /// The session's row and its messages.
    Json {
        /// The schema version of the rows; an export outlives the program that wrote it.
        schema_version: u32,
        /// The session.
        session: Box<SessionBrief>,
        /// Every visible message, oldest first.
        messages: Vec<MessageBrief>,
    },
    /// One document.
    Markdown {
        /// The document: the title as its heading, then every visible message, oldest first, under
        /// a heading that says who speaks and when.
        content: String,
    },
}

// Not derived, for the same reason as the frames of streams.
impl<'de> Deserialize<'de> for Exported {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields {
            format: ExportFormat,
            schema_version: Option<u32>,
            session: Option<Box<SessionBrief>>,
            messages: Option<Vec<MessageBrief>>,
            content: Option<String>,
        }
        let Fields { format, schema_version, session, messages, content } = Fields::deserialize(deserializer)?;
        Ok(match format {
            ExportFormat::Json => Self::Json {
                schema_version: required(schema_version, "schemaVersion")?,
                session: required(session, "session")?,
                messages: required(messages, "messages")?,
            },
            ExportFormat::Markdown => Self::Markdown { content: required(content, "content")? },
            ExportFormat::Unknown(other) => return Err(D::Error::unknown_variant(&other, ExportFormat::WORDS)),
        })
    }
}
