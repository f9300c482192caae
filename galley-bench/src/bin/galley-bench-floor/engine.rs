//! An engine with nothing but the path of an event: a runner's standard output, a look at each
//! line, a row in a table, a watcher.

use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use serde::Deserialize;
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Rows in one transaction.
const BATCH: usize = 512;
/// Batches between two threads.
const QUEUE: usize = 16;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
}

/// Lines that were read together: each with its place and its kind.
type Batch = Vec<(i64, String, Vec<u8>)>;

/// Serves one watcher; what it writes goes to the runner as it is.
pub fn run(socket: &str, database: &str, runner: &str, session: &str) -> Result<()> {
    let connection = open(database)?;
    let listener = UnixListener::bind(socket)?;
    let (watcher, _) = listener.accept()?;
    let mut child = Command::new(runner).args(["--session-id", session]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no pipe")?;
    let stdout = child.stdout.take().context("no pipe")?;
    let commands = BufReader::new(watcher.try_clone()?);
    thread::spawn(move || commands.split(b'\n').try_for_each(|line| stdin.write_all(&[&line?[..], b"\n"].concat())));
    let (events, to_persist) = sync_channel(QUEUE);
    let (batches, to_publish) = sync_channel(QUEUE);
    let session = session.to_owned();
    thread::scope(|scope| {
        let reader = scope.spawn(|| read(stdout, &session, events));
        let writer = scope.spawn(|| persist(connection, &session, to_persist, batches));
        publish(watcher, to_publish)?;
        reader.join().ok().context("the reader panicked")??;
        writer.join().ok().context("the writer panicked")?
    })?;
    child.wait()?;
    Ok(())
}

fn open(database: &str) -> rusqlite::Result<Connection> {
    let connection = Connection::open(database)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         CREATE TABLE event (seq INTEGER PRIMARY KEY, session TEXT NOT NULL, kind TEXT NOT NULL, line BLOB NOT NULL) STRICT",
    )?;
    Ok(connection)
}

fn read(stdout: ChildStdout, session: &str, events: SyncSender<Batch>) -> Result<()> {
    let mut lines = BufReader::with_capacity(64 * 1024, stdout);
    let mut batch = Vec::new();
    for seq in 1.. {
        let mut line = Vec::new();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let envelope: Envelope<'_> = serde_json::from_slice(&line)?;
        ensure!(envelope.session_id.is_none_or(|id| id == session), "a line of another session");
        batch.push((seq, envelope.kind.into_owned(), line));
        if lines.buffer().is_empty() || batch.len() == BATCH {
            events.send(std::mem::take(&mut batch))?;
        }
    }
    Ok(())
}

fn persist(mut connection: Connection, session: &str, events: Receiver<Batch>, batches: SyncSender<Vec<u8>>) -> Result<()> {
    while let Ok(first) = events.recv() {
        let mut written = Vec::new();
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached("INSERT INTO event (seq, session, kind, line) VALUES (?1, ?2, ?3, ?4)")?;
            for (seq, kind, line) in std::iter::once(first).chain(events.try_iter().take(QUEUE)).flatten() {
                insert.execute((seq, session, &kind, &line))?;
                written.extend_from_slice(&line);
            }
        }
        transaction.commit()?;
        batches.send(written)?;
    }
    Ok(())
}

fn publish(mut watcher: UnixStream, batches: Receiver<Vec<u8>>) -> Result<()> {
    for batch in batches {
        watcher.write_all(&batch)?;
    }
    Ok(())
}
