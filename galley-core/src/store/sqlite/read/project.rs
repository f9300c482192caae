//! Projects: one, all, and how one stands.

use super::super::cells::Cells;
use super::session;
use crate::store::{RuntimeFilter, SessionQuery};
use galley_protocol::socket::{Archived, ProjectBrief, ProjectOverview, SCHEMA_VERSION, SessionBrief, SessionStatus};
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
    let status_counts = counts(&snapshot, id)?;
    let mut running_sessions = Vec::new();
    // Most projects have nothing at work, which the counts tell without a look at the sessions.
    for status in AT_WORK.into_iter().filter(|status| status_counts.contains_key(status.as_str())) {
        running_sessions.extend(session::rows(&snapshot, &sessions(id, status))?);
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

fn counts(db: &Connection, id: &str) -> Result<BTreeMap<String, u64>> {
    db.prepare_cached("SELECT status, count(*) FROM session WHERE project_id = ?1 AND deleted_at IS NULL AND status <> 'archived' GROUP BY status")?
        .query_map([id], |row| {
            let mut cells = Cells::of(row);
            Ok((cells.get()?, cells.count()?))
        })?
        .collect()
}

fn sessions(id: &str, status: SessionStatus) -> SessionQuery {
    SessionQuery {
        runtime: RuntimeFilter::All,
        project_id: Some(id.to_owned()),
        status: Some(status),
        archived: Archived::Active,
        limit: None,
        cursor: None,
    }
}

/// The order of lists.
fn in_order(a: &SessionBrief, b: &SessionBrief) -> std::cmp::Ordering {
    let key = |one: &SessionBrief| (!one.pinned.unwrap_or(false), std::cmp::Reverse(one.last_activity_at.clone()), one.id.clone());
    key(a).cmp(&key(b))
}
