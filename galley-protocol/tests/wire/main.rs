//! The wire as it is documented: every sample under `schema/golden` against the types and against
//! the JSON Schema, and what must hold of every line.

mod ipc;
mod properties;
mod sample;
mod schema;
mod socket;
