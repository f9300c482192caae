//! The engine as its clients see it: real processes, a real database, real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod basics;
mod engine;
