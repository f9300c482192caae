//! Running one future: to its end, or with `done` called at its end.

use crate::error::Failure;
use crate::process::Process;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a signal may wait for the thread that blocks.
const SIGNALS: Duration = Duration::from_millis(50);

/// What an operation gives back, before it is a Python object.
pub enum Value {
    /// Nothing.
    None,
    /// A result, and where the next page starts.
    Answer(galley_client::Answer),
    /// Lines of a stream.
    Batch(galley_client::Batch),
    /// A started engine.
    Core(crate::core::Core),
}

impl Value {
    /// The Python object: `None`, `(result, cursor)`, `(first, run, approvals, lines)`, `lines` or `Core`.
    pub fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        use galley_client::Batch;
        Ok(match self {
            Self::None => py.None(),
            Self::Answer(answer) => (PyBytes::new(py, &answer.result), answer.next_cursor).into_pyobject(py)?.into_any().unbind(),
            Self::Batch(Batch::Frames(lines)) => PyBytes::new(py, &lines).into_any().unbind(),
            Self::Batch(Batch::Events { first, run, approvals, lines }) => {
                (first, run, approvals, PyBytes::new(py, &lines)).into_pyobject(py)?.into_any().unbind()
            }
            Self::Core(core) => Py::new(py, core)?.into_any(),
        })
    }
}

/// Runs `future` to its end. Other Python threads run meanwhile, and a signal's handler may end it.
pub fn wait(py: Python<'_>, process: &Process, future: impl Future<Output = Result<Value, Failure>> + Send) -> PyResult<Py<PyAny>> {
    let handle = process.handle()?;
    let mut future = Box::pin(future);
    loop {
        let outcome = py.detach(|| handle.block_on(async { tokio::time::timeout(SIGNALS, &mut future).await }));
        match outcome {
            Ok(Ok(value)) => return value.into_python(py),
            Ok(Err(failure)) => return Err(failure.raise(py)),
            Err(_) => py.check_signals()?,
        }
    }
}

/// Starts `future`, and calls `done(value, error)` at its end, unless it is cancelled first.
pub fn start(process: &Arc<Process>, done: Py<PyAny>, future: impl Future<Output = Result<Value, Failure>> + Send + 'static) -> PyResult<Pending> {
    let cancelled = CancellationToken::new();
    let pending = Pending { cancelled: cancelled.clone() };
    process.handle()?.spawn(async move {
        let outcome = tokio::select! {
            biased;
            () = cancelled.cancelled() => None,
            outcome = future => Some(outcome),
        };
        // An interpreter that ends has nobody left to tell.
        Python::try_attach(|py| tell(py, done, outcome));
    });
    Ok(pending)
}

fn tell(py: Python<'_>, done: Py<PyAny>, outcome: Option<Result<Value, Failure>>) {
    let args = match outcome {
        None => return,
        Some(Ok(value)) => value.into_python(py).map(|value| (value, py.None())),
        Some(Err(failure)) => Err(failure.raise(py)),
    };
    let args = args.unwrap_or_else(|error| (py.None(), error.into_value(py).into_any()));
    if let Err(error) = done.call1(py, args) {
        error.write_unraisable(py, Some(done.bind(py)));
    }
}

/// An operation on its way.
#[pyclass(module = "galley._native", frozen)]
pub struct Pending {
    cancelled: CancellationToken,
}

#[pymethods]
impl Pending {
    /// Stops it; `done` is not called any more.
    fn cancel(&self) {
        self.cancelled.cancel();
    }
}
