//! Search: what is found, how it is shown, and that no input is syntax.

use crate::support::*;
use galley_core::{Change, ReadStore, RuntimeFilter, SearchQuery, SessionStore, SqliteStore};
use galley_protocol::socket::{MessageRole, Ranking, RuntimeKind, SearchHit, SessionStatus, Visibility};

fn of(query: &str) -> SearchQuery {
    SearchQuery { query: query.into(), limit: 20, ..Default::default() }
}

async fn hits(store: &SqliteStore, query: SearchQuery) -> Vec<SearchHit> {
    store.search(&query).await.unwrap()
}

async fn found(store: &SqliteStore, query: SearchQuery) -> Vec<String> {
    let mut ids: Vec<_> = hits(store, query).await.into_iter().map(|hit| hit.message_id).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn length_counts_in_characters() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("s")), insert(user("s", "m", "\u{4f60}\u{597d}\u{5417}? GPT \u{c4}\u{d6}\u{dc}"))]).await.unwrap();
    for (query, expected) in [
        ("", None),
        ("\u{4f60}", None),
        ("G", None),
        ("\u{4f60}\u{597d}", Some(Ranking::Recent)),
        ("gp", Some(Ranking::Recent)),
        ("\u{4f60}\u{597d}\u{5417}", Some(Ranking::Bm25)),
        ("gpt", Some(Ranking::Bm25)),
        ("\u{e4}\u{f6}\u{fc}", Some(Ranking::Bm25)),
        ("gpx", None),
    ] {
        let hits = hits(&store, of(query)).await;
        assert_eq!(hits.first().and_then(|hit| hit.ranking.clone()), expected, "{query}");
        for hit in hits {
            assert_eq!(hit.rank == 0.0, expected == Some(Ranking::Recent), "{query}: {}", hit.rank);
            assert!(hit.snippet.contains("<mark>"), "{query}: {}", hit.snippet);
            assert_eq!(hit.incomplete, None);
        }
    }
}

#[tokio::test]
async fn every_input_is_taken_literally() {
    let place = Place::new();
    let store = place.open();
    let bodies =
        ["say \"hello\" now", "a * b ** c", "NEAR(x y)", "100% sure_thing \\ back", "nul\0byte", "a AND b OR c NOT d", "{x} : ^y -z +w", "it''s"];
    let mut changes = vec![put(session("s"))];
    changes.extend(bodies.iter().enumerate().map(|(n, body)| insert(user("s", &format!("m{n}"), body))));
    store.commit(changes).await.unwrap();
    for (query, expected) in [
        ("\"hello\"", vec!["m0"]),
        ("\"\"\"", vec![]),
        ("***", vec![]),
        (" ** ", vec!["m1"]),
        ("NEAR(", vec!["m2"]),
        ("NEAR(x y)", vec!["m2"]),
        ("0%", vec!["m3"]),
        ("0% ", vec!["m3"]),
        ("%%", vec![]),
        ("__", vec![]),
        ("e_", vec!["m3"]),
        (" \\", vec!["m3"]),
        ("l\0b", vec![]),
        ("\0\0\0", vec![]),
        ("AND", vec!["m5"]),
        ("c NOT d", vec!["m5"]),
        (": ^", vec!["m6"]),
        ("body:x", vec![]),
        ("'; DROP TABLE message; --", vec![]),
        ("'s", vec!["m7"]),
    ] {
        assert_eq!(found(&store, of(query)).await, expected, "{query:?}");
    }
}

#[tokio::test]
async fn the_answer_is_searched_where_there_is_one() {
    let place = Place::new();
    let store = place.open();
    let mut answered = agent("s", "a1", "thinking aloud about walruses");
    answered.final_answer = Some("It is a seal.".into());
    let mut internal = user("s", "i", "walrus audit");
    internal.visibility = Visibility::Internal;
    let system = message("s", "sys", MessageRole::System, "walrus system");
    store
        .commit(vec![put(session("s")), insert(answered), insert(agent("s", "a2", "two walruses")), insert(internal), insert(system)])
        .await
        .unwrap();
    for query in ["walrus", "wa"] {
        assert_eq!(found(&store, of(query)).await, ["a2"], "{query}");
    }
    assert_eq!(found(&store, of("seal")).await, ["a1"]);

    let answer = |id: &str, text: &str| Change::SetFinalAnswer { id: id.into(), answer: text.into(), telemetry: None };
    store.commit(vec![answer("a2", "no animals at all"), answer("i", "walrus")]).await.unwrap();
    assert!(found(&store, of("walrus")).await.is_empty(), "the old text is gone from the index, and an internal row never enters it");
    assert_eq!(found(&store, of("animals")).await, ["a2"]);
    assert_eq!(store.health().await[1].status.as_str(), "ok");
}

