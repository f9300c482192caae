//! Calls.

use crate::reply::{Arguments, Waiting, answer, thrown};
use crate::stream::NativeStream;
use galley_client::{Client, Error, Reconnect, SocketTransport};
use galley_protocol::socket::ErrorTag;
use napi::bindgen_prelude::Function;
use napi_derive::napi;
use std::path::Path;
use std::time::Duration;

/// A client over any transport.
#[napi]
pub struct NativeClient {
    /// `None` once it is closed.
    client: Option<Client>,
}

impl NativeClient {
    pub(crate) fn new(client: Client) -> Self {
        Self { client: Some(client) }
    }

    fn open(&self) -> napi::Result<&Client> {
        let closed = || Error::Api { tag: ErrorTag::DbUnavailable, message: "this client is closed".to_owned(), detail: None };
        self.client.as_ref().ok_or_else(|| thrown(&closed()))
    }
}

/// A client of the Core that listens at `socket`, or where Cores listen unless told otherwise. The
/// connection is opened by the first call.
#[napi]
pub fn connect(socket: Option<String>) -> NativeClient {
    NativeClient::new(Client::new(socket.map_or_else(SocketTransport::default, SocketTransport::new)))
}

/// A client that reads the database's file.
#[napi]
pub fn read_only(database: String) -> napi::Result<NativeClient> {
    let _guard = crate::runtime()?.enter();
    Ok(NativeClient::new(Client::new(galley_core::read_only(Path::new(&database)))))
}

#[napi]
impl NativeClient {
    /// Carries out a command. The result is JSON: `{"result":…}`, with `"nextCursor"` when there is
    /// a next page.
    #[napi]
    pub fn call(&self, name: String, args: String, done: Function<'_, Arguments<String>, ()>) -> napi::Result<Waiting> {
        let client = self.open()?.clone();
        answer(&done, async move {
            let answer = client.call_named(&name, &args).await?;
            let result = std::str::from_utf8(&answer.result).map_err(|error| Error::Protocol(error.to_string()))?;
            let cursor = match answer.next_cursor {
                Some(cursor) => format!(",\"nextCursor\":{}", serde_json::Value::from(cursor)),
                None => String::new(),
            };
            Ok(Some(format!("{{\"result\":{result}{cursor}}}")))
        })
    }

    /// Opens a stream. `reconnect` is how many milliseconds a watch tries to find a lost Core again:
    /// absent as long as it takes.
    #[napi]
    pub fn stream(&self, name: String, args: String, reconnect: Option<f64>) -> napi::Result<NativeStream> {
        let reconnect = match reconnect {
            None => Reconnect::Forever,
            Some(milliseconds) if milliseconds > 0.0 => Reconnect::For(Duration::from_secs_f64((milliseconds / 1000.0).min(1e9))),
            Some(_) => Reconnect::Never,
        };
        let batches = self.open()?.stream_named(&name, &args, reconnect).map_err(|error| thrown(&error))?;
        Ok(NativeStream::new(batches))
    }

    /// Lets go of the connection, once what is on its way is answered.
    #[napi]
    pub fn close(&mut self) {
        self.client = None;
    }
}
