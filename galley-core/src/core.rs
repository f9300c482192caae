//! The engine: one database, its sessions and their runners, and the doors to them.

use crate::attachments::Attachments;
use crate::config::{Config, ConfigFile, Runtime};
use crate::error::{Error, StartCause};
use crate::feed::{Feed, Touched};
use crate::lock::InstanceLock;
use crate::paths;
use crate::reads::{CoreView, ReadContext};
#[cfg(unix)]
use crate::runner::Listed;
use crate::runner::{Descriptors, Runner, RunnerManager, ShellBackend, start_runtime};
use crate::runtimes::Runtimes;
use crate::server::{ChannelLink, Counters, SocketServer, serve};
use crate::session::{Host, Input, Limits, Sessions};
use crate::store::{ReadStore, SessionStore, SqliteStore};
use crate::time::Timestamp;
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use galley_client::{Client, Connection, Transport};
use galley_protocol::framing::MAX_LINE;
use galley_protocol::socket::{ApprovalMode, Backend as BackendKind, CoreCounters, CoreInfo, CoreLimits, CorePaths, EndReason, LiveSummary};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, watch};

/// Live runners kept by default.
const MAX_LIVE_RUNNERS: usize = 20;
/// Text deltas are kept in the log for this long by default.
const COMPACT_AFTER: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Between two looks for old ones.
const COMPACT_EVERY: Duration = Duration::from_secs(60 * 60);
/// How long a shutdown may take, all runners together.
const SHUTDOWN: Duration = Duration::from_millis(2400);
/// How long it then waits for a database that cannot be written.
const LAST_WRITES: Duration = Duration::from_secs(1);
/// How long it then waits for streams to tell what there is.
const LAST_FRAMES: Duration = Duration::from_millis(250);

/// A running engine. Several may live in one process, each with a database of its own. Dropping it
/// ends everything it started; [`shutdown`](Self::shutdown) does so politely.
pub struct Core {
    inner: Arc<Inner>,
    server: Option<SocketServer>,
}

/// How a Core is started.
#[derive(Debug, Clone)]
#[must_use]
pub struct CoreBuilder {
    database: Option<PathBuf>,
    socket: Option<PathBuf>,
    config: Option<PathBuf>,
    runtimes: Vec<Runtime>,
    max_live_runners: usize,
    compact_after: Duration,
    limits: Limits,
}

/// What all parts of a running Core share.
pub struct Inner {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) sessions: Sessions,
    pub(crate) counters: Counters,
    pub(crate) feed: Arc<Feed>,
    config: ConfigFile,
    /// Runtimes the embedder passed; they go before the file's.
    runtimes: Vec<Runtime>,
    manager: RunnerManager,
    predecessors: OnceCell<()>,
    max_live_runners: usize,
    default_mode: Mutex<ApprovalMode>,
    database: PathBuf,
    socket: Option<PathBuf>,
    started_at: Timestamp,
    handle: Handle,
    stop: watch::Sender<Stop>,
    /// Held until nothing of this Core can write any more.
    lock: Mutex<Option<HeldLock>>,
}

/// The lock, and its place among what a forked child lets go of, which goes first.
struct HeldLock {
    #[cfg(unix)]
    _listed: Listed,
    _lock: InstanceLock,
}

/// How far a Core is on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    Running,
    Asked,
    Stopped,
}

impl Core {
    /// A Core to be: the default database, no socket, the configuration beside the database.
    pub fn builder() -> CoreBuilder {
        CoreBuilder {
            database: None,
            socket: None,
            config: None,
            runtimes: Vec::new(),
            max_live_runners: MAX_LIVE_RUNNERS,
            compact_after: COMPACT_AFTER,
            limits: Limits::default(),
        }
    }

    /// A client within this process: the same commands and streams as over the socket.
    pub fn client(&self) -> Client {
        Client::new(InProcess { core: Arc::downgrade(&self.inner) })
    }

    /// The database.
    pub fn database(&self) -> &Path {
        &self.inner.database
    }

    /// The socket it listens on, if it does.
    pub fn socket(&self) -> Option<&Path> {
        self.inner.socket.as_deref()
    }

    /// Waits until somebody asks this Core to end (`core.shutdown`). It then still runs: call
    /// [`shutdown`](Self::shutdown).
    pub async fn shutdown_requested(&self) {
        let mut stop = self.inner.stop.subscribe();
        // An error means it is gone already.
        let _ = stop.wait_for(|stop| *stop >= Stop::Asked).await;
    }

