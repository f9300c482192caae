//! Search in message bodies.

use super::super::search_text;
use super::{session, session_key};
use crate::store::SearchQuery;
use galley_protocol::socket::{Ranking, SearchHit};
use rusqlite::types::Value;
use rusqlite::{Connection, ErrorCode, Result, params, params_from_iter};
use std::time::{Duration, Instant};

/// A search that takes longer returns what it has.
const DEADLINE: Duration = Duration::from_millis(200);
/// Two characters are looked for among the newest messages for this long.
const GLANCE: Duration = Duration::from_millis(5);
/// Terms of the index that two characters may stand for; with more, the hits may not be all.
const MAX_TERMS: usize = 500;
/// SQLite looks at the clock once in this many of its steps.
const STEPS_PER_LOOK: i32 = 2000;
/// Scoring visits every match, so it is for queries with few.
const MAX_SCORED: i64 = 500;
/// The index knows runs of three characters.
const INDEXED_CHARS: usize = 3;

/// The text that is searched, of a row `m`.
const BODY: &str = "ifnull(m.final_answer, m.content)";

/// Hits, best or newest first.
pub(in super::super) fn hits(db: &Connection, query: &SearchQuery) -> Result<Vec<SearchHit>> {
    hits_within(db, query, DEADLINE)
}

fn hits_within(db: &Connection, query: &SearchQuery, time: Duration) -> Result<Vec<SearchHit>> {
    let length = query.query.chars().count();
    // SQLite's patterns end at a NUL, so nothing can be looked for beyond one.
    if length < INDEXED_CHARS - 1 || query.query.contains('\0') || query.limit == 0 {
        return Ok(Vec::new());
    }
    let deadline = Instant::now() + time;
    stop_at(db, deadline)?;
    let found = if length < INDEXED_CHARS { pair(db, query, deadline) } else { indexed(db, query) };
    db.progress_handler(0, None::<fn() -> bool>)?;
    let Found { mut hits, whole } = found?;
    if !whole {
        for hit in &mut hits {
            hit.incomplete = Some(true);
        }
    }
    Ok(hits)
}

/// Interrupts what the connection does from `deadline` on.
fn stop_at(db: &Connection, deadline: Instant) -> Result<()> {
    db.progress_handler(STEPS_PER_LOOK, Some(move || Instant::now() >= deadline))
}

/// Hits, and whether they are all that was asked for.
struct Found {
    hits: Vec<SearchHit>,
    whole: bool,
}

/// Two characters, newest first. Most that occur at all occur in the newest messages; the others
/// are in few terms of the index, or in none.
fn pair(db: &Connection, query: &SearchQuery, deadline: Instant) -> Result<Found> {
    stop_at(db, deadline.min(Instant::now() + GLANCE))?;
    let newest = substring(db, query)?;
    if newest.whole {
        return Ok(newest);
    }
    stop_at(db, deadline)?;
    match terms(db, &query.query) {
        Ok(terms) if terms.is_empty() => Ok(Found { whole: newest.hits.is_empty(), ..newest }),
        Ok(terms) => {
            let found = by_index(db, query, &terms.join(" OR "), false)?;
            Ok(Found { whole: found.whole && terms.len() < MAX_TERMS, ..found })
        }
        Err(error) if is_interrupt(&error) => Ok(newest),
        Err(error) => Err(error),
    }
}

/// The terms of the index that begin with `start`, each as a phrase of a query.
fn terms(db: &Connection, start: &str) -> Result<Vec<String>> {
    db.execute_batch("CREATE VIRTUAL TABLE IF NOT EXISTS temp.message_terms USING fts5vocab ('main', 'message_text', 'row')")?;
    let start: String = start.chars().map(search_text::fold).collect();
    let mut statement = db.prepare_cached("SELECT term FROM temp.message_terms WHERE term >= ?1 AND term < ?2 LIMIT ?3")?;
    statement.query_map(params![start, format!("{start}{}", char::MAX), MAX_TERMS as i64], |row| Ok(phrase(row.get_ref(0)?.as_str()?)))?.collect()
}

/// Every body, newest first.
fn substring(db: &Connection, query: &SearchQuery) -> Result<Found> {
    let sql = format!(
        "SELECT s.id, m.id, {BODY}, 0.0 FROM message m CROSS JOIN session s ON s.key = m.session
         WHERE {BODY} LIKE ? ESCAPE '\\' AND m.visibility = 'visible' AND m.role <> 'system'"
    );
    let mut pattern = String::from("%");
    for c in query.query.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    collect(db, query, sql, pattern, "m.key DESC", &Ranking::Recent)
}

fn indexed(db: &Connection, query: &SearchQuery) -> Result<Found> {
    let phrase = phrase(&query.query);
    let counted: Result<i64> = db
        .prepare_cached(&format!("SELECT count(*) FROM (SELECT 1 FROM message_text WHERE message_text MATCH ?1 LIMIT {})", MAX_SCORED + 1))?
        .query_row([&phrase], |row| row.get(0));
    let few = match counted {
        Ok(count) => count <= MAX_SCORED,
        Err(error) if is_interrupt(&error) => false,
        Err(error) => return Err(error),
    };
    by_index(db, query, &phrase, few)
}

