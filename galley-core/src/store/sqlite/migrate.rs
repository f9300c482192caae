//! The versions of the schema. The file's `user_version` counts the migrations it has had.

use super::file::{create_private_file, sibling};
use super::{refused, sqlite_error};
use crate::error::Error;
use crate::time::Timestamp;
use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};
use std::fs;
use std::path::{Path, PathBuf};

/// Every migration, in order. Never edited once released; new ones go to the end.
const MIGRATIONS: &[M<'static>] = &[M::up(include_str!("../migrations/001_initial.sql"))];

/// Backups of earlier versions that are kept.
const BACKUPS_KEPT: usize = 3;

/// The version this program reads and writes.
pub(super) fn latest() -> i64 {
    MIGRATIONS.len() as i64
}

/// Brings the schema up to date, in one transaction.
pub(super) fn to_latest(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    apply(connection, path, MIGRATIONS)
}

fn apply(connection: &mut Connection, path: &Path, migrations: &[M<'_>]) -> Result<(), Error> {
    Migrations::from_slice(migrations)
        .to_latest(connection)
        .map_err(|error| refused(format!("cannot bring the database {} up to date, it stays as it was: {error}", path.display())))
}

/// Keeps a copy of the file as it is before a migration, and removes the oldest copies.
pub(super) fn back_up(connection: &Connection, path: &Path, version: i64) -> Result<PathBuf, Error> {
    let copy = sibling(path, &format!("{BACKUP_MARK}{:013}-v{version}", Timestamp::now().as_millis()));
    create_private_file(&copy).map_err(|error| refused(format!("cannot create the backup {}: {error}", copy.display())))?;
    let name = copy.to_str().ok_or_else(|| refused(format!("the path {} is not valid UTF-8", copy.display())))?;
    connection.execute("VACUUM INTO ?1", [name]).map_err(|error| {
        // An incomplete copy is worse than none; the error below is the one to report.
        let _ = fs::remove_file(&copy);
        sqlite_error(path, error)
    })?;
    for old in backups(path).into_iter().rev().skip(BACKUPS_KEPT) {
        if let Err(error) = fs::remove_file(&old) {
            tracing::warn!(file = %old.display(), %error, "an old backup could not be removed");
        }
    }
    Ok(copy)
}

const BACKUP_MARK: &str = ".backup-";

/// The backups beside the file, oldest first.
fn backups(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!("{}{BACKUP_MARK}", name.to_string_lossy());
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    /// A database of version 1 with a row in it.
    fn version_one(folder: &Path) -> (PathBuf, Connection) {
        let path = folder.join("workbench.db");
        let connection = file::open_writer(&path).unwrap();
        connection.execute("INSERT INTO setting VALUES ('a', '1')", []).unwrap();
        (path, connection)
    }

    fn version(connection: &Connection) -> i64 {
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    }

    #[test]
    fn every_migration_file_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/migrations");
        assert_eq!(fs::read_dir(folder).unwrap().count() as i64, latest());
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut connection) = version_one(folder.path());
        let failing = [MIGRATIONS[0].clone(), M::up("DELETE FROM setting; CREATE TABLE extra (x); INSERT INTO nowhere VALUES (1);")];
        let refusal = apply(&mut connection, &path, &failing).unwrap_err();
        assert!(matches!(&refusal, Error::DbUnavailable(message) if message.contains("stays as it was")), "{refusal:?}");
        assert_eq!(version(&connection), 1);
        assert_eq!(connection.query_row("SELECT count(*) FROM setting", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
        let good = [MIGRATIONS[0].clone(), M::up("CREATE TABLE extra (x)")];
        apply(&mut connection, &path, &good).unwrap();
        assert_eq!(version(&connection), 2);
    }

    #[test]
    fn the_last_three_backups_are_kept_whole_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let (path, connection) = version_one(folder.path());
        fs::write(folder.path().join("other.db.backup-1"), "not ours").unwrap();
        let mut made = Vec::new();
        for n in 0..5 {
            connection.execute("INSERT INTO setting VALUES (?1, '1')", [format!("row {n}")]).unwrap();
            let copy = loop {
                // Two in one millisecond would share a name; the second is refused.
                if let Ok(copy) = back_up(&connection, &path, 1) {
                    break copy;
                }
            };
            made.push(copy);
        }
        assert_eq!(backups(&path), made[2..]);
        assert!(folder.path().join("other.db.backup-1").exists());
        let copy = Connection::open(&made[4]).unwrap();
        assert_eq!(copy.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
        assert_eq!(copy.query_row("SELECT count(*) FROM setting", [], |row| row.get::<_, i64>(0)).unwrap(), 6);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&made[4]).unwrap().permissions()) & 0o777, 0o600);
    }
}
