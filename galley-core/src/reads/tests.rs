//! The reads over a real file, with and without a Core's view.

use super::changes::Changes;
use super::*;
use crate::config::Runtime;
use crate::store::{self, Change, MessageRow, ProjectRow, SessionRow, SessionStore, SqliteReader, SqliteStore};
use crate::time::Timestamp;
use galley_protocol::socket::{
    EndReason, ErrorTag, MessageRole, MessageState, RuntimeKind, SessionStatus, SessionWait, Visibility, WaitFrame, WaitPhase, WaitStatus,
};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;

struct Fixture {
    folder: TempDir,
    store: Arc<SqliteStore>,
    config: Config,
    core: Option<CoreView>,
}

impl ReadContext for Fixture {
    fn store(&self) -> &dyn ReadStore {
        &*self.store
    }

    fn config(&self) -> Result<Arc<Config>, Error> {
        Ok(Arc::new(self.config.clone()))
    }

    fn core(&self) -> Option<CoreView> {
        self.core.clone()
    }
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(&folder.path().join("workbench.db")).unwrap());
        Self { folder, store, config: Config::default(), core: None }
    }

    async fn commit(&self, changes: Vec<Change>) {
        self.store.commit(changes).await.unwrap();
    }

    async fn ask(&self, command: &str, args: Value) -> Result<Value, Error> {
        let args = RawJson::new(&args).unwrap();
        let reply = answer(self, command, Some(args.read().unwrap())).await.expect("a read")?;
        let mut value: Value = reply.result.read().unwrap();
        if let (Value::Array(rows), Some(cursor)) = (&mut value, reply.next_cursor) {
            rows.push(json!({ "nextCursor": cursor }));
        }
        Ok(value)
    }

    async fn refusal(&self, command: &str, args: Value) -> (ErrorTag, String) {
        let error = self.ask(command, args).await.unwrap_err();
        (error.tag(), error.to_string())
    }

    /// Starts a wait that is told of commits by the store.
    async fn wait(&self, args: Value) -> Result<WaitStream, Error> {
        let args: SessionWait = serde_json::from_value(args).unwrap();
        WaitStream::start(self.store.clone(), args, None, Box::new(self.store.decisions())).await
    }

    /// The status and end of a wait that is over at once.
    async fn outcome(&self, args: Value) -> (Option<WaitStatus>, EndReason) {
        let mut wait = self.wait(args).await.unwrap();
        assert!(matches!(wait.next().await, Some(WaitFrame::Wait { phase: WaitPhase::Initial, status: None, messages: Some(_), .. })));
        finish(wait).await
    }
}

async fn finish(mut wait: WaitStream) -> (Option<WaitStatus>, EndReason) {
    let mut status = None;
    loop {
        match wait.next().await.expect("an end frame") {
            WaitFrame::Wait { phase: WaitPhase::Final, status: found, .. } => status = found,
            WaitFrame::End { reason, .. } => {
                assert!(wait.next().await.is_none());
                return (status, reason);
            }
            other => panic!("{other:?}"),
        }
    }
}

fn session(id: &str, status: SessionStatus) -> Change {
    let now = Timestamp::from_millis(1000);
    Change::PutSession(Box::new(SessionRow {
        id: id.into(),
        project_id: None,
        title: id.into(),
        status,
        summary: None,
        turn_count: 0,
        last_activity_at: now,
        created_at: now,
        updated_at: now,
        pinned: None,
        has_unread: None,
        origin: None,
        llm: None,
        llm_index: None,
        runtime_kind: if id.starts_with("ext") { RuntimeKind::External } else { RuntimeKind::Managed },
        runtime_label: "Galley".into(),
        runtime_id: if id.starts_with("ext") { "mine".into() } else { "managed".into() },
        prompt_profile: None,
        approval_mode: None,
        last_exit: None,
        ask: None,
        cwd: None,
        run: 0,
        run_first_index: 0,
    }))
}

