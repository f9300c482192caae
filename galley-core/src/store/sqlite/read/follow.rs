//! What follows show: rows and messages as of one moment.

use super::{log, message, project as projects, session};
use crate::store::{MessageQuery, ProjectMember, RuntimeFilter, SessionQuery};
use galley_protocol::socket::{Archived, ProjectTranscripts, SCHEMA_VERSION, SessionBrief, SessionStatus, Transcript};
use rusqlite::{Connection, Result};
use std::collections::BTreeMap;

/// A session's row and its visible messages, or the last `tail` of them.
pub(in super::super) fn transcript(db: &Connection, session_id: &str, tail: Option<u32>) -> Result<Option<Transcript>> {
    let snapshot = db.unchecked_transaction()?;
    session::one_in(&snapshot, session_id)?.map(|session| with_messages(&snapshot, session, tail)).transpose()
}

fn with_messages(db: &Connection, session: SessionBrief, tail: Option<u32>) -> Result<Transcript> {
    let query = MessageQuery { session_id: session.id.clone(), limit: tail, ..MessageQuery::default() };
    Ok(Transcript { messages: message::transcript_in(db, &query)?, session })
}

/// A project with the transcripts of its sessions, and the newest session's key.
pub(in super::super) fn project(db: &Connection, project_id: &str, tail: Option<u32>, all: bool) -> Result<Option<(ProjectTranscripts, i64)>> {
    let snapshot = db.unchecked_transaction()?;
    let Some(project) = projects::one(&snapshot, project_id)? else { return Ok(None) };
    let query = SessionQuery {
        runtime: RuntimeFilter::All,
        project_id: Some(project_id.to_owned()),
        status: None,
        archived: if all { Archived::All } else { Archived::Active },
        limit: None,
        cursor: None,
    };
    let rows = session::page_in(&snapshot, &query, None)?.rows;
    let mut status_counts = BTreeMap::new();
    for row in &rows {
        *status_counts.entry(row.status.to_string()).or_insert(0) += 1;
    }
    let running = |row: &&SessionBrief| matches!(row.status, SessionStatus::Connecting | SessionStatus::Running | SessionStatus::WaitingApproval);
    let transcripts = ProjectTranscripts {
        schema_version: SCHEMA_VERSION,
        session_count: rows.len() as u64,
        status_counts,
        running_sessions: rows.iter().filter(running).cloned().collect(),
        last_activity_at: project.last_activity_at.clone(),
        project,
        sessions: rows.into_iter().map(|row| with_messages(&snapshot, row, tail)).collect::<Result<_>>()?,
    };
    let newest = snapshot.prepare_cached("SELECT ifnull(max(key), 0) FROM session")?.query_row([], |row| row.get(0))?;
    Ok(Some((transcripts, newest)))
}

/// All sessions of a project; `None` when there is no such project.
pub(in super::super) fn members(db: &Connection, project_id: &str) -> Result<Option<Vec<ProjectMember>>> {
    let snapshot = db.unchecked_transaction()?;
    if projects::one(&snapshot, project_id)?.is_none() {
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
