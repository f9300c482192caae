//! Each [`Change`] as SQL, inside the writer's transaction.

use super::{log_key, read, search_text};
use crate::error::Error;
use crate::store::{ApprovalRow, Change, LogChunk, MessageRow, ProjectRow, Rule, SessionRow};
use galley_protocol::RawJson;
use galley_protocol::socket::{MessageRole, Visibility};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

/// Why a change was not applied.
pub(super) enum Fault {
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// The change does not fit what is stored.
    Refused(Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

type Applied = Result<(), Fault>;

fn does_not_fit(message: String) -> Fault {
    Fault::Refused(Error::Internal(message))
}

/// Applies one change.
pub(super) fn change(db: &Connection, change: &Change) -> Applied {
    match change {
        Change::AppendLog(chunk) => append_log(db, chunk),
        Change::PutSession(row) => put_session(db, row),
        Change::InsertMessage(row) => insert_message(db, row),
        Change::SetMessageState { id, state, run } => {
            let changed = db.prepare_cached("UPDATE message SET state = ?2, run = ifnull(?3, run) WHERE id = ?1")?.execute(params![
                id,
                state.as_str(),
                run.map(|run| run as i64)
            ])?;
            expect_message(changed, id)
        }
        Change::SetMessageRank { id, rank } => {
            let changed = db.prepare_cached("UPDATE message SET rank = ?2 WHERE id = ?1")?.execute(params![id, rank])?;
            expect_message(changed, id)
        }
        Change::SetMessageContent { id, content } => set_content(db, id, content),
        Change::SupersedeTurn { session_id, turn } => {
            let session = session_key(db, session_id)?;
            db.prepare_cached(
                "UPDATE message SET state = 'superseded'
                 WHERE session = ?1 AND turn_index = ?2 AND role IN ('user', 'agent') AND visibility <> 'internal'",
            )?
            .execute(params![session, turn])?;
            Ok(())
        }
        Change::SetFinalAnswer { id, answer, telemetry } => set_final_answer(db, id, answer, telemetry.as_ref()),
        Change::PutApproval(row) => put_approval(db, row),
        Change::PutRule(rule) => put_rule(db, rule),
        Change::PutProject(row) => put_project(db, row),
        Change::DeleteProject { id } => {
            db.prepare_cached("DELETE FROM approval_rule WHERE scope = ?1")?.execute([id])?;
            db.prepare_cached("DELETE FROM project WHERE id = ?1")?.execute([id])?;
            Ok(())
        }
        Change::RemoveRule { tool, scope } => {
            db.prepare_cached("DELETE FROM approval_rule WHERE scope = ?1 AND tool = ?2")?.execute(params![scope, tool])?;
            Ok(())
        }
        Change::DeleteSession { id, at } => {
            let session = session_key(db, id)?;
            db.prepare_cached("UPDATE session SET deleted_at = ?2 WHERE key = ?1")?.execute(params![session, at.as_millis()])?;
            Ok(())
        }
        Change::SetSetting { key, value: Some(value) } => {
            db.prepare_cached("INSERT OR REPLACE INTO setting (key, value) VALUES (?1, ?2)")?.execute(params![key, value])?;
            Ok(())
        }
        Change::SetSetting { key, value: None } => {
            db.prepare_cached("DELETE FROM setting WHERE key = ?1")?.execute([key])?;
            Ok(())
        }
    }
}

fn expect_message(changed: usize, id: &str) -> Applied {
    if changed == 1 { Ok(()) } else { Err(does_not_fit(format!("there is no message {id}"))) }
}

fn session_key(db: &Connection, id: &str) -> Result<i64, Fault> {
    read::session_key(db, id)?.ok_or_else(|| does_not_fit(format!("there is no session {id}")))
}

fn append_log(db: &Connection, chunk: &LogChunk) -> Applied {
    let session = session_key(db, &chunk.session_id)?;
    let expected = read::log::last_index_of(db, session)? + 1;
    if chunk.first != expected || chunk.last < chunk.first || chunk.last > log_key::MAX_INDEX {
        return Err(does_not_fit(format!(
            "events {}..={} do not follow the log of session {}, whose next index is {expected}",
            chunk.first, chunk.last, chunk.session_id
        )));
    }
    db.prepare_cached("INSERT INTO event_log (key, last, run, lines) VALUES (?1, ?2, ?3, ?4)")?.execute(params![
        log_key::of(session, chunk.first),
        chunk.last as i64,
        chunk.run as i64,
        chunk.lines.as_deref()
    ])?;
    Ok(())
}

fn put_session(db: &Connection, row: &SessionRow) -> Applied {
    // A project that was deleted meanwhile leaves its sessions ungrouped.
    db
        .prepare_cached(
            "INSERT INTO session (
                 id, project_id, status, pinned, has_unread, turn_count, last_activity_at, created_at, updated_at, run, run_first_index,
                 runtime_kind, runtime_label, runtime_id, llm_key, llm_name, llm_index, prompt_profile, approval_mode, cwd, origin, last_exit, ask,
                 title, summary
             ) VALUES (?1, (SELECT id FROM project WHERE id = ?2), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)
             ON CONFLICT (id) DO UPDATE SET
                 project_id = excluded.project_id, status = excluded.status, pinned = excluded.pinned, has_unread = excluded.has_unread,
                 turn_count = excluded.turn_count, last_activity_at = max(last_activity_at, excluded.last_activity_at),
                 updated_at = excluded.updated_at, run = excluded.run, run_first_index = excluded.run_first_index,
                 runtime_kind = excluded.runtime_kind, runtime_label = excluded.runtime_label, runtime_id = excluded.runtime_id,
                 llm_key = excluded.llm_key, llm_name = excluded.llm_name, llm_index = excluded.llm_index,
                 prompt_profile = excluded.prompt_profile, approval_mode = excluded.approval_mode, cwd = excluded.cwd,
                 origin = excluded.origin, last_exit = excluded.last_exit, ask = excluded.ask, title = excluded.title,
                 summary = excluded.summary",
        )?
        .execute(params![
            row.id,
            row.project_id,
            row.status.as_str(),
            row.pinned,
            row.has_unread,
            row.turn_count,
            row.last_activity_at.as_millis(),
            row.created_at.as_millis(),
            row.updated_at.as_millis(),
            row.run as i64,
            row.run_first_index as i64,
            row.runtime_kind.as_str(),
            row.runtime_label,
            row.runtime_id,
            row.llm.as_ref().map(|llm| &llm.key),
            row.llm.as_ref().and_then(|llm| llm.display_name.as_ref()),
            row.llm_index,
            row.prompt_profile,
            row.approval_mode.as_ref().map(|mode| mode.as_str()),
            row.cwd,
            json(row.origin.as_ref())?,
            json(row.last_exit.as_ref())?,
            json(row.ask.as_ref())?,
            row.title,
            row.summary,
        ])?;
    if let Some(project) = &row.project_id {
        db.prepare_cached("UPDATE project SET last_activity_at = ?2 WHERE id = ?1 AND last_activity_at < ?2")?
            .execute(params![project, row.last_activity_at.as_millis()])?;
    }
    Ok(())
}

fn put_project(db: &Connection, row: &ProjectRow) -> Applied {
    db.prepare_cached(
        "INSERT INTO project (id, name, root_path, workspace_enabled, icon, color, pinned, last_activity_at, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?8)
         ON CONFLICT (id) DO UPDATE SET
             name = excluded.name, root_path = excluded.root_path, workspace_enabled = excluded.workspace_enabled, icon = excluded.icon,
             color = excluded.color, pinned = excluded.pinned, updated_at = excluded.updated_at",
    )?
    .execute(params![row.id, row.name, row.root_path, row.workspace_enabled, row.icon, row.color, row.pinned, row.at.as_millis()])?;
    Ok(())
}

fn insert_message(db: &Connection, row: &MessageRow) -> Applied {
    let session = session_key(db, &row.session_id)?;
    db.prepare_cached(
        "INSERT INTO message (
             id, session, role, visibility, state, rank, run, turn_index, step_index, partial, created_at, client_request_id, origin, summary,
             ask_user, telemetry, final_answer, content, thinking, tool_calls, tool_results
         ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
    )?
    .execute(params![
        row.id,
        session,
        row.role.as_str(),
        row.visibility.as_str(),
        row.state.as_ref().map(|state| state.as_str()),
        row.rank,
        row.run.map(|run| run as i64),
        row.turn_index,
        row.step_index,
        row.partial,
        row.created_at.as_millis(),
        row.client_request_id,
        json(row.origin.as_ref())?,
        row.summary,
        text(row.ask_user.as_ref()),
        text(row.telemetry.as_ref()),
        row.final_answer,
        row.content,
        row.thinking,
        text(row.tool_calls.as_ref()),
        text(row.tool_results.as_ref()),
    ])?;
    if row.visibility == Visibility::Visible && row.role != MessageRole::System {
        let key = db.last_insert_rowid();
        db.prepare_cached("INSERT INTO message_text (rowid, body) VALUES (?1, ?2)")?
            .execute(params![key, search_text::of(row.final_answer.as_deref().unwrap_or(&row.content))])?;
    }
    Ok(())
}

fn set_final_answer(db: &Connection, id: &str, answer: &str, telemetry: Option<&RawJson>) -> Applied {
    let key = db
        .prepare_cached("UPDATE message SET final_answer = ?2, telemetry = ifnull(?3, telemetry) WHERE id = ?1 RETURNING key")?
        .query_row(params![id, answer, text(telemetry)], |row| row.get::<_, i64>(0))
        .optional()?
        .ok_or_else(|| does_not_fit(format!("there is no message {id}")))?;
    replace_search_text(db, key, answer)
}

fn set_content(db: &Connection, id: &str, content: &str) -> Applied {
    let key = db
        .prepare_cached("UPDATE message SET content = ?2 WHERE id = ?1 RETURNING key")?
        .query_row(params![id, content], |row| row.get::<_, i64>(0))
        .optional()?
        .ok_or_else(|| does_not_fit(format!("there is no message {id}")))?;
    replace_search_text(db, key, content)
}

fn replace_search_text(db: &Connection, key: i64, text: &str) -> Applied {
    // An internal row has no search text and gets none.
    if db.prepare_cached("DELETE FROM message_text WHERE rowid = ?1")?.execute([key])? == 1 {
        db.prepare_cached("INSERT INTO message_text (rowid, body) VALUES (?1, ?2)")?.execute(params![key, search_text::of(text)])?;
    }
    Ok(())
}

fn put_approval(db: &Connection, row: &ApprovalRow) -> Applied {
    let session = session_key(db, &row.session_id)?;
    db.prepare_cached(
        "INSERT INTO approval (
             id, approval_id, session, run, state, tool_name, risk_level, decision, decided_by, created_at, decided_at, reason, args_preview, args
         ) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
         ON CONFLICT (id) DO UPDATE SET
             state = excluded.state, decision = excluded.decision, decided_by = excluded.decided_by, decided_at = excluded.decided_at",
    )?
    .execute(params![
        row.id,
        row.approval_id,
        session,
        row.run as i64,
        row.state.as_str(),
        row.tool_name,
        row.risk_level.as_ref().map(|risk| risk.as_str()),
        row.decision.as_ref().map(|decision| decision.as_str()),
        row.by,
        row.created_at.as_millis(),
        row.decided_at.map(|time| time.as_millis()),
        row.reason,
        row.args_preview,
        text(row.args.as_ref()),
    ])?;
    Ok(())
}

fn put_rule(db: &Connection, rule: &Rule) -> Applied {
    db.prepare_cached("INSERT OR REPLACE INTO approval_rule (scope, tool, added_by, created_at) VALUES (?1, ?2, ?3, ?4)")?.execute(params![
        rule.scope,
        rule.tool,
        rule.by,
        rule.created_at.as_millis()
    ])?;
    Ok(())
}

fn text(json: Option<&RawJson>) -> Option<&str> {
    json.map(RawJson::as_str)
}

fn json(value: Option<&impl Serialize>) -> Result<Option<String>, Fault> {
    value.map(serde_json::to_string).transpose().map_err(|error| does_not_fit(format!("a value cannot be written as JSON: {error}")))
}