    /// Ends the Core: runs are stopped, runners shut down together (2 s, then killed), streams end
    /// with `core_shutdown`, everything is stored.
    pub async fn shutdown(mut self) {
        self.inner.shut_down().await;
        if let Some(server) = self.server.take() {
            server.close().await;
        }
    }

    /// In the child of a host that forked without executing another program: lets go of every
    /// descriptor this Core owns, so that the child keeps nothing open and ends nothing.
    pub fn after_fork_child(&self) {
        self.inner.manager.after_fork_child();
    }
}

impl CoreBuilder {
    /// The database file; its folder holds the rest. Default: `workbench.db` in the user's data
    /// directory, or what `GALLEY_DB_PATH` says.
    pub fn database(mut self, path: impl Into<PathBuf>) -> Self {
        self.database = Some(path.into());
        self
    }

    /// Listens on this socket. Without it the Core serves its own process only.
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.socket = Some(path.into());
        self
    }

    /// The configuration file. Default: `config.toml` beside the database.
    pub fn config(mut self, path: impl Into<PathBuf>) -> Self {
        self.config = Some(path.into());
        self
    }

    /// Adds a runtime for this Core only, before those of the configuration file.
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtimes.push(runtime);
        self
    }

    /// Live runners kept before the least recently used idle one is ended; 20 by default.
    pub fn max_live_runners(mut self, count: usize) -> Self {
        self.max_live_runners = count;
        self
    }

    /// How long the log keeps the text deltas of a session's earlier runs, whose text is in its
    /// messages; 7 days by default. Everything else is kept.
    pub fn compact_after(mut self, age: Duration) -> Self {
        self.compact_after = age;
        self
    }

    /// The bounds and clocks of sessions.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Starts the Core on the runtime of the caller.
    ///
    /// # Errors
    /// [`Error::Internal`] outside a Tokio runtime; [`Error::AlreadyRunning`] when another Core
    /// owns the database; [`Error::DbUnavailable`] when the database or the socket cannot be used.
    pub async fn start(self) -> Result<Core, Error> {
        let handle = Handle::try_current().map_err(|_| Error::Internal("a Core must be started within a Tokio runtime".to_owned()))?;
        let database = self.database.map_or_else(paths::default_database, Ok)?;
        let lock = InstanceLock::acquire(&database)?;
        // Somebody else's socket is found before anything is changed.
        let mut server = self.socket.as_deref().map(SocketServer::bind).transpose()?;
        let store = Arc::new(SqliteStore::open(&database)?);
        let default_mode = match store.setting(DEFAULT_MODE).await?.as_deref() {
            Some("auto") => ApprovalMode::Auto,
            _ => ApprovalMode::Ask,
        };
        let manager = RunnerManager::new(lock.path());
        let lock = HeldLock {
            #[cfg(unix)]
            _listed: lock.list(manager.descriptors()),
            _lock: lock,
        };
        let started_at = Timestamp::now();
        let inner = Arc::new_cyclic(|weak: &Weak<Inner>| Inner {
            sessions: Sessions::new(store.clone(), weak.clone(), self.limits, handle.clone()),
            store,
            counters: Counters::default(),
            feed: Arc::new(Feed::new(started_at)),
            config: ConfigFile::new(self.config.unwrap_or_else(|| paths::config_beside(&database))),
            runtimes: self.runtimes,
            manager,
            predecessors: OnceCell::new(),
            max_live_runners: self.max_live_runners,
            default_mode: Mutex::new(default_mode),
            socket: self.socket,
            database,
            started_at,
            handle: handle.clone(),
            stop: watch::Sender::new(Stop::Running),
            lock: Mutex::new(Some(lock)),
        });
        inner.sessions.recover().await?;
        // What an earlier Core left running is ended in the background, before the first runner.
        let sweeping = inner.clone();
        handle.spawn(async move { sweeping.end_predecessors().await });
        handle.spawn(compact(Arc::downgrade(&inner), self.compact_after));
        if let Some(server) = &mut server {
            server.serve(&inner);
        }
        Ok(Core { inner, server })
    }
}

