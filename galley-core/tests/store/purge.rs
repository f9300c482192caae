//! Deleted sessions: gone for every reader at once, and from the file in small steps.

use crate::support::*;
use galley_core::{
    ApprovalQuery, Change, MessageQuery, ProjectRow, ReadStore, RuntimeFilter, SearchQuery, SessionQuery, SessionStore, SqliteReader, SqliteStore,
};
use galley_protocol::socket::{Archived, MessageState, SessionStatus};
use galley_testkit::wait_until;
use rusqlite::Connection;
use std::path::Path;
use std::time::Duration;

fn rows_left(db: &Path) -> i64 {
    let count = |table: &str| format!("(SELECT count(*) FROM {table})");
    let sum = ["session", "message", "message_text", "event_log", "approval"].map(count).join(" + ");
    Connection::open(db).unwrap().query_row(&format!("SELECT {sum}"), [], |row| row.get(0)).unwrap()
}

/// A session of a project with a row of each kind.
fn a_bit_of_everything(id: &str) -> Vec<Change> {
    let mut row = session(id);
    row.status = SessionStatus::Running;
    row.project_id = Some("proj_1".into());
    let mut queued = user(id, &format!("{id}_queued"), "a needle in the queue");
    queued.state = Some(MessageState::Queued);
    queued.client_request_id = Some(format!("{id}_request"));
    vec![
        put(row),
        insert(agent(id, &format!("{id}_answer"), "a needle in the answer")),
        insert(queued),
        Change::PutApproval(approval(id, &format!("appr_{id}")).into()),
        Change::AppendLog(chunk(id, 1, 3)),
    ]
}

fn project() -> Change {
    let at = time(1000);
    Change::PutProject(Box::new(ProjectRow {
        id: "proj_1".into(),
        name: "p".into(),
        root_path: None,
        workspace_enabled: false,
        icon: None,
        color: None,
        pinned: false,
        at,
    }))
}

/// What readers see of sessions, by every way there is to them.
async fn seen(store: &(impl ReadStore + ?Sized), id: &str) -> Vec<(&'static str, usize)> {
    let search = async |words: &str| store.search(&SearchQuery { query: words.into(), limit: 9, ..Default::default() }).await.unwrap().len();
    let list = async |project_id: Option<&str>| {
        let project_id = project_id.map(str::to_owned);
        let query = SessionQuery { runtime: RuntimeFilter::All, project_id, status: None, archived: Archived::All, limit: None, cursor: None };
        store.sessions(&query).await.unwrap().rows.len()
    };
    let overview = store.project_overview("proj_1").await.unwrap().unwrap();
    vec![
        ("session", usize::from(store.session(id).await.unwrap().is_some())),
        ("list", list(None).await),
        ("list of the project", list(Some("proj_1")).await),
        ("counts of the project", overview.session_count as usize),
        ("at work in the project", overview.running_sessions.len()),
        ("status", store.status().await.unwrap().total as usize),
        ("messages", store.messages(&MessageQuery { session_id: id.into(), ..Default::default() }).await.unwrap().len()),
        ("message", usize::from(store.message(&format!("{id}_answer")).await.unwrap().is_some())),
        ("queue", store.queue(id).await.unwrap().len()),
        ("search", search("needle").await),
        ("search of two", search("ne").await),
        ("approvals", store.approvals(&ApprovalQuery { all: true, ..Default::default() }).await.unwrap().len()),
        ("log", store.log(id, 1, 1000).await.unwrap().len()),
        ("last index", store.last_index(id).await.unwrap() as usize),
    ]
}

