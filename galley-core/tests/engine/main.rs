//! The engine as its clients see it: real processes, a real database, real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod basics;
mod engine;

#[cfg(unix)]
mod bad_input;
#[cfg(unix)]
mod compacting;
#[cfg(unix)]
mod database;
#[cfg(unix)]
mod feed;
#[cfg(unix)]
mod following;
#[cfg(unix)]
mod hosting;
#[cfg(unix)]
mod images;
#[cfg(unix)]
mod kills;
#[cfg(unix)]
mod lifecycle;
#[cfg(unix)]
mod project_following;
#[cfg(unix)]
mod projects;
#[cfg(unix)]
mod runtimes;
#[cfg(unix)]
mod second_process;
#[cfg(unix)]
mod sockets;
#[cfg(unix)]
mod storing;
#[cfg(unix)]
mod watching;
#[cfg(unix)]
mod wire;