/// Compacts the log now and then, until its Core is stopped.
async fn compact(core: Weak<Inner>, age: Duration) {
    loop {
        let Some(inner) = core.upgrade() else { return };
        let (store, stopped) = (inner.store.clone(), inner.stopped());
        drop(inner);
        let work = async {
            if let Err(error) = store.compact(Timestamp::now().before(age)).await {
                tracing::warn!(%error, "old text deltas stay in the log");
            }
            drop(store);
            tokio::time::sleep(COMPACT_EVERY).await;
        };
        tokio::select! {
            () = stopped => return,
            () = work => {}
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // Connections let go of what they share with this Core; the rest follows.
        self.inner.stop.send_replace(Stop::Stopped);
    }
}

/// Key of the setting that holds the app's default approval mode.
pub(crate) const DEFAULT_MODE: &str = "approval_mode";

impl Inner {
    /// The configuration in force: the file as it is now, and what the embedder passed.
    ///
    /// # Errors
    /// When the file is wrong.
    pub(crate) fn config(&self) -> Result<Arc<Config>, Error> {
        let config = self.config.get()?;
        if self.runtimes.is_empty() {
            return Ok(config);
        }
        let own = (*config).clone();
        Ok(Arc::new(self.runtimes.iter().rev().cloned().fold(own, Config::with_runtime)))
    }

    /// The configuration file.
    pub(crate) fn config_file(&self) -> &ConfigFile {
        &self.config
    }

    /// The app's default approval mode.
    pub(crate) fn default_mode(&self) -> ApprovalMode {
        self.default_mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the app's default approval mode. No live session misses it: it is ahead of whatever is
    /// asked of the session next.
    pub(crate) async fn set_default_mode(&self, mode: ApprovalMode) -> Result<(), Error> {
        let change = crate::store::Change::SetSetting { key: DEFAULT_MODE.to_owned(), value: Some(mode.to_string()) };
        self.store.commit(vec![change]).await?;
        *self.default_mode.lock().unwrap_or_else(PoisonError::into_inner) = mode.clone();
        for session in self.sessions.live() {
            session.inform(Input::DefaultMode(mode.clone())).await;
        }
        Ok(())
    }

    /// What `status` adds with a Core.
    pub(crate) fn live_summary(&self) -> LiveSummary {
        let mut summary = LiveSummary { runners: 0, busy: 0, queued: 0 };
        for session in self.sessions.live() {
            let gauges = &session.gauges;
            summary.runners += u64::from(gauges.alive.load(Ordering::Relaxed));
            summary.busy += u64::from(gauges.busy.load(Ordering::Relaxed));
            summary.queued += u64::from(gauges.queued.load(Ordering::Relaxed));
        }
        summary
    }

    /// `core.info`.
    pub(crate) fn info(&self) -> CoreInfo {
        CoreInfo {
            pid: std::process::id(),
            galley_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at.to_string(),
            paths: CorePaths {
                db: self.database.display().to_string(),
                socket: self.socket.as_ref().map(|path| path.display().to_string()),
                config: self.config.path().display().to_string(),
            },
            limits: CoreLimits {
                max_live_runners: self.max_live_runners as u64,
                max_queued: self.sessions.limits().max_queued as u64,
                max_line: MAX_LINE as u64,
            },
            counters: CoreCounters {
                live_runners: self.live_summary().runners,
                active_sessions: self.sessions.live().len() as u64,
                connections: *self.counters.connections.borrow(),
                streams: *self.counters.streams.borrow(),
            },
        }
    }

    /// The runtime everything of this Core runs on.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// What a forked child lets go of.
    pub(crate) fn descriptors(&self) -> &Descriptors {
        self.manager.descriptors()
    }

    /// Asks whoever holds this Core to end it.
    pub(crate) fn ask_to_stop(&self) {
        self.stop.send_if_modified(|stop| {
            let running = *stop == Stop::Running;
            if running {
                *stop = Stop::Asked;
            }
            running
        });
    }

    /// Whether this Core has been asked to end.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow() >= Stop::Asked
    }

    /// Resolves once this Core has stopped.
    pub(crate) fn stopped(&self) -> BoxFuture<'static, ()> {
        let mut stop = self.stop.subscribe();
        async move {
            // An error means it is gone already.
            let _ = stop.wait_for(|stop| *stop == Stop::Stopped).await;
        }
        .boxed()
    }

    async fn shut_down(&self) {
        self.ask_to_stop();
        let sessions = self.sessions.close();
        let ending = sessions.iter().map(|session| session.ask(|to| Input::EndRunner { reason: EndReason::CoreShutdown, to: Some(to) }));
        let ended = tokio::time::timeout(SHUTDOWN, futures::future::join_all(ending)).await;
        if ended.is_err() {
            tracing::warn!("not every runner ended in time; the rest is killed");
        }
        self.manager.kill_all().await;
        for session in &sessions {
            session.log.close(EndReason::CoreShutdown);
        }
        drop(sessions);
        self.sessions.finish(LAST_WRITES).await;
        self.feed.close();
        // Answered after everything that was handed to the writer before; whether it could write
        // makes no difference now.
        let _ = self.store.commit(Vec::new()).await;
        self.counters.streams_over(LAST_FRAMES).await;
        self.stop.send_replace(Stop::Stopped);
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn end_predecessors(&self) {
        self.predecessors.get_or_init(|| self.manager.sweep_predecessors()).await;
    }

    /// What the `runtime` commands work on. Nothing an earlier Core left behind is in their way.
    pub(crate) async fn runtimes(&self) -> Runtimes<'_> {
        self.end_predecessors().await;
        Runtimes { manager: &self.manager, data_dir: paths::data_dir_of(&self.database), file: &self.config }
    }

    /// Where the images of messages are.
    pub(crate) fn attachments(&self) -> Attachments {
        Attachments::new(paths::data_dir_of(&self.database))
    }

    fn shell(&self) -> ShellBackend {
        ShellBackend::new(&self.manager, paths::data_dir_of(&self.database))
    }

    /// Makes room for one more runner: past the soft cap, the least recently used idle ones are
    /// ended in the background.
    fn make_room(&self) {
        let live = self.sessions.live();
        let processes = live.iter().filter(|session| session.gauges.process.load(Ordering::Relaxed)).count();
        let surplus = (processes + 1).saturating_sub(self.max_live_runners);
        let mut idle: Vec<_> = live.iter().filter(|session| session.gauges.evictable.load(Ordering::Relaxed)).collect();
        idle.sort_by_key(|session| session.gauges.used_at.load(Ordering::Relaxed));
        for session in idle.into_iter().take(surplus) {
            session.tell(Input::Evict);
        }
    }
}

