//! The native module of the Python package, `galley._native`: calls and streams by name, JSON in and
//! out, and an engine within the process. What callers see is Python, in `python/galley`.
//!
//! Every operation comes twice: one that blocks, lets other Python threads run and answers Ctrl-C, and
//! one that returns at once and calls `done(value, error)` later, from a thread of the runtime.

#![deny(unsafe_code)]

mod client;
mod core;
mod error;
mod operation;
mod process;
mod stream;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    use super::process;
    use pyo3::prelude::*;
    use pyo3::types::IntoPyDict;

    #[pymodule_export]
    use super::client::Client;
    #[pymodule_export]
    use super::core::Core;
    #[pymodule_export]
    use super::operation::Pending;
    #[pymodule_export]
    use super::stream::Stream;

    /// Runs the `galley` command and returns its exit code.
    #[pyfunction]
    fn main(py: Python<'_>, argv: Vec<std::ffi::OsString>) -> i32 {
        py.detach(|| galley_cli::main(argv))
    }

    /// Ends what still runs before the interpreter goes away, in bounded time.
    #[pyfunction]
    fn at_exit(py: Python<'_>) {
        process::end(py);
    }

    /// Lets go of everything a forked child has got from its parent.
    #[pyfunction]
    fn after_fork_child() {
        process::after_fork_child();
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        py.import("atexit")?.call_method1("register", (module.getattr("at_exit")?,))?;
        if let Ok(register) = py.import("os")?.getattr("register_at_fork") {
            register.call((), Some(&[("after_in_child", module.getattr("after_fork_child")?)].into_py_dict(py)?))?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
