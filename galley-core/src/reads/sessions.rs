//! `sessions.list` and `sessions.search`.

use super::{ReadContext, check_limit, project, unknown_word};
use crate::error::Error;
use crate::store::{Page, RuntimeFilter, SearchQuery, SessionQuery};
use galley_protocol::socket::{Archived, RuntimeKind, SearchHit, SessionBrief, SessionStatus, SessionsList, SessionsSearch};

/// Hits of a search that names no limit.
const HITS: u32 = 20;

pub(super) async fn list(context: &dyn ReadContext, args: SessionsList) -> Result<Page<SessionBrief>, Error> {
    check_limit(args.limit)?;
    check_project(context, args.project_id.as_deref()).await?;
    if let Some(SessionStatus::Unknown(word)) = &args.status {
        return Err(unknown_word("status", word, SessionStatus::WORDS));
    }
    if let Some(Archived::Unknown(word)) = &args.archived {
        return Err(unknown_word("value of archived", word, Archived::WORDS));
    }
    let query = SessionQuery {
        runtime: runtime(context, args.runtime.as_deref())?,
        project_id: args.project_id,
        status: args.status,
        archived: args.archived.unwrap_or(Archived::Active),
        limit: args.limit,
        cursor: args.cursor,
    };
    context.store().sessions(&query).await
}

pub(super) async fn search(context: &dyn ReadContext, args: SessionsSearch) -> Result<Vec<SearchHit>, Error> {
    check_limit(args.limit)?;
    check_project(context, args.project_id.as_deref()).await?;
    let query = SearchQuery {
        query: args.query,
        runtime: runtime(context, args.runtime.as_deref())?,
        archived: args.all.unwrap_or(false),
        project_id: args.project_id,
        session_id: args.session_id,
        limit: args.limit.unwrap_or(HITS),
    };
    context.store().search(&query).await
}

async fn check_project(context: &dyn ReadContext, id: Option<&str>) -> Result<(), Error> {
    match id {
        Some(id) => project::find(context.store(), id).await.map(drop),
        None => Ok(()),
    }
}

/// Whose sessions `word` means: of a kind, or of a runtime by name. A runtime that is configured no
/// more still has its sessions, so any name will do.
fn runtime(context: &dyn ReadContext, word: Option<&str>) -> Result<RuntimeFilter, Error> {
    Ok(match word {
        None | Some("current") => RuntimeFilter::Kind(context.config()?.runtime("current")?.kind()),
        Some("all") => RuntimeFilter::All,
        Some("managed") => RuntimeFilter::Kind(RuntimeKind::Managed),
        Some("external") => RuntimeFilter::Kind(RuntimeKind::External),
        Some(name) => RuntimeFilter::Name(name.to_owned()),
    })
}
