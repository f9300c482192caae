//! Streams, in batches.

use crate::error::{Failure, closed};
use crate::operation::{Pending, Value, start, wait};
use crate::process::Process;
use galley_client::Batches;
use pyo3::prelude::*;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// A stream. One reader at a time; what is not read waits.
#[pyclass(module = "galley._native", frozen)]
pub struct Stream {
    process: Arc<Process>,
    batches: Arc<Mutex<Option<Batches>>>,
    closed: CancellationToken,
}

impl Stream {
    pub fn new(process: Arc<Process>, batches: Batches, closed: CancellationToken) -> Self {
        Self { process, batches: Arc::new(Mutex::new(Some(batches))), closed }
    }

    /// The next batch; nothing after the last one, and once the stream is closed.
    fn reading(&self) -> PyResult<impl Future<Output = Result<Value, Failure>> + Send + use<>> {
        self.process.handle()?;
        let mut batches = self.batches.clone().try_lock_owned().map_err(|_| closed("somebody else reads this stream"))?;
        let closed = self.closed.clone();
        Ok(async move {
            let Some(open) = batches.as_mut() else { return Ok(Value::None) };
            let batch = tokio::select! {
                biased;
                () = closed.cancelled() => None,
                batch = open.next() => batch,
            };
            match batch {
                Some(Ok(batch)) => Ok(Value::Batch(batch)),
                Some(Err(error)) => {
                    *batches = None;
                    Err(error.into())
                }
                None => {
                    *batches = None;
                    Ok(Value::None)
                }
            }
        })
    }
}

#[pymethods]
impl Stream {
    /// The next lines: `(first, run, approvals, lines)` of events, `lines` of other frames, `None` at
    /// the end.
    fn next(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        wait(py, &self.process, self.reading()?)
    }

    /// As `next`, with `done` told at the end.
    fn start_next(&self, done: Py<PyAny>) -> PyResult<Pending> {
        start(&self.process, done, self.reading()?)
    }

    /// Closes its connection. A read that waits finds the end.
    fn close(&self) {
        if !self.process.is_inherited() {
            self.closed.cancel();
            if let Ok(mut batches) = self.batches.try_lock() {
                batches.take();
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.process.is_inherited() {
            // Its connection is the parent's.
            std::mem::forget(self.batches.clone());
        } else {
            self.close();
        }
    }
}