#[tokio::test]
async fn a_tombstone_is_seen_by_no_reader() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![project()]).await.unwrap();
    let nothing = seen(&store, "s").await;
    assert!(nothing.iter().all(|(_, count)| *count == 0), "{nothing:?}");
    store.commit(a_bit_of_everything("s")).await.unwrap();
    let there = seen(&store, "s").await;
    assert!(there.iter().all(|(_, count)| *count > 0), "{there:?}");

    // Set behind the writer's back: it does not know that there is something to purge.
    Connection::open(place.db()).unwrap().execute("UPDATE session SET deleted_at = 2000", []).unwrap();
    assert_eq!(seen(&store, "s").await, nothing);
    assert_eq!(seen(&SqliteReader::open(&place.db()).unwrap(), "s").await, nothing, "nor from the file");
    assert_eq!(store.snapshot("s").await.unwrap(), None);
    assert!(store.interrupted().await.unwrap().is_empty());
    assert!(store.history("s", None).await.unwrap().is_empty());
    assert_eq!(store.approval_session("appr_s").await.unwrap(), None);
    assert!(store.commit(vec![insert(user("s", "late", "text"))]).await.is_err(), "nothing is added to it");
    assert!(rows_left(&place.db()) > 0, "it was not purged while this looked");

    drop(store);
    let store = place.open();
    wait_until(Duration::from_secs(20), "the next start purges it", || rows_left(&place.db()) == 0).unwrap();
    assert_eq!(seen(&store, "s").await, nothing);
    let reused = a_bit_of_everything("s");
    store.commit(reused).await.unwrap();
    assert_eq!(seen(&store, "s").await, there, "the id can be used again");
}

/// A session that takes many steps to purge.
async fn a_large_session(store: &SqliteStore, id: &str) {
    store.commit(vec![put(session(id))]).await.unwrap();
    for part in 0..10 {
        let text = |n: u32| format!("message {n} of a large session, with words enough to keep the index at work: {}", n * 7919);
        let mut changes: Vec<_> = (part * 500..(part + 1) * 500).map(|n| insert(agent(id, &format!("{id}_{n}"), &text(n)))).collect();
        changes.extend((0..50).map(|n| Change::AppendLog(chunk(id, u64::from(part) * 50 + n + 1, u64::from(part) * 50 + n + 1))));
        store.commit(changes).await.unwrap();
    }
}

#[tokio::test]
async fn a_purge_lets_commits_through_and_goes_on_after_a_restart() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![project()]).await.unwrap();
    store.commit(a_bit_of_everything("kept")).await.unwrap();
    let kept = rows_left(&place.db());
    a_large_session(&store, "large").await;
    let all = rows_left(&place.db());
    store.commit(vec![Change::DeleteSession { id: "large".into(), at: time(2000) }]).await.unwrap();
    store.commit(vec![Change::AppendLog(chunk("kept", 4, 4))]).await.unwrap();
    let after_commit = rows_left(&place.db());
    assert!(after_commit > kept + 1, "a commit did not wait for the whole purge");
    drop(store);
    let interrupted = rows_left(&place.db());
    assert!(interrupted > kept + 1 && interrupted < all, "{interrupted} rows are left of {all}: the purge is in its middle");

    let store = place.open();
    assert!(store.session("large").await.unwrap().is_none());
    wait_until(Duration::from_secs(60), "the purge goes on", || rows_left(&place.db()) == kept + 1).unwrap();
    assert!(seen(&store, "kept").await.iter().all(|(_, count)| *count > 0), "what was not deleted is all there");
    let fts = &store.health().await[1];
    assert_eq!((fts.id.as_str(), fts.status.as_str()), ("fts_integrity", "ok"));
}

#[tokio::test]
async fn deletions_are_found_and_projects_listed_through_their_indexes() {
    let place = Place::new();
    drop(place.open());
    let db = Connection::open(place.db()).unwrap();
    let plan = |sql: &str| {
        let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    let deleted = plan("SELECT key FROM session WHERE deleted_at IS NOT NULL LIMIT 1");
    assert!(deleted.contains("session_deleted"), "{deleted}");
    let of_project = plan(
        "SELECT * FROM session s INDEXED BY session_project WHERE ifnull(s.pinned, 0) = 0 AND s.deleted_at IS NULL AND s.project_id = 'p'
         AND s.last_activity_at <= 5 ORDER BY s.last_activity_at DESC, s.id LIMIT 9",
    );
    assert!(!of_project.contains("TEMP B-TREE"), "{of_project}");
}
