//! The event log: gap-free, and read from any index.

use crate::support::*;
use galley_core::{Change, Error, LogChunk, ReadStore, SessionStore, SqliteStore};

/// The events of a session from an index on, read page by page.
async fn events(store: &SqliteStore, session: &str, mut from: u64, page_bytes: usize) -> Vec<(u64, String)> {
    let mut events = Vec::new();
    loop {
        let page = store.log(session, from, page_bytes).await.unwrap();
        let Some(end) = page.last() else { return events };
        let next = end.last + 1;
        for LogChunk { first, last, lines, .. } in page {
            let lines = String::from_utf8(lines.unwrap().to_vec()).unwrap();
            let lines: Vec<_> = lines.split('\n').map(str::to_owned).collect();
            assert_eq!(lines.len() as u64, last - first + 1);
            events.extend((first..).zip(lines).filter(|(index, _)| *index >= from));
        }
        from = next;
    }
}

#[tokio::test]
async fn every_index_is_read_exactly_once_from_any_start() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("a")), put(session("b")), put(session("empty"))]).await.unwrap();
    let mut next = 1;
    for size in [1, 3, 1, 10, 2, 7, 1, 1, 30, 4] {
        let last = next + size - 1;
        store.commit(vec![Change::AppendLog(chunk("a", next, last)), Change::AppendLog(chunk("b", next, last))]).await.unwrap();
        next = last + 1;
    }
    for from in 1..next {
        for page_bytes in [1, 100, 1 << 20] {
            let read = events(&store, "a", from, page_bytes).await;
            let expected: Vec<_> = (from..next).map(|index| (index, format!(r#"{{"kind":"x","n":{index}}}"#))).collect();
            assert_eq!(read, expected, "from {from}, pages of {page_bytes}");
        }
    }
    assert_eq!(store.log("a", 1, 0).await.unwrap().len(), 1, "a page holds one chunk at least");
    for (session, from) in [("a", next), ("a", u64::MAX), ("empty", 1), ("nobody", 1)] {
        assert!(store.log(session, from, 1000).await.unwrap().is_empty(), "{session} from {from}");
    }
    assert_eq!(store.log("a", 0, 1 << 20).await.unwrap().len(), 10, "0 is before the first");
    assert_eq!(store.last_index("a").await.unwrap(), next - 1);
    assert_eq!(store.last_index("empty").await.unwrap(), 0);
}

#[tokio::test]
async fn a_chunk_that_does_not_follow_is_refused() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("s")), Change::AppendLog(chunk("s", 1, 4))]).await.unwrap();
    for (first, last) in [(6, 7), (4, 5), (1, 1), (5, 4), (0, 0)] {
        let mut wrong = chunk("s", 5, 5);
        (wrong.first, wrong.last) = (first, last);
        let refusal = store.commit(vec![Change::AppendLog(wrong)]).await.unwrap_err();
        assert!(matches!(&refusal, Error::Internal(message) if message.contains("next index is 5")), "{first}..={last}: {refusal:?}");
    }
    let nobody = store.commit(vec![Change::AppendLog(chunk("nobody", 1, 1))]).await.unwrap_err();
    assert!(matches!(&nobody, Error::Internal(message) if message.contains("no session nobody")), "{nobody:?}");
    store.commit(vec![Change::AppendLog(chunk("s", 5, 5)), Change::AppendLog(chunk("s", 6, 9))]).await.unwrap();
    assert_eq!(store.last_index("s").await.unwrap(), 9);
}

#[tokio::test]
async fn a_compacted_span_keeps_its_place() {
    let place = Place::new();
    let store = place.open();
    let mut gone = chunk("s", 3, 6);
    gone.lines = None;
    store
        .commit(vec![put(session("s")), Change::AppendLog(chunk("s", 1, 2)), Change::AppendLog(gone), Change::AppendLog(chunk("s", 7, 8))])
        .await
        .unwrap();
    let page = store.log("s", 4, 1 << 20).await.unwrap();
    let spans: Vec<_> = page.iter().map(|chunk| (chunk.first, chunk.last, chunk.lines.is_some())).collect();
    assert_eq!(spans, [(3, 6, false), (7, 8, true)]);
}
