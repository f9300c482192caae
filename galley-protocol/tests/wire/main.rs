//! The wire as it is documented: every sample under `schema/golden` against the types and against
//! the JSON Schema, and what must hold of every line.

#![allow(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod ipc;
mod properties;
mod sample;
mod schema;
mod socket;
