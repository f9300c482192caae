//! The Agent API commands, one module per noun.

pub mod approval;
pub mod core;
pub mod llm;
pub mod meta;
pub mod project;
pub mod runtime;
pub mod session;
pub mod sessions;
pub mod stream;
