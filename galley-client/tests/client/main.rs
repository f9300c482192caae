//! The client against a fake Core: a real socket, and answers by the book or by no book at all.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod blocking;
mod calls;
mod fake;
mod named;
mod socket;
mod watch;