/// One quoted phrase: nothing in it is syntax.
fn phrase(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// What matches in the index: best first, or newest first.
fn by_index(db: &Connection, query: &SearchQuery, words: &str, scored: bool) -> Result<Found> {
    let (rank, order, ranking) =
        if scored { ("message_text.rank", "message_text.rank", Ranking::Bm25) } else { ("0.0", "message_text.rowid DESC", Ranking::Recent) };
    let sql = format!(
        "SELECT s.id, m.id, {BODY}, {rank} FROM message_text
         CROSS JOIN message m ON m.key = message_text.rowid CROSS JOIN session s ON s.key = m.session WHERE message_text MATCH ?"
    );
    collect(db, query, sql, words.to_owned(), order, &ranking)
}

/// Adds the filters, and takes hits until there are enough or the time is up.
fn collect(db: &Connection, query: &SearchQuery, mut sql: String, words: String, order: &str, ranking: &Ranking) -> Result<Found> {
    let mut values = vec![Value::from(words)];
    sql.push_str(" AND s.deleted_at IS NULL");
    if !query.archived {
        sql.push_str(" AND s.status <> 'archived'");
    }
    if let Some(session_id) = &query.session_id {
        let Some(session) = session_key(db, session_id)? else { return Ok(Found { hits: Vec::new(), whole: true }) };
        sql.push_str(" AND m.session = ?");
        values.push(session.into());
    }
    session::restrict(&mut sql, &mut values, &query.runtime, query.project_id.as_deref());
    sql.push_str(&format!(" ORDER BY {order} LIMIT {}", query.limit));
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut hits = Vec::new();
    loop {
        match rows.next() {
            Ok(Some(row)) => hits.push(SearchHit {
                session_id: row.get(0)?,
                message_id: row.get(1)?,
                snippet: search_text::snippet(row.get_ref(2)?.as_str()?, &query.query),
                rank: row.get(3)?,
                ranking: Some(ranking.clone()),
                incomplete: None,
            }),
            Ok(None) => return Ok(Found { hits, whole: true }),
            Err(error) if is_interrupt(&error) => return Ok(Found { hits, whole: false }),
            Err(error) => return Err(error),
        }
    }
}

fn is_interrupt(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted)
}

#[cfg(test)]
mod tests {
    use super::super::super::file;
    use super::*;

    #[test]
    fn a_search_that_runs_out_of_time_returns_what_it_has_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let db = file::open_writer(&folder.path().join("workbench.db")).unwrap();
        db.execute_batch(
            "BEGIN;
             INSERT INTO session (id, status, turn_count, last_activity_at, created_at, updated_at, run, run_first_index,
                                  runtime_kind, runtime_label, runtime_id, title)
             VALUES ('s', 'idle', 0, 0, 0, 0, 0, 0, 'managed', 'Galley', 'managed', 't');
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
             INSERT INTO message (id, session, role, visibility, rank, partial, created_at, content)
             SELECT 'm' || i, 1, 'user', 'visible', 0, 0, 0, CASE WHEN i IN (1, 20000) THEN 'a zebra' ELSE 'nothing' END FROM n;
             INSERT INTO message_text (rowid, body) SELECT key, content || char(10) FROM message;
             COMMIT",
        )
        .unwrap();
        let query = |words: &str| SearchQuery { query: words.into(), limit: 20_000, ..Default::default() };
        let ids = |hits: &[SearchHit]| hits.iter().map(|hit| hit.message_id.clone()).collect::<Vec<_>>();
        let whole = hits_within(&db, &query("nothing"), Duration::from_secs(60)).unwrap();
        assert_eq!((whole.len(), whole[0].incomplete), (19_998, None));
        let partial = hits_within(&db, &query("nothing"), Duration::ZERO).unwrap();
        assert!(partial.len() < 19_998 && partial.iter().all(|hit| hit.incomplete == Some(true)), "{} hits", partial.len());
        stop_at(&db, Instant::now()).unwrap();
        let newest = substring(&db, &query("ze")).unwrap();
        assert_eq!((ids(&newest.hits), newest.whole), (vec!["m20000".to_owned()], false));

        // Two characters: by the index where a look at the newest messages does not tell.
        for (words, expected) in [("ze", vec!["m20000", "m1"]), ("RA", vec!["m20000", "m1"]), ("qx", vec![])] {
            let hits = hits_within(&db, &query(words), Duration::ZERO).unwrap();
            assert_eq!(
                (ids(&hits), hits.iter().all(|hit| hit.incomplete.is_none())),
                (expected.iter().map(ToString::to_string).collect(), true),
                "{words}"
            );
        }
        assert_eq!(db.query_row("SELECT count(*) FROM message", [], |row| row.get::<_, i64>(0)).unwrap(), 20_000, "the deadline was for the search");
    }
}
