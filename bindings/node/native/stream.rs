//! Streams, pulled batch by batch.

use crate::reply::{Arguments, Waiting, answer};
use galley_client::{Batch, Batches, Error};
use napi::bindgen_prelude::Function;
use napi_derive::napi;
use std::sync::Arc;
use tokio::sync::Mutex;

/// An open stream.
#[napi]
pub struct NativeStream {
    /// `None` once it is closed.
    batches: Arc<Mutex<Option<Batches>>>,
}

/// Lines that came together.
#[napi(object)]
pub struct NativeBatch {
    /// Index of the first event; absent when the lines are frames.
    pub first: Option<f64>,
    /// The run of the events.
    pub run: Option<f64>,
    /// Core's ids of the approvals that the events ask for, as JSON: `[[index, id], …]`.
    pub approvals: Option<String>,
    /// The lines, each ended by a newline.
    pub lines: String,
}

impl NativeStream {
    pub(crate) fn new(batches: Batches) -> Self {
        Self { batches: Arc::new(Mutex::new(Some(batches))) }
    }
}

#[napi]
impl NativeStream {
    /// Waits for the next batch; none means that the stream is over. Nothing is read ahead of it.
    #[napi]
    pub fn next(&self, done: Function<'_, Arguments<NativeBatch>, ()>) -> napi::Result<Waiting> {
        let batches = self.batches.clone();
        answer(&done, async move {
            let mut batches = batches.lock().await;
            let next = match batches.as_mut() {
                Some(open) => open.next().await,
                None => None,
            };
            if !matches!(next, Some(Ok(_))) {
                *batches = None;
            }
            next.transpose()?.map(to_batch).transpose()
        })
    }

    /// Closes the stream and its connection. A `next` that waits must be cancelled first.
    #[napi]
    pub fn close(&self) -> napi::Result<()> {
        let batches = self.batches.clone();
        crate::runtime()?.spawn(async move { *batches.lock().await = None });
        Ok(())
    }
}

/// Indexes are counted, and stay far below where a number of JavaScript gets coarse.
#[allow(clippy::cast_precision_loss)]
fn to_batch(batch: Batch) -> Result<NativeBatch, Error> {
    let text = |lines: bytes::Bytes| String::from_utf8(lines.into()).map_err(|error| Error::Protocol(error.to_string()));
    Ok(match batch {
        Batch::Events { first, run, approvals, lines } => NativeBatch {
            first: Some(first as f64),
            run: Some(run as f64),
            approvals: (!approvals.is_empty()).then(|| serde_json::json!(approvals).to_string()),
            lines: text(lines)?,
        },
        Batch::Frames(lines) => NativeBatch { first: None, run: None, approvals: None, lines: text(lines)? },
    })
}
