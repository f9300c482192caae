//! Lists: order, pages, filters, and rows of a newer program.

use crate::support::*;
use galley_core::{Error, MessageQuery, MessageRow, ReadStore, RuntimeFilter, SessionQuery, SessionStore, SqliteStore};
use galley_protocol::socket::{Archived, RuntimeKind, SessionBrief, SessionStatus};
use rusqlite::Connection;

fn everything() -> SessionQuery {
    SessionQuery { runtime: RuntimeFilter::All, project_id: None, status: None, archived: Archived::All, limit: None, cursor: None }
}

fn ids(rows: &[SessionBrief]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

async fn list(store: &SqliteStore, query: SessionQuery) -> Vec<String> {
    store.sessions(&query).await.unwrap().rows.into_iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn pages_are_in_order_and_whole_even_when_times_are_equal() {
    let place = Place::new();
    let store = place.open();
    let mut rows: Vec<_> = (0..100u32)
        .map(|n| {
            let mut row = session(&format!("s{:02}", (n * 37) % 100));
            row.pinned = [None, Some(false), Some(true), None][n as usize % 4];
            row.last_activity_at = time(i64::from(n % 3));
            row
        })
        .collect();
    store.commit(rows.iter().cloned().map(put).collect()).await.unwrap();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.pinned.unwrap_or(false)), std::cmp::Reverse(row.last_activity_at), row.id.clone()));
    let expected: Vec<_> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(list(&store, everything()).await, expected);
    for limit in [1, 7, 25, 99, 100, 101] {
        let mut query = SessionQuery { limit: Some(limit), ..everything() };
        let mut paged = Vec::new();
        loop {
            let page = store.sessions(&query).await.unwrap();
            assert!(page.rows.len() <= limit as usize);
            paged.extend(page.rows);
            match page.next_cursor {
                Some(cursor) => query.cursor = Some(cursor),
                None => break,
            }
        }
        assert_eq!(ids(&paged), expected, "pages of {limit}");
    }
}

#[tokio::test]
async fn a_cursor_that_is_none_is_refused() {
    let place = Place::new();
    let store = place.open();
    for cursor in ["", "x", "2.5.s", "1.x.s", "1.5", "'; DROP TABLE session"] {
        let refusal = store.sessions(&SessionQuery { cursor: Some(cursor.into()), ..everything() }).await.unwrap_err();
        assert!(matches!(&refusal, Error::InvalidArgs { message, .. } if message.contains("nextCursor")), "{cursor}: {refusal:?}");
    }
}

#[tokio::test]
async fn filters_choose_by_status_runtime_and_project() {
    let place = Place::new();
    let store = place.open();
    Connection::open(place.db())
        .unwrap()
        .execute("INSERT INTO project (id, name, last_activity_at, created_at, updated_at) VALUES ('proj_1', 'p', 0, 0, 0)", [])
        .unwrap();
    let mut archived = session("archived");
    archived.status = SessionStatus::Archived;
    let mut failed = session("failed");
    failed.status = SessionStatus::Error;
    failed.project_id = Some("proj_1".into());
    let mut external = session("external");
    external.status = SessionStatus::Running;
    external.runtime_kind = RuntimeKind::External;
    external.runtime_id = "mine".into();
    store.commit(vec![put(session("idle")), put(archived), put(failed), put(external)]).await.unwrap();

    let active = SessionQuery { archived: Archived::Active, ..everything() };
    assert_eq!(list(&store, active.clone()).await, ["external", "failed", "idle"]);
    assert_eq!(list(&store, SessionQuery { archived: Archived::Archived, ..everything() }).await, ["archived"]);
    assert_eq!(list(&store, everything()).await.len(), 4);
    let of_status = |status| SessionQuery { status: Some(status), ..active.clone() };
    assert_eq!(list(&store, of_status(SessionStatus::Archived)).await, ["archived"], "the status implies archived ones");
    assert_eq!(list(&store, of_status(SessionStatus::Error)).await, ["failed"]);
    assert_eq!(list(&store, SessionQuery { runtime: RuntimeFilter::Kind(RuntimeKind::External), ..everything() }).await, ["external"]);
    assert_eq!(list(&store, SessionQuery { runtime: RuntimeFilter::Name("mine".into()), ..everything() }).await, ["external"]);
    assert_eq!(list(&store, SessionQuery { project_id: Some("proj_1".into()), ..everything() }).await, ["failed"]);
    let status = store.status().await.unwrap();
    assert_eq!((status.total, status.running, status.waiting_input, status.errored, status.live), (3, 1, 0, 1, None));
}

#[tokio::test]
async fn words_and_structures_of_a_newer_program_do_not_fail_a_list() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("a")), put(session("b")), insert(user("a", "m", "text"))]).await.unwrap();
    Connection::open(place.db())
        .unwrap()
        .execute_batch(
            "UPDATE session SET status = 'dreaming', runtime_kind = 'borrowed', origin = '{\"via\":', last_exit = '[]' WHERE id = 'a';
             UPDATE message SET role = 'choir', state = 'sung', tool_calls = 'not json'",
        )
        .unwrap();
    let rows = store.sessions(&everything()).await.unwrap().rows;
    assert_eq!(ids(&rows), ["a", "b"]);
    assert_eq!((rows[0].status.as_str(), rows[0].runtime_kind.as_str(), rows[0].origin.clone()), ("dreaming", "borrowed", None));
    let message = store.message("m").await.unwrap().unwrap();
    assert_eq!((message.role.as_str(), message.state.unwrap().as_str(), message.tool_calls), ("choir", "sung", None));
}

#[tokio::test]
async fn a_session_of_forty_thousand_messages_is_read_from_its_end() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("s")), put(session("other"))]).await.unwrap();
    for start in (0..40_000).step_by(4000) {
        let said = |n| insert(MessageRow { run: Some(n as u64 + 1), ..agent("s", &format!("m{n}"), "text") });
        store.commit((start..start + 4000).map(said).collect()).await.unwrap();
    }
    store.commit(vec![insert(user("other", "x", "text"))]).await.unwrap();
    let read = async |query: MessageQuery| store.messages(&query).await.unwrap().into_iter().map(|row| row.id).collect::<Vec<_>>();
    let all = MessageQuery { session_id: "s".into(), ..Default::default() };
    assert_eq!(read(all.clone()).await.len(), 40_000);
    let tail = MessageQuery { limit: Some(2), ..all.clone() };
    assert_eq!(read(tail.clone()).await, ["m39998", "m39999"]);
    assert_eq!(read(MessageQuery { before: Some("m39998".into()), ..tail.clone() }).await, ["m39996", "m39997"]);
    assert_eq!(read(MessageQuery { before: Some("m1".into()), ..tail.clone() }).await, ["m0"]);
    assert!(read(MessageQuery { before: Some("x".into()), ..tail }).await.is_empty(), "a message of another session");
    assert_eq!(store.history("s", None).await.unwrap().len(), 40_000);
}
