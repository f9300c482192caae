//! The doors of a running Core: the socket and the in-process transport, both served by one
//! connection loop that speaks JSON lines.

mod commands;
mod connection;
mod dispatch;
mod install;
mod link;
mod socket;
mod watch;

pub use connection::{Answer, Call, Counters, Responder, serve};
pub(crate) use install::InstallStream;
pub use link::ChannelLink;
pub use socket::SocketServer;
