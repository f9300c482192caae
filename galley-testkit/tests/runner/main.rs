//! The runner as an engine sees it: the real binary, its real pipes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking, its helpers included")]

mod asking;
mod bad_lines;
mod harness;
mod life;
#[cfg(unix)]
mod processes;
mod talking;
