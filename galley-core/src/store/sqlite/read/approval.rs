//! Approvals and the rules that make them needless.

use super::super::cells::Cells;
use crate::store::{ApprovalQuery, ApprovalRow, Rule};
use galley_protocol::socket::Approval;
use rusqlite::{Connection, OptionalExtension, Result, Row, params_from_iter};

/// What [`row`] reads, in its order.
const COLUMNS: &str = "a.id, a.approval_id, s.id, a.run, a.state, a.tool_name, a.risk_level, a.decision, a.decided_by, a.created_at, a.decided_at, \
    a.reason, a.args_preview, a.args";

fn row(row: &Row<'_>) -> Result<ApprovalRow> {
    let mut cells = Cells::of(row);
    Ok(ApprovalRow {
        id: cells.get()?,
        approval_id: cells.get()?,
        session_id: cells.get()?,
        run: cells.count()?,
        state: cells.word()?,
        tool_name: cells.get()?,
        risk_level: cells.optional_word()?,
        decision: cells.optional_word()?,
        by: cells.get()?,
        created_at: cells.time()?,
        decided_at: cells.optional_time()?,
        reason: cells.get()?,
        args_preview: cells.get()?,
        args: cells.raw_json()?,
    })
}

/// Approvals, oldest first.
pub(in super::super) fn list(db: &Connection, query: &ApprovalQuery) -> Result<Vec<Approval>> {
    let mut sql = format!("SELECT {COLUMNS} FROM approval a JOIN session s ON s.key = a.session WHERE s.deleted_at IS NULL");
    let mut values = Vec::<&str>::new();
    if !query.all {
        sql.push_str(" AND a.state IN ('pending', 'answered')");
    }
    if let Some(session_id) = &query.session_id {
        sql.push_str(" AND s.id = ?");
        values.push(session_id);
    }
    if let Some(id) = &query.id {
        sql.push_str(" AND a.id = ?");
        values.push(id);
    }
    // `+`: visit the few that match and sort them, instead of all in their order.
    sql.push_str(" ORDER BY +a.key");
    let mut statement = db.prepare_cached(&sql)?;
    statement.query_map(params_from_iter(values), row)?.map(|row| row.map(ApprovalRow::into_brief)).collect()
}

/// A session's approvals that are pending or answered, oldest first.
pub(super) fn open(db: &Connection, session: i64) -> Result<Vec<ApprovalRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM approval a JOIN session s ON s.key = a.session
         WHERE a.session = ?1 AND a.state IN ('pending', 'answered') ORDER BY a.key"
    );
    db.prepare_cached(&sql)?.query_map([session], row)?.collect()
}

/// The session an approval belongs to.
pub(in super::super) fn session_of(db: &Connection, approval_id: &str) -> Result<Option<String>> {
    db.prepare_cached("SELECT s.id FROM approval a JOIN session s ON s.key = a.session WHERE a.id = ?1 AND s.deleted_at IS NULL")?
        .query_row([approval_id], |row| row.get(0))
        .optional()
}

/// The rules of a scope, or all.
pub(in super::super) fn rules_of(db: &Connection, scope: Option<&str>) -> Result<Vec<Rule>> {
    let mut statement =
        db.prepare_cached("SELECT tool, scope, added_by, created_at FROM approval_rule WHERE ?1 IS NULL OR scope = ?1 ORDER BY scope, tool")?;
    statement.query_map([scope], rule)?.collect()
}

/// The rules in force for sessions of a scope: the global ones and its own.
pub(in super::super) fn rules(db: &Connection, scope: &str) -> Result<Vec<Rule>> {
    let mut statement =
        db.prepare_cached("SELECT tool, scope, added_by, created_at FROM approval_rule WHERE scope IN ('global', ?1) ORDER BY scope, tool")?;
    statement.query_map([scope], rule)?.collect()
}

fn rule(row: &Row<'_>) -> Result<Rule> {
    let mut cells = Cells::of(row);
    Ok(Rule { tool: cells.get()?, scope: cells.get()?, by: cells.get()?, created_at: cells.time()? })
}
