//! Projects.

use super::super::cells::Cells;
use galley_protocol::socket::ProjectBrief;
use rusqlite::{Connection, OptionalExtension, Result, Row};

/// What [`row`] reads, in its order.
const COLUMNS: &str = "id, name, root_path, workspace_enabled, icon, color, pinned, last_activity_at, created_at, updated_at";

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
