//! A database in a fresh folder, and rows to put in it.

use galley_core::{ApprovalRow, Change, LogChunk, MessageRow, SessionRow, SqliteStore, Timestamp};
use galley_protocol::RawJson;
use galley_protocol::socket::{ApprovalState, MessageRole, MessageState, RuntimeKind, SessionStatus, Visibility};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder that is removed at the end, and the database file in it.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn db(&self) -> PathBuf {
        self.folder.path().join("workbench.db")
    }

    pub fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.db()).unwrap()
    }
}

pub fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub fn session(id: &str) -> SessionRow {
    SessionRow {
        id: id.into(),
        project_id: None,
        title: format!("title of {id}"),
        status: SessionStatus::Idle,
        summary: None,
        turn_count: 0,
        last_activity_at: time(1000),
        created_at: time(1000),
        updated_at: time(1000),
        pinned: None,
        has_unread: None,
        origin: None,
        llm: None,
        llm_index: None,
        runtime_kind: RuntimeKind::Managed,
        runtime_label: "Galley".into(),
        runtime_id: "managed".into(),
        prompt_profile: None,
        approval_mode: None,
        last_exit: None,
        ask: None,
        cwd: None,
        run: 0,
        run_first_index: 0,
    }
}

pub fn message(session: &str, id: &str, role: MessageRole, content: &str) -> MessageRow {
    MessageRow {
        id: id.into(),
        session_id: session.into(),
        state: (role == MessageRole::User).then_some(MessageState::Answered),
        role,
        content: content.into(),
        final_answer: None,
        created_at: time(1000),
        summary: None,
        turn_index: None,
        step_index: None,
        run: None,
        rank: 0,
        origin: None,
        visibility: Visibility::Visible,
        partial: false,
        thinking: None,
        tool_calls: None,
        tool_results: None,
        ask_user: None,
        telemetry: None,
        client_request_id: None,
        attachments: Vec::new(),
    }
}

pub fn user(session: &str, id: &str, content: &str) -> MessageRow {
    message(session, id, MessageRole::User, content)
}

pub fn agent(session: &str, id: &str, content: &str) -> MessageRow {
    message(session, id, MessageRole::Agent, content)
}

pub fn approval(session: &str, id: &str) -> ApprovalRow {
    ApprovalRow {
        id: id.into(),
        approval_id: "a1".into(),
        session_id: session.into(),
        run: 1,
        tool_name: "code_run".into(),
        args: Some(json(r#"{"code":"ls"}"#)),
        args_preview: Some("ls".into()),
        risk_level: None,
        reason: None,
        state: ApprovalState::Pending,
        decision: None,
        by: None,
        created_at: time(1000),
        decided_at: None,
    }
}

/// Events `first..=last`, each a line that names its index.
pub fn chunk(session: &str, first: u64, last: u64) -> LogChunk {
    let lines: Vec<String> = (first..=last).map(|index| format!(r#"{{"kind":"x","n":{index}}}"#)).collect();
    LogChunk { session_id: session.into(), first, last, run: 1, lines: Some(lines.join("\n").into_bytes().into()) }
}

pub fn json(text: &str) -> RawJson {
    RawJson::from_text(text.into()).unwrap()
}

pub fn put(row: SessionRow) -> Change {
    Change::PutSession(Box::new(row))
}

pub fn insert(row: MessageRow) -> Change {
    Change::InsertMessage(Box::new(row))
}
