//! Reads that must not grow with what there is to read.

use super::Effort;
use super::core_process::CoreProcess;
use super::figure::{Figure, Target};
use super::place::{Place, message, session_id};
use super::samples::Samples;
use super::wire::request;
use anyhow::{Result, ensure};
use galley_core::{Change, LogChunk, ReadStore, SqliteReader, Timestamp};
use galley_protocol::socket::MessageRole;
use serde_json::json;
use std::time::{Duration, Instant};

/// Events of the long log, those of one chunk, and those of a page.
const EVENTS: usize = 200_000;
const CHUNK: usize = 50;
const PAGE: usize = 100;
/// Length of an event's line, and of a message of the long transcript, in bytes.
const EVENT: usize = 300;
const MESSAGE: usize = 10_000;

/// Times of single reads in a large database.
pub fn run(effort: Effort) -> Result<Vec<Figure>> {
    let sessions = effort.times(100_000);
    let messages = effort.times(100_000);
    let place = Place::new()?;
    place.configure()?;
    place.fill(sessions)?;
    // Lines of a system's: they are shown like others, and cost no search index.
    let transcript = |number| {
        [message(&session_id(0), &format!("msg_long_{number}"), Timestamp::from_millis(0), MessageRole::System, &"long ".repeat(MESSAGE / 5))]
    };
    place.write((0..messages).map(transcript))?;
    place.write((0..EVENTS / CHUNK).map(|number| [chunk(number)]))?;
    let pages = Samples::from_iter(pages(&place, effort.times(5_000))?);

    let core = CoreProcess::start(&place)?;
    let mut wire = core.connect()?;
    let mut timed = |line: Vec<u8>| -> Result<Samples> {
        let time = |_| {
            let begun = Instant::now();
            let answer = wire.exchange(&line)?;
            ensure!(answer.starts_with(b"{\"ok\":true"), "{}", String::from_utf8_lossy(answer));
            Ok(begun.elapsed())
        };
        (0..effort.times(1_000)).map(time).collect::<Result<Vec<Duration>>>().map(Samples::from_iter)
    };
    let list = timed(request("sessions.list", &json!({ "runtime": "all", "limit": 25 })))?;
    let show = timed(request("session.show", &json!({ "sessionId": session_id(0), "tail": 20 })))?;
    let transcript = messages * MESSAGE / 1_000_000;
    Ok(vec![
        Figure::new(format!("list 25 of {sessions} sessions, p50"), "ms", list.millis(50)).target(Target::AtMost(2.0)),
        Figure::new("100 events from any index, p50", "µs", pages.micros(50)).target(Target::AtMost(100.0)),
        Figure::new(format!("show --tail 20 of {transcript} MB, p50"), "ms", show.millis(50)).target(Target::AtMost(5.0)),
    ])
}

/// The next events of the second session.
fn chunk(number: usize) -> Change {
    let line = format!(r#"{{"kind":"turn_progress","delta":"{}"}}"#, "x".repeat(EVENT - 35));
    // Three are there already.
    let first = (number * CHUNK) as u64 + 4;
    Change::AppendLog(LogChunk {
        session_id: session_id(1),
        first,
        last: first + CHUNK as u64 - 1,
        run: 1,
        lines: Some(vec![line; CHUNK].join("\n").into()),
    })
}

/// Pages of the log as a watcher that is far behind reads them: from the store, 100 events each.
fn pages(place: &Place, count: usize) -> Result<Vec<Duration>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let reader = SqliteReader::open(&place.database())?;
    runtime.block_on(async {
        let mut samples = Vec::with_capacity(count);
        for number in 0..count {
            // Steps by a prime: all over the log, in the same order every time.
            let from = (number * 7919 % (EVENTS - PAGE)) as u64 + 1;
            let begun = Instant::now();
            let page = reader.log(&session_id(1), from, PAGE * EVENT).await?;
            samples.push(begun.elapsed());
            ensure!(
                page.first().is_some_and(|chunk| chunk.first <= from)
                    && page.last().is_some_and(|chunk| chunk.last >= from + PAGE as u64 - CHUNK as u64),
                "a page is missing events"
            );
        }
        Ok(samples)
    })
}
