//! Old text deltas are removed from the log, in small steps, so that no commit waits long for it.
//!
//! What a run streamed is in its messages once it is settled. Of a session's earlier runs the log
//! keeps every other event; where deltas were, it keeps the span without lines. The latest run stays
//! whole.

use super::log_key;
use galley_protocol::ipc::EventLine;
use memchr::memmem;
use rusqlite::{Connection, OptionalExtension, Result, Transaction, TransactionBehavior, params};
use std::time::{Duration, Instant};

/// How long one step may hold the file.
const STEP: Duration = Duration::from_millis(10);
/// Sessions looked at at once.
const WINDOW: i64 = 64;
/// The kind of event that is removed.
const DELTA: &str = "turn_progress";

/// One pass over all sessions.
#[derive(Debug)]
pub(super) struct Compaction {
    /// Runs whose last message is older than this, in milliseconds since the epoch.
    before: i64,
    /// Sessions up to this key are done.
    done: i64,
    /// The newest session when the pass began.
    newest: i64,
}

impl Compaction {
    /// A pass over what is older than `before`.
    pub(super) fn begin(db: &Connection, before: i64) -> Result<Self> {
        let newest = db.query_row("SELECT ifnull(max(key), 0) FROM session", [], |row| row.get(0))?;
        Ok(Self { before, done: 0, newest })
    }

    /// Goes on for about as long as a step may take; `true` when something is left.
    pub(super) fn step(&mut self, db: &mut Connection) -> Result<bool> {
        let begun = Instant::now();
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        while self.done < self.newest && begun.elapsed() < STEP {
            self.go_on(&transaction)?;
        }
        transaction.commit()?;
        Ok(self.done < self.newest)
    }

    /// Compacts the next chunk, or looks for the next session that has one.
    fn go_on(&mut self, db: &Transaction<'_>) -> Result<()> {
        let until = self.newest.min(self.done + WINDOW);
        let Some(log) = self.next_log(db, until)? else {
            self.done = until;
            return Ok(());
        };
        match next_chunk(db, &log)? {
            Some(chunk) => {
                rewrite(db, &chunk)?;
                db.prepare_cached("INSERT OR REPLACE INTO event_log (key, last, run) VALUES (?1, ?2, 0)")?
                    .execute(params![log_key::compacted(log.session), chunk.last])?;
            }
            None => self.done = log.session,
        }
        Ok(())
    }

    /// The next log of which something may be removed.
    fn next_log(&self, db: &Connection, until: i64) -> Result<Option<Log>> {
        db.prepare_cached(
            "SELECT key, compacted, latest, old FROM (
                 SELECT s.key, ifnull((SELECT last FROM event_log WHERE key = s.key << ?4), 0) AS compacted, s.run_first_index AS latest,
                     (SELECT max(m.run) FROM message m
                      WHERE m.session = s.key AND m.role = 'agent' AND m.run < s.run AND m.created_at < ?3) AS old
                 FROM session s WHERE s.key > ?1 AND s.key <= ?2 AND s.run > 1 AND s.deleted_at IS NULL
             ) WHERE old IS NOT NULL AND compacted + 1 < latest ORDER BY key LIMIT 1",
        )?
        .query_row(params![self.done, until, self.before, log_key::INDEX_BITS], |row| {
            Ok(Log { session: row.get(0)?, compacted: row.get(1)?, latest: row.get(2)?, old: row.get(3)? })
        })
        .optional()
    }
}

/// A log and how much of it may be compacted.
struct Log {
    session: i64,
    /// Up to this index it is compacted.
    compacted: i64,
    /// Where the latest run begins.
    latest: i64,
    /// The last run that is old enough.
    old: i64,
}

struct Chunk {
    key: i64,
    last: i64,
    run: i64,
    lines: Option<Vec<u8>>,
}

fn next_chunk(db: &Connection, log: &Log) -> Result<Option<Chunk>> {
    db.prepare_cached("SELECT key, last, run, lines FROM event_log WHERE key > ?1 AND key < ?2 ORDER BY key LIMIT 1")?
        .query_row(params![log_key::base(log.session) | log.compacted, log_key::base(log.session) | log.latest], |row| {
            Ok(Chunk { key: row.get(0)?, last: row.get(1)?, run: row.get(2)?, lines: row.get(3)? })
        })
        .optional()
        .map(|chunk| chunk.filter(|chunk| chunk.run <= log.old && chunk.last < log.latest))
}

/// Replaces a chunk by the spans of its events that stay and the spans that go.
fn rewrite(db: &Connection, chunk: &Chunk) -> Result<()> {
    let Some(lines) = &chunk.lines else { return Ok(()) };
    let delta = memmem::Finder::new(DELTA);
    let mut spans: Vec<Span<'_>> = Vec::new();
    for (key, line) in (chunk.key..).zip(lines.split(|byte| *byte == b'\n')) {
        let goes =
            (delta.find(line).is_some() || memchr::memchr(b'\\', line).is_some()) && EventLine::peek(line).is_ok_and(|event| event.kind == DELTA);
        match spans.last_mut() {
            Some(span) if span.kept.is_empty() == goes => {
                span.length += 1;
                span.kept.extend((!goes).then_some(line));
            }
            _ => spans.push(Span { key, length: 1, kept: (!goes).then_some(line).into_iter().collect() }),
        }
    }
    if spans.iter().all(|span| !span.kept.is_empty()) {
        return Ok(());
    }
    db.prepare_cached("DELETE FROM event_log WHERE key = ?1")?.execute([chunk.key])?;
    for span in spans {
        let last = log_key::first_index(span.key) as i64 + span.length - 1;
        if span.kept.is_empty() && widen(db, chunk, &span, last)? {
            continue;
        }
        let lines = (!span.kept.is_empty()).then(|| span.kept.join(&b'\n'));
        db.prepare_cached("INSERT INTO event_log (key, last, run, lines) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![span.key, last, chunk.run, lines])?;
    }
    Ok(())
}

/// Consecutive events that all stay, or all go.
struct Span<'a> {
    /// The key of a chunk that begins with the first one.
    key: i64,
    length: i64,
    /// Their lines, if they stay.
    kept: Vec<&'a [u8]>,
}

/// Adds a span that goes to the one before it, if that is one of the same run; `false` if not.
fn widen(db: &Connection, chunk: &Chunk, span: &Span<'_>, last: i64) -> Result<bool> {
    let before = log_key::first_index(span.key) as i64 - 1;
    if span.key != chunk.key || before == 0 {
        return Ok(false);
    }
    let widened = db
        .prepare_cached(
            "UPDATE event_log SET last = ?1
             WHERE key = (SELECT max(key) FROM event_log WHERE key > ?2 AND key < ?3) AND last = ?4 AND run = ?5 AND lines IS NULL",
        )?
        .execute(params![last, log_key::base(log_key::session(span.key)), span.key, before, chunk.run])?;
    Ok(widened > 0)
}
