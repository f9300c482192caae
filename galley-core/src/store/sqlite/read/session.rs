//! Sessions: one, a page of them, the counts over all, and what an actor needs of one.

use super::super::cells::Cells;
use super::{approval, log, message};
use crate::error::Error;
use crate::store::{Page, RuntimeFilter, SessionCounts, SessionQuery, SessionRow, SessionSnapshot};
use galley_protocol::socket::{Archived, LlmChoice, SessionBrief, SessionStatus, StatusSummary};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Result, Row, params_from_iter};
use std::fmt::Write as _;

/// What [`row`] reads, in its order.
const COLUMNS: &str = "s.key, s.id, s.project_id, s.status, s.pinned, s.has_unread, s.turn_count, s.last_activity_at, s.created_at, s.updated_at, \
    s.run, s.run_first_index, s.runtime_kind, s.runtime_label, s.runtime_id, s.llm_key, s.llm_name, s.llm_index, s.prompt_profile, \
    s.approval_mode, s.cwd, s.origin, s.last_exit, s.ask, s.title, s.summary";

/// A row and its key.
fn row(row: &Row<'_>) -> Result<(i64, SessionRow)> {
    let mut cells = Cells::of(row);
    let key = cells.get()?;
    let row = SessionRow {
        id: cells.get()?,
        project_id: cells.get()?,
        status: cells.word()?,
        pinned: cells.get()?,
        has_unread: cells.get()?,
        turn_count: cells.get()?,
        last_activity_at: cells.time()?,
        created_at: cells.time()?,
        updated_at: cells.time()?,
        run: cells.count()?,
        run_first_index: cells.count()?,
        runtime_kind: cells.word()?,
        runtime_label: cells.get()?,
        runtime_id: cells.get()?,
        llm: {
            let (key, display_name): (Option<String>, _) = (cells.get()?, cells.get()?);
            key.map(|key| LlmChoice { key, display_name })
        },
        llm_index: cells.get()?,
        prompt_profile: cells.get()?,
        approval_mode: cells.optional_word()?,
        cwd: cells.get()?,
        origin: cells.json()?,
        last_exit: cells.json()?,
        ask: cells.json()?,
        title: cells.get()?,
        summary: cells.get()?,
    };
    Ok((key, row))
}

fn find(db: &Connection, id: &str) -> Result<Option<(i64, SessionRow)>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM session s WHERE s.id = ?1 AND s.deleted_at IS NULL"))?.query_row([id], row).optional()
}

fn brief(db: &Connection, (key, row): (i64, SessionRow)) -> Result<SessionBrief> {
    Ok(row.into_brief(SessionCounts {
        queued: message::count_in_state(db, key, "queued")?,
        pending: message::count_in_state(db, key, "pending")?,
        last_index: log::last_index_of(db, key)?,
    }))
}

/// One session.
pub(in super::super) fn one(db: &Connection, id: &str) -> Result<Option<SessionBrief>> {
    let snapshot = db.unchecked_transaction()?;
    find(&snapshot, id)?.map(|found| brief(&snapshot, found)).transpose()
}

/// The last row of a page: the next one begins after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Cursor {
    pinned: bool,
    last_activity_at: i64,
    id: String,
}

impl Cursor {
    /// The place the query names, if it names one.
    pub(in super::super) fn of(query: &SessionQuery) -> Result<Option<Self>, Error> {
        let parse = |text: &str| {
            let mut parts = text.splitn(3, '.');
            let pinned = match parts.next()? {
                "1" => true,
                "0" => false,
                _ => return None,
            };
            Some(Self { pinned, last_activity_at: parts.next()?.parse().ok()?, id: parts.next()?.to_owned() })
        };
        query
            .cursor
            .as_deref()
            .map(|text| parse(text).ok_or_else(|| Error::invalid(format!("`{text}` is no cursor; pass the nextCursor of the page before"))))
            .transpose()
    }

    fn after(row: &SessionRow) -> Self {
        Self { pinned: row.pinned.unwrap_or(false), last_activity_at: row.last_activity_at.as_millis(), id: row.id.clone() }
    }

    fn to_text(&self) -> String {
        format!("{}.{}.{}", u8::from(self.pinned), self.last_activity_at, self.id)
    }
}

/// Every session that fits the query, in the order of lists.
pub(super) fn rows(db: &Connection, query: &SessionQuery) -> Result<Vec<SessionBrief>> {
    let mut found = Vec::new();
    for pinned in [true, false] {
        collect(db, query, pinned, None, usize::MAX, &mut found)?;
    }
    found.into_iter().map(|found| brief(db, found)).collect()
}

