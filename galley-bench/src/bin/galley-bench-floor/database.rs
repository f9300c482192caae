//! The least that reading the database takes: open the file, run a query, print the rows.

use anyhow::Result;
use rusqlite::{Connection, OpenFlags};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;

fn open(database: &str) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Prints the first page of sessions.
pub fn read(database: &str) -> Result<()> {
    let connection = open(database)?;
    let mut statement = connection.prepare(
        "SELECT id, status, title, summary, last_activity_at FROM session WHERE deleted_at IS NULL
         ORDER BY ifnull(pinned, 0) DESC, last_activity_at DESC, id LIMIT 25",
    )?;
    let mut rows = statement.query([])?;
    let mut out = std::io::stdout().lock();
    while let Some(row) = rows.next()? {
        let text = |at| row.get_ref(at).and_then(|value| Ok(value.as_str_or_null()?.unwrap_or_default().to_owned()));
        writeln!(out, "{}\t{}\t{}\t{}\t{}", text(0)?, text(1)?, text(2)?, text(3)?, row.get::<_, i64>(4)?)?;
    }
    Ok(())
}

/// Listens, counts the sessions for whoever asks first, and ends.
pub fn answer(socket: &str, database: &str) -> Result<()> {
    let connection = open(database)?;
    let listener = UnixListener::bind(socket)?;
    let (mut stream, _) = listener.accept()?;
    std::fs::remove_file(socket)?;
    BufReader::new(&stream).read_until(b'\n', &mut Vec::new())?;
    let count: i64 = connection.query_row("SELECT count(*) FROM session WHERE deleted_at IS NULL", [], |row| row.get(0))?;
    writeln!(stream, "{count}")?;
    Ok(())
}
