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
