//! Reading without a Core: the same commands, answered from the database's file.

use crate::config::{Config, ConfigFile};
use crate::error::Error;
use crate::paths;
use crate::reads::{self, CoreView, PolledChanges, ReadContext, WaitStream};
use crate::server::{Answer, Call, ChannelLink, Counters, Responder, serve};
use crate::store::{ReadStore, SqliteReader};
use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use galley_client::{Connection, Transport};
use galley_protocol::socket::{COMMANDS, SessionWait, StreamCommand};
use std::path::Path;
use std::sync::Arc;

/// A transport that answers the reads from a database file and `db_unavailable` for the rest. It
/// creates nothing, migrates nothing, and works beside a Core or without one.
#[derive(Debug, Clone)]
pub struct ReadOnly(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    store: Arc<SqliteReader>,
    config: ConfigFile,
    counters: Counters,
}

/// Opens the database at `path` for reading.
///
/// # Errors
/// [`Error::DbUnavailable`] when it is missing, foreign, broken, older or newer; the message says
/// what would help.
pub fn read_only(path: &Path) -> Result<ReadOnly, Error> {
    let store = Arc::new(SqliteReader::open(path)?);
    Ok(ReadOnly(Arc::new(Inner { store, config: ConfigFile::new(paths::config_beside(path)), counters: Counters::default() })))
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
        if call.command == SessionWait::NAME {
            return match self.wait(&call).await {
                Ok(stream) => Answer::Stream(Box::new(stream)),
                Err(error) => Answer::Once(Err(error)),
            };
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
