//! The same client for programs without an async runtime.
//!
//! A blocking client brings a runtime of its own, which runs inside its calls: it has no threads.
//! Its methods must not be called from async code.
//!
//! ```no_run
//! use galley_client::protocol::socket::SessionNew;
//! use galley_client::{WatchItem, WatchOptions, blocking};
//!
//! let client = blocking::Client::connect()?;
//! let new = client.call(SessionNew { task: "echo hello".into(), ..SessionNew::default() })?;
//! for item in client.watch(new.session.id, WatchOptions::default()) {
//!     if let WatchItem::Event(event) = item? {
//!         println!("{} {}", event.index, String::from_utf8_lossy(&event.raw));
//!     }
//! }
//! # Ok::<(), galley_client::Error>(())
//! ```

use crate::client::Page;
use crate::error::Error;
use crate::stream::{self, FeedItem, FeedOptions, TypedFrame, TypedFrames, WaitOutcome, WatchItem, WatchOptions};
use crate::transport::Transport;
use bytes::Bytes;
use galley_protocol::socket::{Command, ProjectFollow, SessionFollow, SessionWait};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The blocking twin of [`Client`](crate::Client).
#[derive(Debug, Clone)]
pub struct Client {
    // Dropped before the runtime, as its tasks live there.
    client: crate::Client,
    runtime: Arc<Runtime>,
}

impl Client {
    /// A client over any transport.
    ///
    /// # Errors
    /// [`Error::Unavailable`] when the system gives no runtime.
    pub fn new(transport: impl Transport) -> Result<Self, Error> {
        Ok(Self { client: crate::Client::new(transport), runtime: runtime()? })
    }

    /// As [`Client::connect`](crate::Client::connect).
    ///
    /// # Errors
    /// [`Error::Unavailable`] when no Core listens.
    pub fn connect() -> Result<Self, Error> {
        let runtime = runtime()?;
        Ok(Self { client: runtime.block_on(crate::Client::connect())?, runtime })
    }

    /// As [`Client::call`](crate::Client::call).
    ///
    /// # Errors
    /// The same.
    pub fn call<C: Command + 'static>(&self, command: C) -> Result<C::Output, Error> {
        self.runtime.block_on(self.client.call(command))
    }

    /// As [`Client::page`](crate::Client::page).
    ///
    /// # Errors
    /// The same.
    pub fn page<T, C: Command<Output = Vec<T>> + 'static>(&self, command: C) -> Result<Page<T>, Error>
    where
        Vec<T>: DeserializeOwned,
    {
        self.runtime.block_on(self.client.page(command))
    }

    /// As [`Client::raw`](crate::Client::raw).
    ///
    /// # Errors
    /// The same.
    pub fn raw(&self, request: &[u8]) -> Result<Bytes, Error> {
        self.runtime.block_on(self.client.raw(request))
    }

    /// As [`Client::watch`](crate::Client::watch).
    pub fn watch(&self, session_id: impl Into<String>, options: WatchOptions) -> Watch {
        Iter::new(self.client.watch(session_id, options), self.runtime.clone())
    }

    /// As [`Client::wait`](crate::Client::wait).
    pub fn wait(&self, command: SessionWait) -> Wait {
        Iter::new(self.client.wait(command), self.runtime.clone())
    }

    /// As [`Client::follow`](crate::Client::follow).
    pub fn follow(&self, command: SessionFollow) -> Follow {
        Iter::new(self.client.follow(command), self.runtime.clone())
    }

    /// As [`Client::follow_project`](crate::Client::follow_project).
    pub fn follow_project(&self, command: ProjectFollow) -> FollowProject {
        Iter::new(self.client.follow_project(command), self.runtime.clone())
    }

    /// As [`Client::watch_sessions`](crate::Client::watch_sessions).
    pub fn watch_sessions(&self, options: &FeedOptions) -> Feed {
        Iter::new(self.client.watch_sessions(options), self.runtime.clone())
    }
}

/// The items of a watch.
pub type Watch = Iter<stream::Watch>;

/// The frames of a wait.
pub type Wait = Iter<stream::Wait>;

/// The frames of a session's follow.
pub type Follow = Iter<stream::Follow>;

/// The frames of a project's follow.
pub type FollowProject = Iter<stream::FollowProject>;

/// The items of a feed.
pub type Feed = Iter<stream::Feed>;

/// A stream as an iterator. Dropping it closes its connection.
pub struct Iter<S> {
    stream: Option<S>,
    runtime: Arc<Runtime>,
}

impl<S> Iter<S> {
    fn new(stream: S, runtime: Arc<Runtime>) -> Self {
        Self { stream: Some(stream), runtime }
    }
}

impl Iterator for Watch {
    type Item = Result<WatchItem, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.block_on(self.stream.as_mut()?.next())
    }
}

impl Iterator for Feed {
    type Item = Result<FeedItem, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.block_on(self.stream.as_mut()?.next())
    }
}

impl<F: TypedFrame> Iterator for Iter<TypedFrames<F>> {
    type Item = Result<F, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.runtime.block_on(self.stream.as_mut()?.next())
    }
}

impl Wait {
    /// As [`Wait::wait_final`](stream::Wait::wait_final).
    ///
    /// # Errors
    /// The same.
    pub fn wait_final(mut self) -> Result<WaitOutcome, Error> {
        match self.stream.take() {
            Some(wait) => self.runtime.block_on(wait.wait_final()),
            None => Err(Error::Protocol("the wait is over".to_owned())),
        }
    }
}

impl<S> Drop for Iter<S> {
    fn drop(&mut self) {
        self.stream = None;
        // The connection's task sees the drop only when the runtime has a turn. It gets one on
        // another thread, as this one may be inside a runtime of the caller's.
        let runtime = self.runtime.clone();
        std::thread::Builder::new().name("galley-close".to_owned()).spawn(move || runtime.block_on(tokio::task::yield_now())).ok();
    }
}

fn runtime() -> Result<Arc<Runtime>, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map(Arc::new).map_err(|error| Error::Unavailable(format!("no runtime for the client: {error}")))
}
