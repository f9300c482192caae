//! Reading without a Core: the same commands, answered from the database's file.

use crate::config::{Config, ConfigFile};
use crate::error::Error;
use crate::paths;
use crate::reads::{self, CoreView, PolledChanges, ReadContext, WaitStream};
use crate::runner::RunnerManager;
use crate::runtimes::Runtimes;
use crate::server::{Answer, Call, ChannelLink, Counters, InstallStream, Responder, serve};
use crate::store::{ReadStore, SqliteReader};
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use galley_client::{Connection, Transport};
use galley_protocol::socket::{
    COMMANDS, Command, RuntimeAdd, RuntimeBrief, RuntimeCheck, RuntimeCheckResult, RuntimeInstall, RuntimeRemove, RuntimeUse, SessionWait,
    StreamCommand,
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
