//! A Core with a database of its own, the fault-injecting runner as a runtime, and short clocks.

use futures::StreamExt;
use galley_client::{Client, SocketTransport, WatchEvent, WatchItem, WatchOptions};
use galley_core::{Core, CoreBuilder, Limits, Runtime};
use galley_protocol::ipc::Event;
use galley_protocol::socket::{EndReason, MessageBrief, NewSession, SessionBrief, SessionNew, SessionShow, SessionStatus, SessionWait, WatchFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

pub struct Engine {
    pub core: Core,
    pub client: Client,
    // Last: the database goes when nothing uses it any more.
    pub dir: TempDir,
}

/// A Core in `dir` with the runtimes of these tests.
pub fn builder(dir: &TempDir) -> CoreBuilder {
    builder_in(dir.path())
}

/// The same in any folder.
pub fn builder_in(folder: &Path) -> CoreBuilder {
    let runner = galley_testkit::runner_path().expect("the runner is built").to_string_lossy().into_owned();
    Core::builder()
        .database(folder.join("workbench.db"))
        .socket(folder.join("galley.sock"))
        .runtime(Runtime::process("testkit", vec![runner]))
        .limits(Limits { abort: Duration::from_secs(2), ..Limits::default() })
}

pub fn database(dir: &TempDir) -> PathBuf {
    dir.path().join("workbench.db")
}

pub fn socket(dir: &TempDir) -> PathBuf {
    dir.path().join("galley.sock")
}

impl Engine {
    pub async fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap()).await
    }

    pub async fn start_in(dir: TempDir) -> Self {
        let core = builder(&dir);
        Self::start_as(dir, core).await
    }

    pub async fn start_as(dir: TempDir, core: CoreBuilder) -> Self {
        let core = core.start().await.unwrap();
        let client = core.client();
        Self { core, client, dir }
    }

    /// Ends the Core and gives its folder back.
    pub async fn stop(self) -> TempDir {
        self.core.shutdown().await;
        self.dir
    }

    /// A client over the socket.
    pub fn over_socket(&self) -> Client {
        Client::new(SocketTransport::new(socket(&self.dir)))
    }

    /// A new session of the fault-injecting runner.
    pub async fn new_session(&self, task: &str) -> NewSession {
        self.client.call(SessionNew { task: task.into(), runtime: Some("testkit".into()), ..SessionNew::default() }).await.unwrap()
    }

    pub async fn brief(&self, id: &str) -> SessionBrief {
        self.client.session(id).brief().await.unwrap()
    }

    pub async fn show(&self, id: &str) -> Vec<MessageBrief> {
        self.client.call(SessionShow { session_id: id.into(), ..SessionShow::default() }).await.unwrap()
    }

    /// Waits until the session has nothing in hand and returns its row.
    pub async fn idle(&self, id: &str) -> SessionBrief {
        let wait = SessionWait { until_idle: Some(true), timeout: Some(20.0), ..SessionWait::default() };
        self.client.session(id).wait(wait).wait_final().await.unwrap();
        let brief = self.brief(id).await;
        assert!(
            !matches!(brief.status, SessionStatus::Connecting | SessionStatus::Running | SessionStatus::WaitingApproval),
            "{id} is {} after the wait",
            brief.status
        );
        brief
    }

    /// Every event of the log there is now.
    pub async fn log(&self, id: &str) -> Vec<WatchEvent> {
        self.log_from(id, 1).await
    }

    /// The same from index `first` on.
    pub async fn log_from(&self, id: &str, first: u64) -> Vec<WatchEvent> {
        let last = self.brief(id).await.last_index.unwrap() + 1 - first;
        let watch = self.client.watch(id, WatchOptions { from: Some(WatchFrom::Index(first)), stay: true, ..WatchOptions::default() });
        let events = watch.filter_map(async |item| if let WatchItem::Event(event) = item.unwrap() { Some(event) } else { None });
        events.take(last as usize).collect().await
    }

    /// Waits until an event satisfies `wanted` and returns it.
    pub async fn event(&self, id: &str, wanted: impl Fn(&Event) -> bool) -> WatchEvent {
        let mut watch = self.client.watch(id, WatchOptions { from: Some(WatchFrom::Start), stay: true, ..WatchOptions::default() });
        let found = async {
            while let Some(item) = watch.next().await {
                if let WatchItem::Event(event) = item.unwrap()
                    && wanted(&event.decode().unwrap())
                {
                    return Some(event);
                }
            }
            None
        };
        tokio::time::timeout(Duration::from_secs(20), found).await.expect("the event comes in time").expect("the stream stays")
    }
}

/// A watch to its end: its events and why it ended.
pub async fn collect(
    mut watch: impl futures::Stream<Item = Result<WatchItem, galley_client::Error>> + Unpin,
) -> (Vec<WatchEvent>, Option<EndReason>) {
    let mut events = Vec::new();
    while let Some(item) = watch.next().await {
        match item.unwrap() {
            WatchItem::Event(event) => events.push(event),
            WatchItem::End(reason) => return (events, Some(reason)),
            _ => {}
        }
    }
    (events, None)
}

/// Kinds of events, in order.
pub fn kinds(events: &[WatchEvent]) -> Vec<String> {
    events.iter().map(|event| event.decode().unwrap().kind().to_owned()).collect()
}
