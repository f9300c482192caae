//! The native module of the npm package: clients, streams and Cores, in JSON.
//!
//! Only strings and numbers cross. A command that waits takes a callback, which is called once with
//! an error or a result; the JavaScript beside this module makes promises of them. Nothing in here
//! keeps Node's event loop alive: the JavaScript does, for what somebody awaits.

#![cfg_attr(test, allow(dead_code, reason = "what the macros of napi use is left out of a test build"))]

mod client;
mod core;
mod reply;
mod stream;

use napi_derive::napi;
use std::sync::OnceLock;
use tokio::runtime::{Builder, Runtime};

/// The runtime of everything that waits, shared by all threads of the process that load this module
/// and never ended: a Core and its clients may outlive the thread that started them.
fn runtime() -> napi::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).thread_name("galley").enable_all().build().map_err(|error| error.to_string())
    });
    runtime.as_ref().map_err(|error| napi::Error::from_reason(format!("the system gives no threads: {error}")))
}

/// Runs the `galley` command and returns its exit code. `argv` begins with the program's name.
#[napi]
pub fn main(argv: Vec<String>) -> i32 {
    galley_cli::main(argv)
}
