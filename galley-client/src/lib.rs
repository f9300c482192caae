//! A typed client of Galley Core.
//!
//! Every command of the Agent API is a type in [`protocol::socket`]; [`Client::call`] carries any of
//! them out. The usual ones are also methods, by noun.
//!
//! ```no_run
//! use galley_client::protocol::socket::{SessionNew, SessionWait, WatchFrom};
//! use galley_client::{Client, WatchItem, WatchOptions};
//!
//! # async fn example() -> Result<(), galley_client::Error> {
//! let client = Client::connect().await?;
//! let new = client.sessions().create(SessionNew { task: "echo hello".into(), ..SessionNew::default() }).await?;
//!
//! // Every event of the session, each exactly once, also across a lost connection.
//! let session = client.session(new.session.id);
//! let mut watch = session.watch(WatchOptions { from: Some(WatchFrom::Start), ..WatchOptions::default() });
//! while let Some(item) = watch.next().await {
//!     match item? {
//!         WatchItem::Event(event) => println!("{} {}", event.index, String::from_utf8_lossy(&event.raw)),
//!         WatchItem::End(reason) => println!("over: {reason}"),
//!         _ => {}
//!     }
//! }
//!
//! // Or just the answer.
//! let outcome = session.wait(SessionWait::default()).wait_final().await?;
//! println!("{}: {:?}", outcome.status, outcome.messages.last());
//! # Ok(())
//! # }
//! ```
//!
//! # Transports
//!
//! The same lines travel over a [`Transport`]: the local socket ([`SocketTransport`]), in process,
//! or read-only from the database's file; the last two come with `galley-core`.
//!
//! # Raw doors
//!
//! [`Client::answer`] returns a result and [`Client::frames`] a stream as Core wrote them,
//! [`Client::call_named`] and [`Client::stream_named`] take any command by its name with its arguments
//! as JSON, [`Client::raw`] speaks the wire line by line, and [`WatchEvent::raw`] is the runner's own line.
//! They are for programs that pass things on; nothing unknown is lost on the way.
//!
//! # Agents
//!
//! With the feature `runner`, the module `runner` is the other side: an agent as a function.

#![cfg_attr(not(windows), forbid(unsafe_code))]
#![cfg_attr(windows, deny(unsafe_code))]

pub mod blocking;
mod calls;
mod client;
mod error;
mod named;
mod resources;
#[cfg(feature = "runner")]
pub mod runner;
mod stream;
mod transport;

pub use calls::Answer;
pub use client::{Client, Page};
pub use error::Error;
pub use galley_protocol as protocol;
pub use named::{Batch, Batches};
pub use resources::{Approvals, Llms, Project, Projects, Runtimes, Session, Sessions};
pub use stream::{
    Feed, FeedItem, FeedOptions, Follow, FollowProject, Frames, Reconnect, TypedFrame, TypedFrames, Wait, WaitOutcome, Watch, WatchEvent, WatchItem,
    WatchOptions,
};
pub use transport::{Connection, SocketTransport, Transport};
