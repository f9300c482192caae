//! Projects: one, all, and how one stands.

use super::super::cells::Cells;
use super::{message, session};
use crate::store::{MessageQuery, RuntimeFilter, SessionQuery};
use galley_protocol::socket::{Archived, ProjectBrief, ProjectOverview, ProjectTranscripts, SCHEMA_VERSION, SessionBrief, SessionStatus, Transcript};
use rusqlite::{Connection, OptionalExtension, Result, Row};
use std::collections::BTreeMap;

/// What [`row`] reads, in its order.
const COLUMNS: &str = "id, name, root_path, workspace_enabled, icon, color, pinned, last_activity_at, created_at, updated_at";

/// The statuses of a session that has a run in hand.
const AT_WORK: [SessionStatus; 3] = [SessionStatus::Connecting, SessionStatus::Running, SessionStatus::WaitingApproval];

fn row(row: &Row<'_>) -> Result<ProjectBrief> {
    let mut cells = Cells::of(row);
    Ok(ProjectBrief {
        id: cells.get()?,
        name: cells.get()?,
        root_path: cells.get()?,
        workspace_enabled: cells.get()?,
        icon: cells.get()?,
        color: cells.get()?,
        pinned: cells.get::<Option<bool>>()?.unwrap_or(false),
        last_activity_at: cells.time()?.to_string(),
        created_at: cells.time()?.to_string(),
        updated_at: cells.time()?.to_string(),
    })
}

/// One project.
pub(in super::super) fn one(db: &Connection, id: &str) -> Result<Option<ProjectBrief>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM project WHERE id = ?1"))?.query_row([id], row).optional()
}

/// All projects, in their order.
pub(in super::super) fn all(db: &Connection) -> Result<Vec<ProjectBrief>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM project ORDER BY ifnull(pinned, 0) DESC, last_activity_at DESC, id"))?
        .query_map([], row)?
        .collect()
}

/// Ids of a project's sessions.
pub(in super::super) fn members(db: &Connection, id: &str) -> Result<Vec<String>> {
    db.prepare_cached("SELECT id FROM session WHERE project_id = ?1 AND deleted_at IS NULL ORDER BY id")?.query_map([id], |row| row.get(0))?.collect()
}

/// How a project stands, without its archived sessions.
pub(in super::super) fn overview(db: &Connection, id: &str) -> Result<Option<ProjectOverview>> {
    let snapshot = db.unchecked_transaction()?;
    let Some(project) = one(&snapshot, id)? else { return Ok(None) };
    let status_counts = counts(&snapshot, id, false)?;
    let mut running_sessions = Vec::new();
    // Most projects have nothing at work, which the counts tell without a look at the sessions.
    for status in AT_WORK.into_iter().filter(|status| status_counts.contains_key(status.as_str())) {
        running_sessions.extend(session::rows(&snapshot, &sessions(id, Some(status), false))?);
    }
    running_sessions.sort_by(in_order);
    Ok(Some(ProjectOverview {
        schema_version: SCHEMA_VERSION,
        session_count: status_counts.values().sum(),
        status_counts,
        running_sessions,
        last_activity_at: project.last_activity_at.clone(),
        project,
    }))
}

/// How a project stands, and its sessions with their messages.
pub(in super::super) fn transcripts(db: &Connection, id: &str, tail: Option<u32>, all: bool) -> Result<Option<ProjectTranscripts>> {
    let snapshot = db.unchecked_transaction()?;
    let Some(project) = one(&snapshot, id)? else { return Ok(None) };
    let status_counts = counts(&snapshot, id, all)?;
    let mut transcripts = Vec::new();
    for session in session::rows(&snapshot, &sessions(id, None, all))? {
        let query = MessageQuery { session_id: session.id.clone(), limit: tail, ..MessageQuery::default() };
        transcripts.push(Transcript { messages: message::of_session(&snapshot, &query)?, session });
    }
    Ok(Some(ProjectTranscripts {
        schema_version: SCHEMA_VERSION,
        session_count: status_counts.values().sum(),
        status_counts,
        running_sessions: transcripts.iter().map(|transcript| &transcript.session).filter(|one| AT_WORK.contains(&one.status)).cloned().collect(),
        last_activity_at: project.last_activity_at.clone(),
        project,
        sessions: transcripts,
    }))
}

fn counts(db: &Connection, id: &str, all: bool) -> Result<BTreeMap<String, u64>> {
    db.prepare_cached(
        "SELECT status, count(*) FROM session WHERE project_id = ?1 AND deleted_at IS NULL AND (?2 OR status <> 'archived') GROUP BY status",
    )?
    .query_map(rusqlite::params![id, all], |row| {
        let mut cells = Cells::of(row);
        Ok((cells.get()?, cells.count()?))
    })?
    .collect()
}

fn sessions(id: &str, status: Option<SessionStatus>, all: bool) -> SessionQuery {
    SessionQuery {
        runtime: RuntimeFilter::All,
        project_id: Some(id.to_owned()),
        status,
        archived: if all { Archived::All } else { Archived::Active },
        limit: None,
        cursor: None,
    }
}

/// The order of lists.
fn in_order(a: &SessionBrief, b: &SessionBrief) -> std::cmp::Ordering {
    let key = |one: &SessionBrief| (!one.pinned.unwrap_or(false), std::cmp::Reverse(one.last_activity_at.clone()), one.id.clone());
    key(a).cmp(&key(b))
}
