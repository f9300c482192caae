//! An engine within the process.

use crate::client::Client;
use crate::error::{Failure, closed};
use crate::operation::{Pending, Value, start, wait};
use crate::process::Process;
use galley_core::Runtime;
use galley_protocol::socket::Backend;
use pyo3::prelude::*;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A running engine. One task owns it, and ends it when this handle, a client or the interpreter asks.
#[pyclass(module = "galley._native", frozen)]
pub struct Core {
    process: Arc<Process>,
    client: Option<galley_client::Client>,
    stop: CancellationToken,
    ended: watch::Receiver<bool>,
    #[pyo3(get)]
    database: PathBuf,
    #[pyo3(get)]
    socket: Option<PathBuf>,
}

/// A runtime as Python passes it: name, backend, command, the agent's folder.
type RuntimeArgs = (String, String, Vec<String>, Option<PathBuf>);

#[derive(FromPyObject)]
struct Options {
    #[pyo3(item)]
    database: Option<PathBuf>,
    #[pyo3(item)]
    socket: Option<PathBuf>,
    #[pyo3(item)]
    config: Option<PathBuf>,
    #[pyo3(item)]
    max_live_runners: Option<usize>,
    #[pyo3(item)]
    runtimes: Vec<RuntimeArgs>,
}

fn starting(process: &Arc<Process>, options: Options) -> impl Future<Output = Result<Value, Failure>> + Send + use<> {
    let process = process.clone();
    async move {
        let mut builder = galley_core::Core::builder();
        if let Some(path) = options.database {
            builder = builder.database(path);
        }
        if let Some(path) = options.socket {
            builder = builder.socket(path);
        }
        if let Some(path) = options.config {
            builder = builder.config(path);
        }
        if let Some(count) = options.max_live_runners {
            builder = builder.max_live_runners(count);
        }
        for (name, backend, command, ga_path) in options.runtimes {
            builder = builder.runtime(Runtime { backend: Backend::from(backend.as_str()), ga_path, ..Runtime::process(name, command) });
        }
        let core = Arc::new(builder.start().await?);
        let (stop, (ending, ended)) = (process.ending.child_token(), watch::channel(false));
        process.keep(&core, ended.clone());
        let handle = Core {
            client: Some(core.client()),
            stop: stop.clone(),
            ended,
            database: core.database().to_owned(),
            socket: core.socket().map(ToOwned::to_owned),
            process,
        };
        tokio::spawn(own(core, stop, ending));
        Ok(Value::Core(handle))
    }
}

async fn own(core: Arc<galley_core::Core>, stop: CancellationToken, ending: watch::Sender<bool>) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = core.shutdown_requested() => {}
    }
    // Others hold it weakly, and look at it in a forked child only.
    if let Some(core) = Arc::into_inner(core) {
        core.shutdown().await;
    }
    ending.send_replace(true);
}

impl Core {
    fn stopping(&self) -> impl Future<Output = Result<Value, Failure>> + Send + use<> {
        self.stop.cancel();
        self.waiting()
    }

    fn waiting(&self) -> impl Future<Output = Result<Value, Failure>> + Send + use<> {
        let mut ended = self.ended.clone();
        async move {
            // An error means it is gone already.
            let _ = ended.wait_for(|ended| *ended).await;
            Ok(Value::None)
        }
    }
}

#[pymethods]
impl Core {
    /// Starts an engine.
    #[staticmethod]
    fn start(py: Python<'_>, options: Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let process = Process::current()?;
        wait(py, &process, starting(&process, options.extract()?))
    }

    /// As `start`, with `done` told at the end.
    #[staticmethod]
    fn start_async(options: Bound<'_, PyAny>, done: Py<PyAny>) -> PyResult<Pending> {
        let process = Process::current()?;
        start(&process, done, starting(&process, options.extract()?))
    }

    /// A client within this process.
    fn client(&self) -> PyResult<Client> {
        self.process.handle()?;
        match &self.client {
            Some(client) if !*self.ended.borrow() => Ok(Client::new(self.process.clone(), client.clone())),
            _ => Err(closed("this Core has ended")),
        }
    }

    /// Ends the engine and waits until it has ended.
    fn shutdown(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.process.handle()?;
        wait(py, &self.process, self.stopping())
    }

    /// As `shutdown`, with `done` told at the end.
    fn start_shutdown(&self, done: Py<PyAny>) -> PyResult<Pending> {
        self.process.handle()?;
        start(&self.process, done, self.stopping())
    }

    /// Waits until the engine has ended, by whomever.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        wait(py, &self.process, self.waiting())
    }

    /// As `wait`, with `done` told at the end.
    fn start_wait(&self, done: Py<PyAny>) -> PyResult<Pending> {
        start(&self.process, done, self.waiting())
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if self.process.is_inherited() {
            // Its connection leads to the parent's threads.
            std::mem::forget(self.client.take());
        } else {
            self.stop.cancel();
        }
    }
}
