//! The client: calls and streams by name.

use crate::error::{Failure, closed};
use crate::operation::{Pending, Value, start, wait};
use crate::process::{Process, lock};
use crate::stream::Stream;
use galley_client::{Reconnect, SocketTransport};
use pyo3::prelude::*;
use std::future::Future;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A client of one Core, over a socket, within the process, or of a database's file.
#[pyclass(module = "galley._native", frozen)]
pub struct Client {
    process: Arc<Process>,
    client: Mutex<Option<galley_client::Client>>,
    closed: CancellationToken,
}

impl Client {
    pub fn new(process: Arc<Process>, client: galley_client::Client) -> Self {
        let closed = process.ending.child_token();
        Self { process, client: Mutex::new(Some(client)), closed }
    }

    fn open(&self) -> PyResult<galley_client::Client> {
        self.process.handle()?;
        lock(&self.client).clone().ok_or_else(|| closed("this client is closed"))
    }

    fn calling(&self, name: String, args: String) -> PyResult<impl Future<Output = Result<Value, Failure>> + Send + use<>> {
        let (client, closed) = (self.open()?, self.closed.clone());
        Ok(async move {
            tokio::select! {
                biased;
                () = closed.cancelled() => Err(Failure::Closed("the client was closed before the answer came")),
                answer = client.call_named(&name, &args) => Ok(Value::Answer(answer?)),
            }
        })
    }
}

#[pymethods]
impl Client {
    /// A client of the Core that listens at `socket`, or where a Core listens by default.
    #[staticmethod]
    #[pyo3(signature = (socket=None))]
    fn connect(socket: Option<PathBuf>) -> PyResult<Self> {
        let transport = socket.map_or_else(SocketTransport::default, SocketTransport::new);
        Ok(Self::new(Process::current()?, galley_client::Client::new(transport)))
    }

    /// A client that reads `database` from its file.
    #[staticmethod]
    fn read_only(database: PathBuf) -> PyResult<Self> {
        Ok(Self::new(Process::current()?, galley_client::Client::new(galley_core::read_only(&database))))
    }

    /// Calls a command and returns `(result, next_cursor)`.
    fn call(&self, py: Python<'_>, name: String, args: String) -> PyResult<Py<PyAny>> {
        wait(py, &self.process, self.calling(name, args)?)
    }

    /// As `call`, with `done` told at the end.
    fn start_call(&self, name: String, args: String, done: Py<PyAny>) -> PyResult<Pending> {
        start(&self.process, done, self.calling(name, args)?)
    }

    /// Opens a stream, which survives lost connections for `reconnect` seconds.
    fn stream(&self, py: Python<'_>, name: &str, args: &str, reconnect: f64) -> PyResult<Stream> {
        let client = self.open()?;
        let reconnect = match Duration::try_from_secs_f64(reconnect) {
            Ok(Duration::ZERO) => Reconnect::Never,
            Ok(time) => Reconnect::For(time),
            Err(_) => Reconnect::Forever,
        };
        let batches = client.stream_named(name, args, reconnect).map_err(|error| Failure::from(error).raise(py))?;
        Ok(Stream::new(self.process.clone(), batches, self.closed.child_token()))
    }

    /// Ends its calls and streams.
    fn close(&self) {
        if !self.process.is_inherited() {
            self.closed.cancel();
            lock(&self.client).take();
        }
    }

    #[getter]
    fn closed(&self) -> bool {
        self.process.handle().is_err() || self.closed.is_cancelled()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let client = lock(&self.client).take();
        if self.process.is_inherited() {
            // Its connection is the parent's.
            std::mem::forget(client);
        } else {
            self.closed.cancel();
        }
    }
}
