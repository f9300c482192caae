//! The client: calls and streams.

use crate::calls::{Answer, Calls};
use crate::error::Error;
use crate::resources::{Approvals, Llms, Project, Projects, Runtimes, Session, Sessions};
use crate::stream::{Feed, FeedOptions, Follow, FollowProject, Frames, Wait, Watch, WatchOptions};
use crate::transport::{SocketTransport, Transport, take_line};
use bytes::{BufMut, Bytes, BytesMut};
use galley_protocol::socket::{Access, Command, ProjectFollow, Request, SessionFollow, SessionWait, StreamCommand};
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A client of one Core. Cloning is cheap; clones share one connection for requests, and every
/// stream has its own.
///
/// Requests are sent at once and answered in any order; more than 256 at a time wait. A call whose
/// future is dropped is forgotten, though Core may still carry it out.
///
/// Needs a Tokio runtime with I/O and time enabled; [`blocking::Client`](crate::blocking::Client)
/// does not.
#[derive(Clone)]
pub struct Client {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) calls: Arc<Calls>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// The `cursor` of the next page; `None` on the last one.
    pub next_cursor: Option<String>,
}

impl Client {
    /// A client over any transport. The connection is opened by the first call, and again after a
    /// break.
    pub fn new(transport: impl Transport) -> Self {
        let transport: Arc<dyn Transport> = Arc::new(transport);
        Self { calls: Arc::new(Calls::new(transport.clone())), transport }
    }

    /// A client of the Core that listens at [`SocketTransport::default_path`].
    ///
    /// # Errors
    /// [`Error::Unavailable`] when there is none.
    pub async fn connect() -> Result<Self, Error> {
        let client = Self::new(SocketTransport::default());
        client.calls.open().await?;
        Ok(client)
    }

    /// Carries out any command.
    ///
    /// A command that takes a client request id gets one, so that Core carries it out once even if
    /// it is sent twice; with it, and for reads, a call whose connection breaks is sent once more.
    /// Any other command is sent again only if Core cannot have read it.
    ///
    /// # Errors
    /// [`Error::Api`] with the tag Core gave, [`Error::Unavailable`] without a Core or when the
    /// connection broke, [`Error::TimedOut`] without an answer for 120 s.
    pub async fn call<C: Command + 'static>(&self, command: C) -> Result<C::Output, Error> {
        read(&self.answer(command).await?.result)
    }

    /// Carries out a command that lists, and keeps the cursor of the next page.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn page<T, C: Command<Output = Vec<T>> + 'static>(&self, command: C) -> Result<Page<T>, Error>
    where
        Vec<T>: DeserializeOwned,
    {
        let answer = self.answer(command).await?;
        Ok(Page { items: read(&answer.result)?, next_cursor: answer.next_cursor })
    }

    /// Carries out a command and returns the result as Core wrote it, fields of newer versions
    /// included: for programs that pass results on.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn answer<C: Command + 'static>(&self, mut command: C) -> Result<Answer, Error> {
        let mut repeatable = C::ACCESS == Access::Read;
        if let Some(id) = command.client_request_id() {
            id.get_or_insert_with(|| uuid::Uuid::new_v4().to_string());
            repeatable = true;
        }
        let request = Request::new(&command).map_err(|error| Error::Protocol(error.to_string()))?;
        self.calls.exchange(request, repeatable).await
    }

    /// Sends one request line and returns the response line, both without a newline, over a
    /// connection of its own: for gateways that speak the wire themselves, and for commands this
    /// version does not know. Error responses are lines like any other.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a Core or when it closes the connection,
    /// [`Error::TimedOut`] without an answer for 120 s.
    pub async fn raw(&self, request: &[u8]) -> Result<Bytes, Error> {
        let mut connection = self.transport.connect().await?;
        let mut line = BytesMut::with_capacity(request.len() + 1);
        line.put_slice(request);
        line.put_u8(b'\n');
        connection.sender.send(line.freeze()).await.ok();
        let answer = tokio::time::timeout(crate::calls::REPLY_TIMEOUT, connection.receiver.recv());
        let mut chunk = answer.await.map_err(|_| Error::TimedOut(crate::calls::REPLY_TIMEOUT))?.unwrap_or_default();
        take_line(&mut chunk).ok_or_else(|| Error::Unavailable("Galley Core closed the connection before it answered".to_owned()))
    }

    /// Opens a stream and returns its frames as Core wrote them: for programs that pass them on.
    /// It does not reconnect.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a Core.
    pub async fn frames<C: StreamCommand + 'static>(&self, command: C) -> Result<Frames, Error> {
        Frames::open(&*self.transport, &command).await
    }

    /// Watches a session's events. The connection is opened when the watch is first polled.
    pub fn watch(&self, session_id: impl Into<String>, options: WatchOptions) -> Watch {
        Watch::new(self.transport.clone(), session_id.into(), options)
    }

    /// Waits for a session's answer. The connection is opened when the wait is first polled.
    pub fn wait(&self, command: SessionWait) -> Wait {
        Wait::new(self.transport.clone(), command)
    }

    /// Follows a session from a snapshot on. The connection is opened when the follow is first
    /// polled; it is not resumed, as a new follow begins with a new snapshot.
    pub fn follow(&self, command: SessionFollow) -> Follow {
        Follow::new(self.transport.clone(), command)
    }

    /// Follows all sessions of a project from a snapshot on, as [`follow`](Self::follow) does one.
    pub fn follow_project(&self, command: ProjectFollow) -> FollowProject {
        FollowProject::new(self.transport.clone(), command)
    }

    /// Watches all sessions. The connection is opened when the feed is first polled.
    pub fn watch_sessions(&self, options: &FeedOptions) -> Feed {
        Feed::new(self.transport.clone(), options)
    }

    /// Many sessions.
    pub fn sessions(&self) -> Sessions<'_> {
        Sessions(self)
    }

    /// One session.
    pub fn session(&self, id: impl Into<String>) -> Session<'_> {
        Session { client: self, id: id.into() }
    }

    /// What waits for a yes or a no.
    pub fn approvals(&self) -> Approvals<'_> {
        Approvals(self)
    }

    /// All projects.
    pub fn projects(&self) -> Projects<'_> {
        Projects(self)
    }

    /// One project.
    pub fn project(&self, id: impl Into<String>) -> Project<'_> {
        Project { client: self, id: id.into() }
    }

    /// The models that agents can use.
    pub fn llms(&self) -> Llms<'_> {
        Llms(self)
    }

    /// The agents that can be started.
    pub fn runtimes(&self) -> Runtimes<'_> {
        Runtimes(self)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

fn read<T: DeserializeOwned>(result: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(result).map_err(|error| Error::Protocol(format!("{error} in {}", crate::calls::excerpt(result))))
}
