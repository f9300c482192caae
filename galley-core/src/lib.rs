//! Galley Core: runs agents as supervised local processes and keeps all they say.

#![deny(unsafe_code)]
#![allow(dead_code, unused_imports)]

mod config;
mod error;
pub mod paths;
pub mod runner;
mod store;
mod time;

pub use config::{Config, ConfigFile, Runtime};
pub use error::{Error, StartCause};
pub use time::Timestamp;
