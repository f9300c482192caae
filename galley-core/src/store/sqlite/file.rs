//! The database file: whose it is, how it comes into being, how connections to it are opened.

use super::{migrate, refused};
use crate::error::Error;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// "GALY" in the file's header.
pub(super) const APPLICATION_ID: i32 = 0x4741_4C59;

/// What every database file begins with, and how long its header is.
const MAGIC: &[u8] = b"SQLite format 3\0";
const HEADER: usize = 100;

/// How long a connection waits for a lock before it reports `busy`.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens the file for the writer: creates or migrates it when that is called for. A file that is
/// not ours, newer than this program or broken is refused and left as it is.
pub(super) fn open_writer(path: &Path) -> Result<Connection, Error> {
    if let Some(folder) = path.parent() {
        create_private_dir(folder).map_err(|error| refused(format!("cannot create the data directory {}: {error}", folder.display())))?;
    }
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Err(refused(format!("{} is a directory; the database must be a file", path.display()))),
        Ok(meta) if meta.len() > 0 => {}
        Ok(_) => create(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path)?,
        Err(error) => return Err(refused(format!("cannot open the database {}: {error}", path.display()))),
    }
    let version = inspect(path)?;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    if version < migrate::latest() {
        migrate::back_up(&connection, path, version)?;
        migrate::to_latest(&mut connection, path)?;
    }
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(|error| super::sqlite_error(path, error))?;
    if mode != "wal" {
        return Err(refused(format!("the file system of {} does not support SQLite's WAL mode; keep the database on a local disk", path.display())));
    }
    connection
        .execute_batch("PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864")
        .map_err(|error| super::sqlite_error(path, error))?;
    Ok(connection)
}

/// Opens the file for reading only. Nothing is created, migrated or changed.
pub(super) fn open_reader(path: &Path) -> Result<Connection, Error> {
    let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(|connection| match header(&connection) {
        Ok(_) => Ok(connection),
        Err(error) => Err(super::sqlite_error(path, error)),
    });
    let connection = match opened {
        // Where the directory cannot be written and nobody left a WAL, the file is all there is.
        Err(_) if !has_wal(path) => connect_immutable(path)?,
        other => other?,
    };
    connection.execute_batch("PRAGMA cache_size = -1024").map_err(|error| super::sqlite_error(path, error))?;
    Ok(connection)
}

/// Refuses a file that a reader cannot use, and says what would help.
pub(super) fn check_for_reader(path: &Path) -> Result<(), Error> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Err(refused(format!("{} is a directory; the database must be a file", path.display()))),
        Ok(meta) if meta.len() == 0 => return Err(refused(format!("the database {} is empty; start `galley serve` once", path.display()))),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(refused(format!("there is no database at {}; start `galley serve` once, or name another with --db", path.display())));
        }
        Err(error) => return Err(refused(format!("cannot open the database {}: {error}", path.display()))),
    }
    let version = inspect(path)?;
    if version < migrate::latest() {
        return Err(refused(format!(
            "the database {} has version {version}, older than this program's {}; start `galley serve` once, it brings the file up to date",
            path.display(),
            migrate::latest()
        )));
    }
    Ok(())
}

