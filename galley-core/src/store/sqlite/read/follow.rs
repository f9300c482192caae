//! What follows show: rows and messages as of one moment.

use super::{log, message, project, session};
use crate::store::{MessageQuery, ProjectMember};
use galley_protocol::socket::Transcript;
use rusqlite::{Connection, Result};

/// A session's row and its visible messages, or the last `tail` of them.
pub(in super::super) fn transcript(db: &Connection, session_id: &str, tail: Option<u32>) -> Result<Option<Transcript>> {
    let snapshot = db.unchecked_transaction()?;
    let Some(session) = session::one_in(&snapshot, session_id)? else { return Ok(None) };
    let query = MessageQuery { session_id: session_id.to_owned(), limit: tail, ..MessageQuery::default() };
    Ok(Some(Transcript { messages: message::of_session(&snapshot, &query)?, session }))
}

/// The key of the newest session, 0 when there is none.
pub(in super::super) fn newest_session(db: &Connection) -> Result<i64> {
    db.prepare_cached("SELECT ifnull(max(key), 0) FROM session")?.query_row([], |row| row.get(0))
}

/// All sessions of a project; `None` when there is no such project.
pub(in super::super) fn sessions(db: &Connection, project_id: &str) -> Result<Option<Vec<ProjectMember>>> {
    let snapshot = db.unchecked_transaction()?;
    if project::one(&snapshot, project_id)?.is_none() {
        return Ok(None);
    }
    let mut statement = snapshot.prepare_cached(
        "SELECT id, key, status = 'archived',
             status IN ('connecting', 'running', 'waiting_approval')
             OR EXISTS (SELECT 1 FROM message m WHERE m.session = s.key AND m.state = 'queued' AND m.state IN ('queued', 'pending', 'dispatched'))
         FROM session s WHERE project_id = ?1 AND deleted_at IS NULL",
    )?;
    let rows = statement.query_map([project_id], |row| {
        let key = row.get(1)?;
        Ok(ProjectMember { id: row.get(0)?, key, archived: row.get(2)?, busy: row.get(3)?, last_index: log::last_index_of(&snapshot, key)? })
    })?;
    rows.collect::<Result<_>>().map(Some)
}
