//! Reading without a Core: the same commands, answered from the database's file.

use crate::config::{Config, ConfigFile};
use crate::cursor::{Cursor, Until};
use crate::error::Error;
use crate::lock::is_owned;
use crate::paths;
use crate::reads::{self, CoreView, FollowStream, PolledChanges, ProjectStream, ReadContext, SessionLogs, WaitStream};
use crate::runner::RunnerManager;
use crate::runtimes::Runtimes;
use crate::server::{Answer, Call, ChannelLink, Counters, InstallStream, Responder, serve};
use crate::store::{ReadStore, SqliteReader};
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use galley_client::{Connection, Transport};
use galley_protocol::socket::{
    COMMANDS, Command, EndReason, ProjectFollow, RuntimeAdd, RuntimeBrief, RuntimeCheck, RuntimeCheckResult, RuntimeInstall, RuntimeRemove,
    RuntimeUse, SessionFollow, SessionWait, StreamCommand,
};
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A transport that answers the reads from a database file, the `runtime` commands from the
/// configuration beside it, and `db_unavailable` for the rest. It creates no database, migrates
/// none, and works beside a Core or without one.
#[derive(Debug, Clone)]
pub struct ReadOnly(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<SqliteReader>,
    database: PathBuf,
    config: ConfigFile,
    data_dir: PathBuf,
    counters: Counters,
}

/// The database at `path`, for reading. When it is missing, foreign, broken, older or newer, what
/// needs it is answered with `db_unavailable` and what would help.
pub fn read_only(path: &Path) -> ReadOnly {
    reading(SqliteReader::at(path), path)
}

/// As [`read_only`], for a program that asks one thing and ends: every read blocks the thread that
/// asks, which spares it a thread and the way there and back.
pub fn read_only_in_place(path: &Path) -> ReadOnly {
    reading(SqliteReader::in_place(path), path)
}

fn reading(store: SqliteReader, path: &Path) -> ReadOnly {
    ReadOnly(Arc::new(Inner {
        store: Arc::new(store),
        database: path.to_owned(),
        config: ConfigFile::new(paths::config_beside(path)),
        data_dir: paths::data_dir_of(path).to_owned(),
        counters: Counters::default(),
    }))
}

#[async_trait]
impl Transport for ReadOnly {
    async fn connect(&self) -> Result<Connection, galley_client::Error> {
        let (link, connection) = ChannelLink::pair();
        tokio::spawn(serve(link, self.0.clone()));
        Ok(connection)
    }
}

#[async_trait]
impl Responder for Inner {
    async fn answer(self: Arc<Self>, call: Call) -> Answer {
        let args = call.args.as_deref();
        match call.command.as_str() {
            SessionWait::NAME => return Answer::stream(self.wait(&call).await),
            SessionFollow::NAME => return Answer::stream(self.follow(&call).await),
            ProjectFollow::NAME => return Answer::stream(self.project_follow(&call).await),
            RuntimeAdd::NAME => return Answer::once(self.add(args).await),
            RuntimeCheck::NAME => return Answer::once(self.check(args).await),
            RuntimeRemove::NAME => return Answer::once(reads::arguments(RuntimeRemove::NAME, args).and_then(|args| self.config.remove(&args))),
            RuntimeUse::NAME => {
                return Answer::once(reads::arguments(RuntimeUse::NAME, args).and_then(|args: RuntimeUse| self.config.set_current(&args.name)));
            }
            RuntimeInstall::NAME => return Answer::stream(self.install(&call)),
            _ => {}
        }
        match reads::answer(self.as_ref(), &call.command, call.args.as_deref()).await {
            Some(result) => Answer::Once(result),
            None if COMMANDS.iter().any(|command| command.name == call.command) => Answer::Once(Err(no_core(&call.command))),
            None => Answer::Unknown(call.command),
        }
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn stopped(&self) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }
}

impl Inner {
    async fn wait(&self, call: &Call) -> Result<WaitStream, Error> {
        let args = reads::arguments::<SessionWait>(SessionWait::NAME, call.args.as_deref())?;
        let store: Arc<dyn ReadStore> = self.store.clone();
        let changes = Box::new(PolledChanges::of(store.clone()).await);
        WaitStream::start(store, args, call.request_id.clone(), changes).await
    }

    async fn follow(&self, call: &Call) -> Result<FollowStream, Error> {
        let args = reads::arguments::<SessionFollow>(SessionFollow::NAME, call.args.as_deref())?;
        let cursor = self.logs().open(&args.session_id).await;
        FollowStream::start(self.store.clone(), args, call.request_id.clone(), cursor).await
    }

    async fn project_follow(&self, call: &Call) -> Result<ProjectStream, Error> {
        let args = reads::arguments::<ProjectFollow>(ProjectFollow::NAME, call.args.as_deref())?;
        let changes = Box::new(PolledChanges::of(self.store.clone()).await);
        ProjectStream::start(self.store.clone(), args, call.request_id.clone(), Box::new(self.logs()), changes).await
    }

    fn logs(&self) -> FileLogs {
        FileLogs { store: self.store.clone(), database: self.database.clone() }
    }
}

/// The logs in a file. A session whose row says that it is at work has a live runner, as long as a
/// Core owns the file.
struct FileLogs {
    store: Arc<SqliteReader>,
    database: PathBuf,
}

impl FileLogs {
    async fn open(&self, session_id: &str) -> Cursor {
        Cursor::of_file(session_id.to_owned(), self.store.clone(), self.database.clone(), Until::RunnerGoneOrIdle).await
    }
}

#[async_trait]
impl SessionLogs for FileLogs {
    async fn cursor(&self, session_id: &str, wanted: bool) -> Option<Cursor> {
        if wanted && self.over().is_none() { Some(self.open(session_id).await) } else { None }
    }

    fn over(&self) -> Option<EndReason> {
        (!is_owned(&self.database)).then_some(EndReason::CoreUnavailable)
    }
}

impl Inner {
    async fn add(&self, args: Option<&RawValue>) -> Result<RuntimeBrief, Error> {
        let add = reads::arguments(RuntimeAdd::NAME, args)?;
        self.runtimes(&self.manager()).add(add).await
    }

    async fn check(&self, args: Option<&RawValue>) -> Result<RuntimeCheckResult, Error> {
        let check = reads::arguments(RuntimeCheck::NAME, args)?;
        self.runtimes(&self.manager()).check(self.config.get()?.as_ref(), check).await
    }

    fn install(self: Arc<Self>, call: &Call) -> Result<InstallStream, Error> {
        let install = reads::arguments(RuntimeInstall::NAME, call.args.as_deref())?;
        Ok(InstallStream::start(call.request_id.clone(), async move |progress| self.runtimes(&self.manager()).install(install, progress).await))
    }

    /// Marked as this file's, not as a Core's: no Core takes what it starts for something left behind.
    fn manager(&self) -> RunnerManager {
        RunnerManager::new(self.config.path())
    }

    fn runtimes<'a>(&'a self, manager: &'a RunnerManager) -> Runtimes<'a> {
        Runtimes { manager, data_dir: &self.data_dir, file: &self.config }
    }
}

impl ReadContext for Inner {
    fn store(&self) -> &dyn ReadStore {
        self.store.as_ref()
    }

    fn config(&self) -> Result<Arc<Config>, Error> {
        self.config.get()
    }

    fn core(&self) -> Option<CoreView> {
        None
    }
}

fn no_core(command: &str) -> Error {
    Error::DbUnavailable(format!("{command} needs a running Galley Core; start one with `galley serve`"))
}
