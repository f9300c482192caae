//! `session.brief`, `session.show`, `session.queue`.

use super::ReadContext;
use crate::error::Error;
use crate::session::not_found;
use crate::store::{MessageQuery, ReadStore};
use galley_protocol::socket::{MessageBrief, QueueItem, SessionBrief, SessionBriefGet, SessionQueue, SessionShow};

pub(super) async fn brief(context: &dyn ReadContext, args: SessionBriefGet) -> Result<SessionBrief, Error> {
    find(context.store(), &args.session_id).await
}

pub(super) async fn show(context: &dyn ReadContext, args: SessionShow) -> Result<Vec<MessageBrief>, Error> {
    let store = context.store();
    find(store, &args.session_id).await?;
    if let Some(before) = &args.before {
        message(store, &args.session_id, before).await?;
    }
    let query = MessageQuery {
        session_id: args.session_id,
        before: args.before,
        // Both mean the last ones; the smaller decides.
        limit: args.tail.into_iter().chain(args.limit).min(),
        internal: args.internal.unwrap_or(false),
    };
    store.messages(&query).await
}

pub(super) async fn queue(context: &dyn ReadContext, args: SessionQueue) -> Result<Vec<QueueItem>, Error> {
    find(context.store(), &args.session_id).await?;
    context.store().queue(&args.session_id).await
}

/// The session, or `not_found`.
pub async fn find(store: &dyn ReadStore, session_id: &str) -> Result<SessionBrief, Error> {
    store.session(session_id).await?.ok_or_else(|| not_found(session_id))
}

/// A message of the session, or `not_found`.
pub async fn message(store: &dyn ReadStore, session_id: &str, message_id: &str) -> Result<MessageBrief, Error> {
    let found = store.message(message_id).await?.filter(|message| message.session_id == session_id);
    found.ok_or_else(|| Error::NotFound(format!("message {message_id} not found in session {session_id}")))
}