impl ReadContext for Inner {
    fn store(&self) -> &dyn ReadStore {
        self.store.as_ref()
    }

    fn config(&self) -> Result<Arc<Config>, Error> {
        Self::config(self)
    }

    fn core(&self) -> Option<CoreView> {
        Some(CoreView { socket: self.socket.clone(), live: self.live_summary() })
    }
}

#[async_trait]
impl Host for Inner {
    async fn start_runner(
        &self,
        session_id: &str,
        runtime: &str,
        llm_no: Option<u32>,
        cwd: Option<&str>,
        project: Option<&str>,
    ) -> Result<Runner, Error> {
        let config = self.config().map_err(|error| Error::runner(StartCause::RuntimeInvalid, error.to_string()))?;
        let runtime = config.runtime(runtime).map_err(|error| Error::runner(StartCause::RuntimeInvalid, error.to_string()))?;
        self.end_predecessors().await;
        if runtime.backend != BackendKind::Shell {
            self.make_room();
        }
        let project = match project {
            Some(id) => self.store.project(id).await?,
            None => None,
        };
        let mut spec = self.manager.spec(session_id);
        spec.llm_no = llm_no;
        spec.cwd = cwd.map(PathBuf::from);
        spec.workspace_root = project.filter(|project| project.workspace_enabled).and_then(|project| project.root_path).map(PathBuf::from);
        start_runtime(&self.manager, paths::data_dir_of(&self.database), runtime, spec).await
    }

    fn touched(&self, touched: Vec<Touched>) {
        self.feed.publish(touched);
    }

    fn rules_changed(&self, scope: &str) {
        for session in self.sessions.live() {
            session.tell(Input::RulesChanged { scope: scope.to_owned() });
        }
    }

    fn default_mode(&self) -> ApprovalMode {
        Self::default_mode(self)
    }

    fn put_away(&self, session_id: &str) -> bool {
        self.sessions.put_away(session_id)
    }

    async fn forget(&self, session_id: &str) {
        self.sessions.remove(session_id);
        if let Err(error) = self.shell().forget(session_id).await {
            tracing::warn!(session = session_id, %error, "what the shell kept of a deleted session stays behind");
        }
        self.attachments().forget(session_id).await;
    }
}

/// The in-process transport.
struct InProcess {
    core: Weak<Inner>,
}

#[async_trait]
impl Transport for InProcess {
    async fn connect(&self) -> Result<Connection, galley_client::Error> {
        let core = self.core.upgrade().ok_or_else(|| galley_client::Error::Unavailable("this Core has ended".to_owned()))?;
        let handle = core.handle.clone();
        let (link, connection) = ChannelLink::pair();
        handle.spawn(serve(link, core));
        Ok(connection)
    }
}
