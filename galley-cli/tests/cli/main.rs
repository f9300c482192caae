//! The `galley` program as its callers see it: bytes on two streams and an exit code.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../conformance/mod.rs"]
mod conformance;
mod docs;
mod engine;
mod errors;
mod home;
mod run;
mod soak;
mod streams;