/// A page of sessions: the pinned ones first, then the others, each in the order of the index.
pub(in super::super) fn page(db: &Connection, query: &SessionQuery, start: Option<Cursor>) -> Result<Page<SessionBrief>> {
    let snapshot = db.unchecked_transaction()?;
    // One more than asked for tells whether there is a next page.
    let wanted = query.limit.map_or(usize::MAX, |limit| limit as usize + 1);
    let mut found = Vec::new();
    for pinned in [true, false] {
        let start = match &start {
            Some(cursor) if cursor.pinned == pinned => Some(cursor),
            Some(cursor) if pinned && !cursor.pinned => continue,
            _ => None,
        };
        collect(&snapshot, query, pinned, start, wanted - found.len(), &mut found)?;
    }
    let mut next_cursor = None;
    if found.len() == wanted {
        found.pop();
        next_cursor = found.last().map(|(_, row)| Cursor::after(row).to_text());
    }
    let rows = found.into_iter().map(|found| brief(&snapshot, found)).collect::<Result<_>>()?;
    Ok(Page { rows, next_cursor })
}

fn collect(
    db: &Connection,
    query: &SessionQuery,
    pinned: bool,
    start: Option<&Cursor>,
    limit: usize,
    found: &mut Vec<(i64, SessionRow)>,
) -> Result<()> {
    // A project's sessions are few among many; else they are visited in their order.
    let index = if query.project_id.is_some() { "session_project" } else { "session_order" };
    let mut sql = format!("SELECT {COLUMNS} FROM session s INDEXED BY {index} WHERE ifnull(s.pinned, 0) = ? AND s.deleted_at IS NULL");
    let mut values = vec![Value::from(pinned)];
    if let Some(cursor) = start {
        sql.push_str(" AND s.last_activity_at <= ? AND (s.last_activity_at < ? OR s.id > ?)");
        values.extend([cursor.last_activity_at.into(), cursor.last_activity_at.into(), cursor.id.clone().into()]);
    }
    match &query.status {
        Some(status) => {
            sql.push_str(" AND s.status = ?");
            values.push(status.as_str().to_owned().into());
        }
        None => match query.archived {
            Archived::All => {}
            Archived::Archived => sql.push_str(" AND s.status = 'archived'"),
            _ => sql.push_str(" AND s.status <> 'archived'"),
        },
    }
    restrict(&mut sql, &mut values, &query.runtime, query.project_id.as_deref());
    let _ = write!(sql, " ORDER BY s.last_activity_at DESC, s.id LIMIT {}", i64::try_from(limit).unwrap_or(-1));
    let mut statement = db.prepare_cached(&sql)?;
    for found_row in statement.query_map(params_from_iter(values), row)? {
        found.push(found_row?);
    }
    Ok(())
}

/// Adds the filters that lists and searches share.
pub(super) fn restrict(sql: &mut String, values: &mut Vec<Value>, runtime: &RuntimeFilter, project_id: Option<&str>) {
    match runtime {
        RuntimeFilter::All => {}
        RuntimeFilter::Kind(kind) => {
            sql.push_str(" AND s.runtime_kind = ?");
            values.push(kind.as_str().to_owned().into());
        }
        RuntimeFilter::Name(name) => {
            sql.push_str(" AND s.runtime_id = ?");
            values.push(name.clone().into());
        }
    }
    if let Some(project_id) = project_id {
        sql.push_str(" AND s.project_id = ?");
        values.push(project_id.to_owned().into());
    }
}

/// Counts over the sessions that are not archived.
pub(in super::super) fn status(db: &Connection) -> Result<StatusSummary> {
    let mut summary = StatusSummary { total: 0, running: 0, waiting_input: 0, errored: 0, live: None };
    let mut statement = db.prepare_cached("SELECT status, count(*) FROM session WHERE deleted_at IS NULL GROUP BY status")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of(row);
        let (status, count) = (cells.word::<SessionStatus>()?, cells.count()?);
        if status != SessionStatus::Archived {
            summary.total += count;
        }
        match status {
            SessionStatus::Running => summary.running = count,
            SessionStatus::WaitingApproval => summary.waiting_input = count,
            SessionStatus::Error => summary.errored = count,
            _ => {}
        }
    }
    Ok(summary)
}

/// All an actor needs to take a session up again.
pub(in super::super) fn snapshot(db: &Connection, id: &str) -> Result<Option<SessionSnapshot>> {
    let snapshot = db.unchecked_transaction()?;
    let Some((key, session)) = find(&snapshot, id)? else { return Ok(None) };
    Ok(Some(SessionSnapshot {
        session,
        last_index: log::last_index_of(&snapshot, key)?,
        open_messages: message::open(&snapshot, key)?,
        open_approvals: approval::open(&snapshot, key)?,
    }))
}

/// Sessions that were left in the middle of something.
pub(in super::super) fn interrupted(db: &Connection) -> Result<Vec<String>> {
    let mut statement = db.prepare_cached(
        "SELECT id FROM session WHERE deleted_at IS NULL AND key IN (
             SELECT key FROM session WHERE deleted_at IS NULL AND status IN ('connecting', 'running', 'waiting_approval')
             UNION SELECT session FROM approval WHERE state IN ('pending', 'answered')
             UNION SELECT session FROM message INDEXED BY message_open
                   WHERE state = 'dispatched' AND state IN ('queued', 'pending', 'dispatched')
         ) ORDER BY key",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}
