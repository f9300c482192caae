//! The engine as its clients see it: real processes, a real database, real sockets.

mod basics;
mod engine;