/// Creates `folder` and what is missing above it, for this user only.
pub(crate) fn create_private_dir(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates an empty file for this user only.
pub(super) fn create_private_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Makes a new database under another name and moves it into place: nobody ever meets half of one.
fn create(path: &Path) -> Result<(), Error> {
    let draft = sibling(path, ".new");
    let failed = |error: &dyn std::fmt::Display| refused(format!("cannot create the database {}: {error}", path.display()));
    for leftover in [draft.clone(), sibling(&draft, "-journal")] {
        if let Err(error) = fs::remove_file(leftover)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(failed(&error));
        }
    }
    create_private_file(&draft).map_err(|error| failed(&error))?;
    let mut connection = connect(&draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection
        .execute_batch(&format!("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = {APPLICATION_ID}"))
        .map_err(|error| super::sqlite_error(path, error))?;
    migrate::to_latest(&mut connection, path)?;
    connection.close().map_err(|(_, error)| super::sqlite_error(path, error))?;
    fs::rename(&draft, path).map_err(|error| failed(&error))
}

/// The schema version of an existing file of ours.
///
/// The first look reads the file's header, which takes no lock, replays nothing and leaves no file
/// behind. Where a WAL is waiting it holds the newer truth: then a read-only connection, which sees
/// it too, has the last word.
fn inspect(path: &Path) -> Result<i64, Error> {
    let header = match header_of_file(path) {
        Ok(header) if header.application_id != APPLICATION_ID => header,
        _ if has_wal(path) => {
            let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            header(&connection).map_err(|error| unreadable(path, &error))?
        }
        other => other?,
    };
    if header.application_id != APPLICATION_ID {
        return Err(refused(format!(
            "{} is a database of another program (application id {:#010x}); name another file with --db or GALLEY_DB_PATH",
            path.display(),
            header.application_id
        )));
    }
    if header.version > migrate::latest() {
        return Err(refused(format!(
            "the database {} has version {}, newer than this program's {}; use the Galley that wrote it, or a later one",
            path.display(),
            header.version,
            migrate::latest()
        )));
    }
    if header.version < 1 {
        return Err(refused(format!("the database {} has version {}, which no Galley wrote; restore a backup", path.display(), header.version)));
    }
    Ok(header.version)
}

struct Header {
    application_id: i32,
    version: i64,
}

/// The header as it is in the file (SQLite's file format, §1.3). Read plainly, because a connection
/// of its own would cost a command that asks one thing as much as the answer does.
fn header_of_file(path: &Path) -> Result<Header, Error> {
    let cannot_read = |error: io::Error| refused(format!("cannot read the database {}: {error}", path.display()));
    let file = File::open(path).map_err(cannot_read)?;
    let length = file.metadata().map_err(cannot_read)?.len();
    let mut bytes = Vec::with_capacity(HEADER);
    file.take(HEADER as u64).read_to_end(&mut bytes).map_err(cannot_read)?;
    if !bytes.starts_with(MAGIC) {
        return Err(not_a_database(path));
    }
    let Some(bytes) = bytes.first_chunk::<HEADER>() else {
        return Err(damaged(path, &"it ends within its header"));
    };
    let number = |at: usize| i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let page_size = match u16::from_be_bytes([bytes[16], bytes[17]]) {
        1 => 65_536,
        size => i64::from(size),
    };
    // The count of pages is valid if it was written with the last change.
    let pages = if number(24) == number(92) { i64::from(number(28)) } else { 0 };
    if i64::try_from(length).is_ok_and(|length| pages * page_size > length) {
        return Err(damaged(path, &"it is shorter than its header says"));
    }
    Ok(Header { application_id: number(68), version: i64::from(number(60)) })
}

fn header(connection: &Connection) -> rusqlite::Result<Header> {
    // Reading the schema makes SQLite check the header against the file's size.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    Ok(Header {
        application_id: connection.pragma_query_value(None, "application_id", |row| row.get(0))?,
        version: connection.pragma_query_value(None, "user_version", |row| row.get(0))?,
    })
}

fn unreadable(path: &Path, error: &rusqlite::Error) -> Error {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error.sqlite_error_code() {
        Some(NotADatabase) => not_a_database(path),
        Some(DatabaseCorrupt) => damaged(path, error),
        _ => refused(format!("cannot read the database {}: {error}", path.display())),
    }
}

fn not_a_database(path: &Path) -> Error {
    refused(format!("{} is not a database; name another file with --db or GALLEY_DB_PATH", path.display()))
}

fn damaged(path: &Path, how: &dyn std::fmt::Display) -> Error {
    refused(format!("the database {} is damaged ({how}); restore a backup", path.display()))
}

pub(super) fn connect(path: &Path, access: OpenFlags) -> Result<Connection, Error> {
    let open = || {
        let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    open().map_err(|error| super::sqlite_error(path, error))
}

fn connect_immutable(path: &Path) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("{}?immutable=1", uri(path)), flags).map_err(|error| super::sqlite_error(path, error))
}

/// The path as a `file:` URI.
fn uri(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    #[cfg(unix)]
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec();
    #[cfg(windows)]
    let bytes = format!("/{}", path.to_string_lossy().replace('\\', "/")).into_bytes();
    let mut uri = String::from("file:");
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b':' => uri.push(char::from(byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

/// Whether committed pages may be waiting beside the file.
fn has_wal(path: &Path) -> bool {
    fs::metadata(sibling(path, "-wal")).is_ok_and(|meta| meta.len() > 0)
}

/// The file of that name plus `suffix`.
pub(crate) fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