#[tokio::test]
async fn snippets_are_html_safe() {
    let place = Place::new();
    let store = place.open();
    let body = format!("{}<img src=x onerror=alert(1)> needle & 'thread'{}", "a ".repeat(200), " b".repeat(200));
    store.commit(vec![put(session("s")), insert(user("s", "m", &body))]).await.unwrap();
    for query in ["needle", "ne", "<img"] {
        let hit = hits(&store, of(query)).await.remove(0);
        let bare = hit.snippet.replace("<mark>", "").replace("</mark>", "");
        assert!(!bare.contains(['<', '>', '\'', '"']), "{}", hit.snippet);
        assert!(hit.snippet.starts_with('\u{2026}') && hit.snippet.contains("<mark>"), "{}", hit.snippet);
    }
}

#[tokio::test]
async fn filters_narrow_the_search() {
    let place = Place::new();
    let store = place.open();
    let mut archived = session("old");
    archived.status = SessionStatus::Archived;
    let mut external = session("ext");
    external.runtime_kind = RuntimeKind::External;
    external.runtime_id = "mine".into();
    let mut changes = vec![put(session("s")), put(archived), put(external)];
    changes.extend(["s", "old", "ext"].map(|id| insert(user(id, &format!("m-{id}"), "common word"))));
    store.commit(changes).await.unwrap();
    for word in ["common", "wo"] {
        assert_eq!(found(&store, of(word)).await, ["m-ext", "m-s"], "archived sessions only when asked for");
        assert_eq!(found(&store, SearchQuery { archived: true, ..of(word) }).await, ["m-ext", "m-old", "m-s"]);
        assert_eq!(found(&store, SearchQuery { session_id: Some("s".into()), ..of(word) }).await, ["m-s"]);
        assert_eq!(found(&store, SearchQuery { session_id: Some("nobody".into()), ..of(word) }).await, [""; 0]);
        assert_eq!(found(&store, SearchQuery { runtime: RuntimeFilter::Kind(RuntimeKind::Managed), ..of(word) }).await, ["m-s"]);
        assert_eq!(found(&store, SearchQuery { runtime: RuntimeFilter::Name("mine".into()), ..of(word) }).await, ["m-ext"]);
        assert_eq!(found(&store, SearchQuery { project_id: Some("proj_1".into()), ..of(word) }).await, [""; 0]);
        assert_eq!(found(&store, SearchQuery { limit: 1, ..of(word) }).await.len(), 1);
    }
}

#[tokio::test]
async fn a_common_term_is_listed_newest_first_instead_of_scored() {
    let place = Place::new();
    let store = place.open();
    let mut changes = vec![put(session("s"))];
    changes.extend((0..600).map(|n| insert(user("s", &format!("m{n}"), &format!("everybody says this, number {n}")))));
    store.commit(changes).await.unwrap();
    let common = hits(&store, SearchQuery { limit: 3, ..of("everybody") }).await;
    let ids: Vec<_> = common.iter().map(|hit| hit.message_id.as_str()).collect();
    assert_eq!(ids, ["m599", "m598", "m597"]);
    assert!(common.iter().all(|hit| hit.ranking == Some(Ranking::Recent) && hit.rank == 0.0));
    let rare = hits(&store, of("number 42")).await;
    assert!(rare.iter().all(|hit| hit.ranking == Some(Ranking::Bm25) && hit.rank < 0.0));
    assert_eq!(rare[0].message_id, "m42");
}

#[tokio::test]
async fn a_long_body_is_found_by_its_head_and_tail() {
    let place = Place::new();
    let store = place.open();
    let body = format!("beginning {} ending", "\u{4f60}\u{597d}".repeat(50_000));
    store.commit(vec![put(session("s")), insert(user("s", "m", &body))]).await.unwrap();
    assert_eq!(found(&store, of("beginning")).await, ["m"]);
    assert_eq!(found(&store, of("ending")).await, ["m"]);
}
