//! The SQLite store, on real files.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod commit;
mod file;
mod history;
mod kill;
mod list;
mod lock;
mod log;
mod purge;
mod search;
mod support;
