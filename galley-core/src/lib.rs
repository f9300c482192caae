//! Galley Core: runs agents as supervised local processes and keeps all they say.

#![deny(unsafe_code)]

mod config;
mod core;
mod error;
mod event_log;
mod lock;
pub mod paths;
mod read_only;
mod reads;
pub mod runner;
mod runtimes;
mod server;
mod session;
mod store;
mod time;

pub use self::core::{Core, CoreBuilder};
pub use config::{Config, ConfigFile, Runtime};
pub use error::{Error, StartCause};
pub use lock::InstanceLock;
pub use read_only::{ReadOnly, read_only, read_only_in_place};
pub use session::Limits;
pub use store::{
    ApprovalQuery, ApprovalRow, Change, LogChunk, MessageQuery, MessageRow, Page, ReadStore, Rule, RuntimeFilter, SearchQuery, SessionCounts,
    SessionQuery, SessionRow, SessionSnapshot, SessionStore, SqliteReader, SqliteStore,
};
pub use time::Timestamp;

/// The README's examples compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