fn row(session: &str, id: &str, turn: u32, role: MessageRole, content: &str) -> MessageRow {
    MessageRow {
        id: id.into(),
        session_id: session.into(),
        role,
        content: content.into(),
        final_answer: None,
        created_at: Timestamp::from_millis(1000),
        summary: None,
        turn_index: Some(turn),
        step_index: None,
        run: None,
        state: None,
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

fn user(session: &str, id: &str, turn: u32, state: MessageState) -> Change {
    Change::InsertMessage(Box::new(MessageRow { state: Some(state), ..row(session, id, turn, MessageRole::User, "go") }))
}

fn agent(session: &str, id: &str, turn: u32, content: &str) -> Change {
    Change::InsertMessage(Box::new(row(session, id, turn, MessageRole::Agent, content)))
}

fn ids(rows: &Value) -> Vec<&str> {
    rows.as_array().unwrap().iter().filter_map(|row| row["id"].as_str()).collect()
}

#[tokio::test]
async fn about_galley_itself() {
    let mut galley = Fixture::new();
    assert_eq!(galley.ask("ping", json!({})).await.unwrap(), json!({ "pong": true }));
    assert_eq!(answer(&galley, "ping", None).await.unwrap().unwrap().result.as_str(), r#"{"pong":true}"#);
    let version = galley.ask("version", json!({})).await.unwrap();
    assert_eq!((&version["schemaVersion"], &version["protocolVersion"]), (&json!(1), &json!("0.1")));
    assert!(answer(&galley, "session.new", None).await.is_none(), "no read");

    galley.commit(vec![session("a", SessionStatus::Running), session("b", SessionStatus::Archived)]).await;
    let status = galley.ask("status", json!({})).await.unwrap();
    assert_eq!(status, json!({ "total": 1, "running": 1, "waitingInput": 0, "errored": 0 }));
    galley.core = Some(CoreView { socket: Some("/run/g.sock".into()), live: LiveSummary { runners: 1, busy: 1, queued: 0 } });
    assert_eq!(galley.ask("status", json!({})).await.unwrap()["live"], json!({ "runners": 1, "busy": 1, "queued": 0 }));
}

#[tokio::test]
async fn health_has_every_probe_and_never_fails() {
    let mut galley = Fixture::new();
    let probes = async |galley: &Fixture| {
        let report = galley.ask("health", json!({})).await.unwrap();
        report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|check| (check["id"].as_str().unwrap().to_owned(), check["status"].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    let expected = [
        ("db_readable", "ok"),
        ("ga_path", "warn"),
        ("mykey_py", "warn"),
        ("agentmain_import", "deferred_b4"),
        ("llm_session_init", "deferred_b4"),
        ("core_socket", "warn"),
        ("runtime:managed", "ok"),
        ("runtime:shell", "ok"),
        ("fts_integrity", "ok"),
    ];
    assert_eq!(probes(&galley).await, expected.map(|(id, status)| (id.to_owned(), status.to_owned())));
    galley.core = Some(CoreView { socket: None, live: LiveSummary { runners: 0, busy: 0, queued: 0 } });
    assert!(probes(&galley).await.contains(&("core_socket".into(), "ok".into())));
}

#[tokio::test]
async fn lists_take_the_words_of_the_contract() {
    let galley = Fixture::new();
    galley
        .commit(vec![
            session("a", SessionStatus::Idle),
            session("b", SessionStatus::Completed),
            session("ext", SessionStatus::Idle),
            session("old", SessionStatus::Archived),
            agent("a", "m1", 0, "some words"),
            agent("ext", "m2", 0, "other words"),
        ])
        .await;
    for (args, expected) in [
        (json!({}), vec!["a", "b"]),
        (json!({ "runtime": null, "limit": null }), vec!["a", "b"]),
        (json!({ "runtime": "current" }), vec!["a", "b"]),
        (json!({ "runtime": "external" }), vec!["ext"]),
        (json!({ "runtime": "mine" }), vec!["ext"]),
        (json!({ "runtime": "nobody" }), vec![]),
        (json!({ "runtime": "all" }), vec!["a", "b", "ext"]),
        (json!({ "archived": "all" }), vec!["a", "b", "old"]),
        (json!({ "archived": "archived" }), vec!["old"]),
        (json!({ "status": "archived" }), vec!["old"]),
        (json!({ "status": "completed" }), vec!["b"]),
    ] {
        assert_eq!(ids(&galley.ask("sessions.list", args.clone()).await.unwrap()), expected, "{args}");
    }
    let page = galley.ask("sessions.list", json!({ "limit": 1 })).await.unwrap();
    let next = galley.ask("sessions.list", json!({ "limit": 1, "cursor": page[1]["nextCursor"] })).await.unwrap();
    assert_eq!((ids(&page), ids(&next)), (vec!["a"], vec!["b"]));
    assert_eq!(next.as_array().unwrap().len(), 1, "no cursor on the last page");

    for (args, word) in [
        (json!({ "status": "asleep" }), "waiting_approval"),
        (json!({ "archived": "yes" }), "active, archived, all"),
        (json!({ "limit": 0 }), "at least 1"),
        (json!({ "limit": -1 }), "sessions.list"),
        (json!({ "cursor": "nonsense" }), "nextCursor"),
    ] {
        let (tag, message) = galley.refusal("sessions.list", args.clone()).await;
        assert!(tag == ErrorTag::InvalidArgs && message.contains(word), "{args}: {message}");
    }
    let hits = galley.ask("sessions.search", json!({ "query": "words" })).await.unwrap();
    assert_eq!((hits.as_array().unwrap().len(), &hits[0]["messageId"]), (1, &json!("m1")));
    assert_eq!(galley.refusal("sessions.search", json!({})).await.0, ErrorTag::InvalidArgs);
}

#[tokio::test]
async fn a_transcript_is_read_from_its_end() {
    let galley = Fixture::new();
    let mut changes = vec![session("s", SessionStatus::Idle), session("t", SessionStatus::Idle), agent("t", "other", 0, "x")];
    changes.extend((0..5).map(|n| agent("s", &format!("m{n}"), n, "text")));
    galley.commit(changes).await;
    for (args, expected) in [
        (json!({ "sessionId": "s" }), vec!["m0", "m1", "m2", "m3", "m4"]),
        (json!({ "sessionId": "s", "tail": 2 }), vec!["m3", "m4"]),
        (json!({ "sessionId": "s", "tail": 0 }), vec![]),
        (json!({ "sessionId": "s", "tail": 3, "limit": 1 }), vec!["m4"]),
        (json!({ "sessionId": "s", "before": "m3", "limit": 2 }), vec!["m1", "m2"]),
    ] {
        assert_eq!(ids(&galley.ask("session.show", args.clone()).await.unwrap()), expected, "{args}");
    }
    let missing = (ErrorTag::NotFound, "session nobody not found".to_owned());
    assert_eq!(galley.refusal("session.show", json!({ "sessionId": "nobody" })).await, missing);
    assert_eq!(galley.refusal("session.brief", json!({ "sessionId": "nobody" })).await, missing);
    assert_eq!(galley.refusal("approval.list", json!({ "sessionId": "nobody" })).await, missing);
    assert_eq!(galley.refusal("session.show", json!({ "sessionId": "s", "before": "other" })).await.0, ErrorTag::NotFound);
    assert_eq!(galley.refusal("approval.list", json!({ "state": "settled" })).await.0, ErrorTag::InvalidArgs);
    assert_eq!(galley.ask("approval.list", json!({ "sessionId": "s", "state": "all" })).await.unwrap(), json!([]));
}

#[tokio::test]
async fn what_waits_is_listed_in_the_order_it_will_be_handed_over() {
    let galley = Fixture::new();
    let waits = |id: &str, turn, state, rank| {
        Change::InsertMessage(Box::new(MessageRow { state: Some(state), rank, ..row("s", id, turn, MessageRole::User, id) }))
    };
    galley
        .commit(vec![
            session("s", SessionStatus::Running),
            user("s", "open", 0, MessageState::Dispatched),
            waits("second", 1, MessageState::Queued, 0),
            waits("third", 2, MessageState::Queued, 0),
            waits("jumped", 3, MessageState::Queued, -1),
            user("s", "gone", 4, MessageState::Cancelled),
        ])
        .await;
    let queue = galley.ask("session.queue", json!({ "sessionId": "s" })).await.unwrap();
    let item = |id: &str, position| json!({ "messageId": id, "position": position, "state": "queued", "content": id, "createdAt": "1970-01-01T00:00:01.000Z" });
    assert_eq!(queue, json!([item("jumped", 1), item("second", 2), item("third", 3)]));
    assert_eq!(galley.refusal("session.queue", json!({ "sessionId": "nobody" })).await.0, ErrorTag::NotFound);
}

#[tokio::test]
async fn an_export_is_whole_however_long_the_conversation() {
    let galley = Fixture::new();
    let mut internal = row("s", "audit", 0, MessageRole::System, "stop");
    internal.visibility = Visibility::Internal;
    let mut changes = vec![session("s", SessionStatus::Idle), Change::InsertMessage(Box::new(internal))];
    changes.extend((0..450).map(|n| agent("s", &format!("m{n:03}"), n, &format!("text {n}"))));
    galley.commit(changes).await;
    let json = galley.ask("session.export", json!({ "sessionId": "s" })).await.unwrap();
    assert_eq!((&json["format"], &json["schemaVersion"], &json["session"]["id"]), (&json!("json"), &json!(1), &json!("s")));
    let shown = galley.ask("session.show", json!({ "sessionId": "s" })).await.unwrap();
    assert_eq!(json["messages"], shown, "the rows of session.show, without internal ones");
    assert_eq!(shown.as_array().unwrap().len(), 450);
    let markdown = galley.ask("session.export", json!({ "sessionId": "s", "format": "markdown" })).await.unwrap();
    let content = markdown["content"].as_str().unwrap();
    let numbers: Vec<u32> = content.lines().filter_map(|line| line.strip_prefix("text ")?.parse().ok()).collect();
    assert_eq!(numbers, (0..450).collect::<Vec<_>>());
    assert_eq!((&markdown["format"], content.lines().next()), (&json!("markdown"), Some("# s")));
    let (tag, message) = galley.refusal("session.export", json!({ "sessionId": "s", "format": "pdf" })).await;
    assert!(tag == ErrorTag::InvalidArgs && message.contains("json, markdown"), "{message}");
    assert_eq!(galley.refusal("session.export", json!({ "sessionId": "nobody" })).await.0, ErrorTag::NotFound);
}

#[tokio::test]
async fn models_are_listed_as_each_runtime_last_told_them() {
    let mut galley = Fixture::new();
    galley.config =
        Config::default().with_runtime(Runtime::process("mine", vec!["sh".into()])).with_runtime(Runtime::process("other", vec!["sh".into()]));
    let told = |runtime: &str, name: &str| Change::SetSetting {
        key: format!("llms:{runtime}"),
        value: Some(json!([{ "index": 0, "name": name, "displayName": name.to_uppercase(), "isCurrent": true }]).to_string()),
    };
    galley.commit(vec![told("managed", "a"), told("mine", "b"), told("other", "c"), told("removed", "d")]).await;
    for (args, expected) in [
        (json!({}), vec!["a"]),
        (json!({ "runtime": "current" }), vec!["a"]),
        (json!({ "runtime": "managed" }), vec!["a"]),
        (json!({ "runtime": "external" }), vec!["b", "c"]),
        (json!({ "runtime": "other" }), vec!["c"]),
        (json!({ "runtime": "all" }), vec!["a", "b", "c"]),
    ] {
        let rows = galley.ask("llm.list", args.clone()).await.unwrap();
        let names: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!(names, expected, "{args}");
    }
    let row = &galley.ask("llm.list", json!({})).await.unwrap()[0];
    assert_eq!(
        *row,
        json!({ "index": 0, "name": "a", "key": "a", "displayName": "A", "isCurrent": true }),
        "the name is the key where there is none"
    );
    assert_eq!(galley.refusal("llm.list", json!({ "runtime": "removed" })).await.0, ErrorTag::NotFound);
    galley.config = galley.config.with_current("mine");
    assert_eq!(galley.ask("llm.list", json!({})).await.unwrap()[0]["name"], "b");
    let shown = galley.ask("runtime.show", json!({ "name": "current" })).await.unwrap();
    assert_eq!((&shown["name"], &shown["current"], &shown["runtimeKind"]), (&json!("mine"), &json!(true), &json!("external")));
    assert_eq!(galley.refusal("runtime.show", json!({ "name": "removed" })).await.0, ErrorTag::NotFound);
}

fn project(id: &str, pinned: bool) -> Change {
    let at = Timestamp::from_millis(500);
    let row = ProjectRow { id: id.into(), name: id.into(), root_path: None, workspace_enabled: false, icon: None, color: None, pinned, at };
    Change::PutProject(Box::new(row))
}

fn member(project: &str, id: &str, status: SessionStatus) -> Change {
    let Change::PutSession(mut row) = session(id, status) else { unreachable!() };
    row.project_id = Some(project.into());
    Change::PutSession(row)
}

#[tokio::test]
async fn projects_and_what_is_in_them() {
    let galley = Fixture::new();
    galley
        .commit(vec![
            project("proj_quiet", false),
            project("proj_busy", false),
            project("proj_pinned", true),
            member("proj_busy", "a", SessionStatus::Idle),
            member("proj_busy", "b", SessionStatus::Running),
            member("proj_busy", "ext", SessionStatus::WaitingApproval),
            member("proj_busy", "old", SessionStatus::Archived),
            session("loose", SessionStatus::Running),
            agent("a", "m1", 0, "some words"),
            agent("a", "m2", 1, "more words"),
            agent("loose", "m3", 0, "loose words"),
        ])
        .await;
    let all = galley.ask("project.list", json!({})).await.unwrap();
    assert_eq!(ids(&all), ["proj_pinned", "proj_busy", "proj_quiet"], "pinned, then the latest activity of its sessions");
    assert_eq!(
        all[2],
        json!({ "id": "proj_quiet", "name": "proj_quiet", "workspaceEnabled": false, "pinned": false, "lastActivityAt": "1970-01-01T00:00:00.500Z",
            "createdAt": "1970-01-01T00:00:00.500Z", "updatedAt": "1970-01-01T00:00:00.500Z" })
    );
    let brief = galley.ask("project.brief", json!({ "projectId": "proj_busy" })).await.unwrap();
    assert_eq!(brief["statusCounts"], json!({ "idle": 1, "running": 1, "waiting_approval": 1 }), "of any runtime, without archived ones");
    assert_eq!((&brief["sessionCount"], &brief["schemaVersion"], ids(&brief["runningSessions"])), (&json!(3), &json!(1), vec!["b", "ext"]));
    let show = galley.ask("project.show", json!({ "projectId": "proj_busy", "tail": 1 })).await.unwrap();
    let transcripts: Vec<_> =
        show["sessions"].as_array().unwrap().iter().map(|one| (one["session"]["id"].as_str().unwrap(), ids(&one["messages"]))).collect();
    assert_eq!(transcripts, [("a", vec!["m2"]), ("b", vec![]), ("ext", vec![])]);
    let all = galley.ask("project.show", json!({ "projectId": "proj_busy", "all": true })).await.unwrap();
    assert_eq!((&all["sessionCount"], all["sessions"].as_array().unwrap().len()), (&json!(4), 4));

    for (args, expected) in [
        (json!({ "projectId": "proj_busy" }), vec!["a", "b"]),
        (json!({ "projectId": "proj_busy", "runtime": "all" }), vec!["a", "b", "ext"]),
        (json!({ "projectId": "proj_busy", "runtime": "all", "archived": "all" }), vec!["a", "b", "ext", "old"]),
        (json!({ "projectId": "proj_busy", "status": "running" }), vec!["b"]),
        (json!({ "projectId": "proj_quiet" }), vec![]),
    ] {
        assert_eq!(ids(&galley.ask("sessions.list", args.clone()).await.unwrap()), expected, "{args}");
    }
    let hits = galley.ask("sessions.search", json!({ "query": "words", "projectId": "proj_busy" })).await.unwrap();
    assert_eq!(hits.as_array().unwrap().iter().map(|hit| hit["sessionId"].as_str().unwrap()).collect::<Vec<_>>(), ["a", "a"]);
    for (command, args) in [
        ("project.brief", json!({ "projectId": "proj_none" })),
        ("project.show", json!({ "projectId": "proj_none" })),
        ("sessions.list", json!({ "projectId": "proj_none" })),
        ("sessions.search", json!({ "projectId": "proj_none", "query": "words" })),
        ("approval.rules", json!({ "scope": "proj_none" })),
    ] {
        assert_eq!(galley.refusal(command, args).await, (ErrorTag::NotFound, "project proj_none not found".to_owned()), "{command}");
    }
}

#[tokio::test]
async fn rules_are_listed_by_scope_and_go_with_their_project() {
    let galley = Fixture::new();
    let rule = |tool: &str, scope: &str| {
        Change::PutRule(store::Rule { tool: tool.into(), scope: scope.into(), by: Some("me".into()), created_at: Timestamp::from_millis(1) })
    };
    galley
        .commit(vec![
            project("proj_1", false),
            member("proj_1", "a", SessionStatus::Running),
            rule("rm", "global"),
            rule("cp", "global"),
            rule("ls", "proj_1"),
            rule("cat", "ungrouped"),
        ])
        .await;
    let tools = async |args: Value| {
        let rules = galley.ask("approval.rules", args).await.unwrap();
        rules.as_array().unwrap().iter().map(|rule| rule["tool"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tools(json!({})).await, ["cp", "rm", "ls", "cat"], "by scope, then tool");
    assert_eq!(tools(json!({ "scope": "global" })).await, ["cp", "rm"]);
    assert_eq!(tools(json!({ "scope": "proj_1" })).await, ["ls"]);
    let rule = &galley.ask("approval.rules", json!({ "scope": "ungrouped" })).await.unwrap()[0];
    assert_eq!(*rule, json!({ "tool": "cat", "scope": "ungrouped", "by": "me", "createdAt": "1970-01-01T00:00:00.001Z" }));

    galley.commit(vec![Change::DeleteProject { id: "proj_1".into() }]).await;
    assert_eq!(tools(json!({})).await, ["cp", "rm", "cat"]);
    assert!(galley.ask("session.brief", json!({ "sessionId": "a" })).await.unwrap().get("projectId").is_none());
    // Its actor may not know yet, and writes its row as it was.
    galley.commit(vec![member("proj_1", "a", SessionStatus::Completed)]).await;
    let brief = galley.ask("session.brief", json!({ "sessionId": "a" })).await.unwrap();
    assert_eq!((brief.get("projectId"), &brief["status"]), (None, &json!("completed")));
}

#[tokio::test]
async fn a_wait_for_an_answer() {
    let galley = Fixture::new();
    let mut partial = row("s", "half", 0, MessageRole::Agent, "half a");
    partial.partial = true;
    galley
        .commit(vec![
            session("s", SessionStatus::Error),
            user("s", "u0", 0, MessageState::Failed),
            Change::InsertMessage(Box::new(partial)),
            agent("s", "empty", 0, ""),
        ])
        .await;
    let dead = (Some(WaitStatus::SessionError), EndReason::SessionError);
    assert_eq!(galley.outcome(json!({ "sessionId": "s" })).await, dead, "partial and empty rows are no output");
    galley.commit(vec![Change::SetFinalAnswer { id: "empty".into(), answer: "done".into(), telemetry: None }]).await;
    let completed = (Some(WaitStatus::Completed), EndReason::Completed);
    assert_eq!(galley.outcome(json!({ "sessionId": "s" })).await, completed, "output counts before a dead session");
    assert_eq!(galley.outcome(json!({ "sessionId": "s", "afterTurn": 0 })).await, completed);
    assert_eq!(galley.outcome(json!({ "sessionId": "s", "afterTurn": 1 })).await, dead);
    galley.commit((0..50).map(|n| user("s", &format!("q{n}"), n + 1, MessageState::Pending)).collect()).await;
    assert_eq!(galley.outcome(json!({ "sessionId": "s", "tail": 1 })).await, completed, "an answer far back counts");
    assert_eq!(galley.outcome(json!({ "sessionId": "s", "afterTurn": 3 })).await, dead);
    galley.commit(vec![session("s", SessionStatus::Cancelled)]).await;
    assert_eq!(galley.outcome(json!({ "sessionId": "s", "afterTurn": 3 })).await.1, EndReason::SessionCancelled);
}

#[tokio::test]
async fn a_wait_for_the_end_of_a_message() {
    let galley = Fixture::new();
    galley.commit(vec![session("s", SessionStatus::Running), agent("s", "a", 0, "an earlier answer")]).await;
    for (n, (state, expected)) in [
        (MessageState::Answered, EndReason::Completed),
        (MessageState::Failed, EndReason::SessionError),
        (MessageState::Cancelled, EndReason::SessionCancelled),
        (MessageState::Superseded, EndReason::SessionCancelled),
        (MessageState::Dispatched, EndReason::Timeout),
        (MessageState::Queued, EndReason::Timeout),
        (MessageState::Pending, EndReason::Timeout),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("m{n}");
        galley.commit(vec![user("s", &id, 1, state.clone())]).await;
        assert_eq!(galley.outcome(json!({ "sessionId": "s", "messageId": id, "timeout": 0 })).await.1, expected, "{state}");
    }
    galley.commit(vec![session("s", SessionStatus::Error)]).await;
    assert_eq!(
        galley.outcome(json!({ "sessionId": "s", "messageId": "m6" })).await.1,
        EndReason::SessionError,
        "pending, and nobody starts a runner"
    );
    let start = async |args| galley.wait(args).await.err().map(|error| error.tag());
    assert_eq!(start(json!({ "sessionId": "s", "messageId": "nobody" })).await, Some(ErrorTag::NotFound));
    assert_eq!(start(json!({ "sessionId": "s", "messageId": "a" })).await, Some(ErrorTag::InvalidArgs));
}

#[tokio::test]
async fn a_wait_until_idle() {
    let galley = Fixture::new();
    let idle = json!({ "sessionId": "s", "untilIdle": true, "timeout": 0 });
    for (status, expected) in [
        (SessionStatus::Idle, EndReason::Completed),
        (SessionStatus::Completed, EndReason::Completed),
        (SessionStatus::Connecting, EndReason::Timeout),
        (SessionStatus::Running, EndReason::Timeout),
        (SessionStatus::WaitingApproval, EndReason::Timeout),
        (SessionStatus::Error, EndReason::SessionError),
        (SessionStatus::Cancelled, EndReason::SessionCancelled),
    ] {
        galley.commit(vec![session("s", status.clone())]).await;
        assert_eq!(galley.outcome(idle.clone()).await.1, expected, "{status}");
    }
    galley.commit(vec![session("s", SessionStatus::Completed), user("s", "q", 0, MessageState::Queued)]).await;
    assert_eq!(galley.outcome(idle).await.1, EndReason::Timeout, "a message is queued");
}

#[tokio::test]
async fn a_wait_sees_what_is_committed_meanwhile() {
    let galley = Fixture::new();
    galley.commit(vec![session("s", SessionStatus::Running)]).await;
    let reader: Arc<dyn ReadStore> = Arc::new(SqliteReader::open(&galley.folder.path().join("workbench.db")).unwrap());
    let args = SessionWait { session_id: "s".into(), timeout: Some(60.0), poll: Some(60.0), ..Default::default() };
    let polled = Box::new(PolledChanges::of(reader.clone()).await);
    let beside = WaitStream::start(reader, args.clone(), Some("r1".into()), polled).await.unwrap();
    let inside = galley.wait(serde_json::to_value(args).unwrap()).await.unwrap();
    assert_eq!((beside.request_id(), inside.request_id()), (Some("r1"), None));
    for mut wait in [beside, inside] {
        assert!(matches!(wait.next().await, Some(WaitFrame::Wait { phase: WaitPhase::Initial, .. })));
        // Cancelled while it waits, and asked again.
        assert!(futures::poll!(Box::pin(wait.next())).is_pending());
        let id = format!("answer-{}", wait.request_id().is_some());
        let (outcome, ()) = tokio::join!(finish(wait), galley.commit(vec![agent("s", &id, 0, "here")]));
        assert_eq!(outcome, (Some(WaitStatus::Completed), EndReason::Completed));
        galley.commit(vec![session("s", SessionStatus::Running)]).await;
        break_answer(&galley, &id);
    }
}

/// Takes the answer back, so that the next wait has to wait.
fn break_answer(galley: &Fixture, id: &str) {
    let db = rusqlite::Connection::open(galley.folder.path().join("workbench.db")).unwrap();
    db.execute("UPDATE message SET content = '' WHERE id = ?1", [id]).unwrap();
}

#[tokio::test]
async fn the_arguments_of_a_wait() {
    let galley = Fixture::new();
    galley.commit(vec![session("s", SessionStatus::Running), agent("s", "a", 0, "text")]).await;
    for args in [
        json!({ "sessionId": "s", "timeout": -1 }),
        json!({ "sessionId": "s", "poll": -0.5 }),
        json!({ "sessionId": "s", "untilIdle": true, "afterTurn": 1 }),
        json!({ "sessionId": "s", "untilIdle": true, "messageId": "a" }),
    ] {
        let refusal = galley.wait(args.clone()).await.err().map(|error| error.tag());
        assert_eq!(refusal, Some(ErrorTag::InvalidArgs), "{args}");
    }
    assert_eq!(galley.wait(json!({ "sessionId": "nobody" })).await.err().map(|error| error.tag()), Some(ErrorTag::NotFound));
    assert!(galley.wait(json!({ "sessionId": "s", "timeout": 1e300, "poll": 1e300 })).await.is_ok());
    let mut wait = galley.wait(json!({ "sessionId": "s", "finalShow": false })).await.unwrap();
    wait.next().await.unwrap();
    let last = serde_json::to_value(wait.next().await.unwrap()).unwrap();
    assert_eq!((&last["status"], last.get("messages"), last.get("requestId")), (&json!("completed"), None, None));
}

/// Never tells of a change, and counts how often it is asked: once for each look.
struct Silent(Arc<std::sync::atomic::AtomicU32>);

#[async_trait::async_trait]
impl Changes for Silent {
    async fn changed(&mut self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_poll_is_clamped_and_the_time_runs_out() {
    let galley = Fixture::new();
    galley.commit(vec![session("s", SessionStatus::Running)]).await;
    let started = tokio::time::Instant::now();
    let looks = Arc::default();
    let args = SessionWait { session_id: "s".into(), timeout: Some(3.0), poll: Some(0.0), ..Default::default() };
    let mut wait = WaitStream::start(galley.store.clone(), args, None, Box::new(Silent(Arc::clone(&looks)))).await.unwrap();
    wait.next().await.unwrap();
    assert_eq!(finish(wait).await, (Some(WaitStatus::TimedOut), EndReason::Timeout));
    assert!(started.elapsed() >= Duration::from_secs(3));
    assert_eq!(looks.load(std::sync::atomic::Ordering::Relaxed), 3, "one look a second");
}
