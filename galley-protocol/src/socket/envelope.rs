//! Requests and responses (IPC protocol §2).

use super::{Command, ErrorTag, SCHEMA_VERSION, StreamCommand};
use crate::RawJson;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A request as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Request {
    /// Dotted name.
    pub command: String,
    /// The command's arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<RawJson>,
    /// Absent means the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    /// Echoed in the response. Requests with one may be answered out of order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Request {
    /// A request for one reply.
    ///
    /// # Errors
    /// When the arguments cannot be written as JSON.
    pub fn new<C: Command>(args: &C) -> Result<Self, serde_json::Error> {
        Self::named(C::NAME, args)
    }

    /// A request for a stream.
    ///
    /// # Errors
    /// When the arguments cannot be written as JSON.
    pub fn stream<C: StreamCommand>(args: &C) -> Result<Self, serde_json::Error> {
        Self::named(C::NAME, args)
    }

    /// A request by its name, for one reply or a stream.
    ///
    /// # Errors
    /// When the arguments cannot be written as JSON.
    pub fn named(command: &str, args: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(Self { command: command.to_owned(), args: Some(RawJson::new(args)?), schema_version: Some(SCHEMA_VERSION), request_id: None })
    }

    /// The same request with an id to tell its response by.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// The request as one line, newline included.
    ///
    /// # Errors
    /// Never for requests built here; the signature is serde's.
    pub fn to_line(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(line)
    }
}

/// A request as it is read: borrowed from its line, arguments unread.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestLine<'a> {
    /// Dotted name.
    #[serde(borrow)]
    pub command: Cow<'a, str>,
    /// The arguments' text; absent and null are the same.
    #[serde(borrow, default)]
    pub args: Option<&'a RawValue>,
    /// Any JSON: a wrong type is a mismatch, not a malformed request.
    #[serde(default)]
    pub schema_version: Option<Value>,
    /// Echoed.
    #[serde(borrow, default)]
    pub request_id: Option<Cow<'a, str>>,
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Response {
    /// Whether it worked: then `result` is set, else `error` and `message`.
    pub ok: bool,
    /// The request's id, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The command's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<RawJson>,
    /// Where the next page of a list starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorTag>,
    /// The same for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Structure added to the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<RawJson>,
}

/// An error as the command line prints it: the tag, the message, and the message again under
/// `detail`, where the Agent API's examples have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorTag,
    /// The same for people.
    pub message: String,
    /// `message`, and whatever structure the error carries.
    pub detail: serde_json::Map<String, Value>,
}

impl ErrorBody {
    /// Puts `message` under `detail` beside the structure already there.
    pub fn new(error: ErrorTag, message: String, detail: Option<Value>) -> Self {
        let mut map = match detail {
            Some(Value::Object(map)) => map,
            _ => serde_json::Map::new(),
        };
        map.insert("message".to_owned(), Value::String(message.clone()));
        Self { error, message, detail: map }
    }
}
