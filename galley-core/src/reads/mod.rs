//! The commands that a database answers by itself, with or without a running Core: one module per
//! noun, each read a function of its arguments. Core's own door and the read-only door both answer
//! through [`answer`], so they agree.

mod approval;
mod changes;
mod export;
pub mod llm;
mod meta;
pub mod project;
mod runtime;
pub mod session;
mod sessions;
#[cfg(test)]
mod tests;
mod wait;

pub use changes::PolledChanges;
pub use wait::WaitStream;

use crate::config::Config;
use crate::error::Error;
use crate::store::{Page, ReadStore};
use galley_protocol::RawJson;
use galley_protocol::socket::{
    ApprovalList, ApprovalRules, Command, HealthGet, LiveSummary, LlmList, Ping, ProjectBriefGet, ProjectList, ProjectShow, RuntimeList, RuntimeShow,
    SessionBriefGet, SessionExport, SessionQueue, SessionShow, SessionsList, SessionsSearch, StatusGet, VersionGet,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::path::PathBuf;
use std::sync::Arc;

/// What the reads read from.
pub trait ReadContext: Sync {
    /// The database.
    fn store(&self) -> &dyn ReadStore;

    /// The runtimes, as they are configured now.
    ///
    /// # Errors
    /// When the configuration cannot be read.
    fn config(&self) -> Result<Arc<Config>, Error>;

    /// The Core that answers; `None` when the file is read without one.
    fn core(&self) -> Option<CoreView>;
}

/// What a running Core adds to the reads.
#[derive(Debug, Clone)]
pub struct CoreView {
    /// The socket it listens on, if it does.
    pub socket: Option<PathBuf>,
    /// What it has in hand.
    pub live: LiveSummary,
}

/// The result of a read, written.
#[derive(Debug)]
pub struct Reply {
    /// The result's JSON.
    pub result: RawJson,
    /// Where the next page of a list starts.
    pub next_cursor: Option<String>,
}

impl Reply {
    fn to<C: Command>(output: &C::Output) -> Result<Self, Error> {
        Self::written(output, None)
    }

    fn page<T: Serialize>(page: Page<T>) -> Result<Self, Error> {
        Self::written(&page.rows, page.next_cursor)
    }

    fn written(output: &impl Serialize, next_cursor: Option<String>) -> Result<Self, Error> {
        let result = RawJson::new(output).map_err(|error| Error::Internal(format!("cannot write the result: {error}")))?;
        Ok(Self { result, next_cursor })
    }
}

/// Answers `command`; `None` when it is no read.
pub async fn answer(context: &dyn ReadContext, command: &str, args: Option<&RawValue>) -> Option<Result<Reply, Error>> {
    read(context, command, args).await.transpose()
}

async fn read(context: &dyn ReadContext, command: &str, args: Option<&RawValue>) -> Result<Option<Reply>, Error> {
    let reply = match command {
        Ping::NAME => Reply::to::<Ping>(&meta::ping(&arguments(command, args)?)),
        VersionGet::NAME => Reply::to::<VersionGet>(&meta::version(&arguments(command, args)?)),
        StatusGet::NAME => Reply::to::<StatusGet>(&meta::status(context, arguments(command, args)?).await?),
        HealthGet::NAME => Reply::to::<HealthGet>(&meta::health(context, arguments(command, args)?).await),
        SessionsList::NAME => Reply::page(sessions::list(context, arguments(command, args)?).await?),
        SessionsSearch::NAME => Reply::to::<SessionsSearch>(&sessions::search(context, arguments(command, args)?).await?),
        SessionBriefGet::NAME => Reply::to::<SessionBriefGet>(&session::brief(context, arguments(command, args)?).await?),
        SessionShow::NAME => Reply::to::<SessionShow>(&session::show(context, arguments(command, args)?).await?),
        SessionQueue::NAME => Reply::to::<SessionQueue>(&session::queue(context, arguments(command, args)?).await?),
        SessionExport::NAME => Reply::to::<SessionExport>(&export::export(context, arguments(command, args)?).await?),
        ApprovalRules::NAME => Reply::to::<ApprovalRules>(&approval::rules(context, arguments(command, args)?).await?),
        LlmList::NAME => Reply::to::<LlmList>(&llm::list(context, arguments(command, args)?).await?),
        ProjectList::NAME => Reply::to::<ProjectList>(&project::list(context, arguments(command, args)?).await?),
        ProjectBriefGet::NAME => Reply::to::<ProjectBriefGet>(&project::brief(context, arguments(command, args)?).await?),
        ProjectShow::NAME => Reply::to::<ProjectShow>(&project::show(context, arguments(command, args)?).await?),
        RuntimeShow::NAME => Reply::to::<RuntimeShow>(&runtime::show(context, &arguments(command, args)?)?),
        ApprovalList::NAME => Reply::to::<ApprovalList>(&approval::list(context, arguments(command, args)?).await?),
        RuntimeList::NAME => Reply::to::<RuntimeList>(&runtime::list(context, &arguments(command, args)?)?),
        _ => return Ok(None),
    };
    reply.map(Some)
}

/// The arguments as their type; absent ones are an empty object.
pub fn arguments<C: DeserializeOwned>(command: &str, args: Option<&RawValue>) -> Result<C, Error> {
    serde_json::from_str(args.map_or("{}", RawValue::get)).map_err(|error| Error::invalid(format!("{command}: {error}")))
}

/// The error for a word outside a closed set.
fn unknown_word(what: &str, word: &str, words: &[&str]) -> Error {
    Error::invalid(format!("{word:?} is no {what}; it is one of {}", words.join(", ")))
}

/// The error for a page of nothing.
fn check_limit(limit: Option<u32>) -> Result<(), Error> {
    if limit == Some(0) { Err(Error::invalid("limit is 0; it must be at least 1")) } else { Ok(()) }
}
