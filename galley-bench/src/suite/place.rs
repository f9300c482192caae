//! Where a benchmark works: a temporary folder with a database, and the programs it starts.

use anyhow::{Context, Result, ensure};
use galley_core::{Change, LogChunk, MessageRow, SessionRow, SessionStore, SqliteStore, Timestamp};
use galley_protocol::socket::{MessageRole, MessageState, RuntimeKind, SessionStatus, Visibility};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Items written in one transaction.
const GROUP: usize = 500;
/// When the first of the made-up sessions was active.
const EPOCH: i64 = 1_780_000_000_000;

/// The runtime of the configuration that runs the testkit's runner.
pub const RUNTIME: &str = "testkit";

/// A folder that is removed at the end.
pub struct Place {
    folder: TempDir,
}

impl Place {
    /// An empty folder.
    pub fn new() -> Result<Self> {
        // Short, because a socket's path must be.
        Ok(Self { folder: tempfile::Builder::new().prefix("galley-bench-").tempdir()? })
    }

    /// A file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.file("workbench.db")
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.file("galley.sock")
    }

    /// Writes a configuration with the runtime [`RUNTIME`].
    pub fn configure(&self) -> Result<()> {
        let runner = program("galley-testkit-runner")?;
        let text = format!("[runtimes.{RUNTIME}]\nbackend = \"process\"\ncommand = [{:?}]\n", runner.display().to_string());
        Ok(fs::write(self.file("config.toml"), text)?)
    }

    /// Fills the database with sessions of two messages and a short log each.
    pub fn fill(&self, sessions: usize) -> Result<()> {
        self.write((0..sessions).map(session))
    }

    /// Writes changes into the database, many items in one transaction.
    pub fn write<T: IntoIterator<Item = Change>>(&self, items: impl IntoIterator<Item = T>) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let store = SqliteStore::open(&self.database())?;
            let mut items = items.into_iter().peekable();
            while items.peek().is_some() {
                store.commit(items.by_ref().take(GROUP).flatten().collect()).await?;
            }
            Ok(())
        })
    }
}

/// The id of a session that [`Place::fill`] made.
pub fn session_id(number: usize) -> String {
    format!("sess_{number:020x}")
}

/// A session of two messages and a short log.
pub fn session(number: usize) -> [Change; 4] {
    let id = session_id(number);
    let at = Timestamp::from_millis(EPOCH + number as i64 * 1000);
    let row = SessionRow {
        id: id.clone(),
        project_id: None,
        title: format!("Check the figures of report {number}"),
        status: SessionStatus::Completed,
        summary: Some(format!("The figures of report {number} add up.")),
        turn_count: 1,
        last_activity_at: at,
        created_at: at,
        updated_at: at,
        pinned: None,
        has_unread: None,
        origin: None,
        llm: None,
        llm_index: None,
        runtime_kind: RuntimeKind::Managed,
        runtime_label: "Galley".to_owned(),
        runtime_id: "managed".to_owned(),
        prompt_profile: None,
        approval_mode: None,
        last_exit: None,
        ask: None,
        cwd: None,
        run: 1,
        run_first_index: 1,
    };
    let question = message(&id, &format!("msg_{number:019x}q"), at, MessageRole::User, &row.title);
    let answer = message(
        &id,
        &format!("msg_{number:019x}a"),
        at,
        MessageRole::Agent,
        &format!("Report {number} was read line by line. {}", "It is in order. ".repeat(12)),
    );
    let lines = (0..3).map(|_| format!(r#"{{"kind":"turn_progress","sessionId":"{id}","delta":"{}"}}"#, "and on ".repeat(20))).collect::<Vec<_>>();
    let log = LogChunk { session_id: id, first: 1, last: 3, run: 1, lines: Some(lines.join("\n").into()) };
    [Change::PutSession(Box::new(row)), question, answer, Change::AppendLog(log)]
}

/// A message of a session.
pub fn message(session_id: &str, id: &str, at: Timestamp, role: MessageRole, content: &str) -> Change {
    let asks = role == MessageRole::User;
    Change::InsertMessage(Box::new(MessageRow {
        id: id.to_owned(),
        session_id: session_id.to_owned(),
        role,
        content: content.to_owned(),
        final_answer: None,
        created_at: at,
        summary: None,
        turn_index: Some(0),
        step_index: (!asks).then_some(1),
        run: Some(1),
        state: asks.then_some(MessageState::Answered),
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
    }))
}

/// A program that was built beside this one.
pub fn program(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let path = own.parent().unwrap_or(Path::new(".")).join(name);
    ensure!(path.is_file(), "{} is missing; `cargo xtask bench` builds it", path.display());
    path.canonicalize().context("a program's path")
}
