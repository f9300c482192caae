//! Errors, as the exceptions of `galley.errors`.

use galley_client::Error;
use galley_protocol::socket::ErrorTag;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// An error before it is an exception: made without the interpreter.
pub enum Failure {
    /// What a client or Core says.
    Error(Error),
    /// What was asked of a handle that is closed.
    Closed(&'static str),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<galley_core::Error> for Failure {
    fn from(error: galley_core::Error) -> Self {
        Self::Error(Error::Api { tag: error.tag(), message: error.to_string(), detail: error.detail() })
    }
}

impl Failure {
    /// The exception that tells of it.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Error(error) => of_error(py, &error),
            Self::Closed(what) => closed_in(py, what),
        }
    }
}

/// `galley.Closed`.
pub fn closed(message: &str) -> PyErr {
    Python::attach(|py| closed_in(py, message))
}

fn closed_in(py: Python<'_>, message: &str) -> PyErr {
    exception(py, "Closed", (message,))
}

fn of_error(py: Python<'_>, error: &Error) -> PyErr {
    let tag: ErrorTag = error.tag();
    let (message, detail) = match error {
        Error::Api { message, detail, .. } => (message.clone(), detail.as_ref().map(ToString::to_string)),
        other => (other.to_string(), None),
    };
    exception(py, "of", (tag.to_string(), message, detail, tag.exit_code(), error.is_retryable()))
}

fn exception<'py>(py: Python<'py>, maker: &str, args: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = py.import("galley.errors").and_then(|errors| errors.getattr(maker)).and_then(|maker| maker.call1(args));
    made.map_or_else(|error| error, |value| if value.is_none() { PyRuntimeError::new_err("no exception") } else { PyErr::from_value(value) })
}
