//! The file: how it is made, and which files are refused and left as they are.

use crate::support::*;
use futures::FutureExt;
use galley_core::{Error, ReadStore, SessionStore, SqliteReader, SqliteStore};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn pragma(path: &Path, name: &str) -> String {
    Connection::open(path).unwrap().pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0)).map(|v| format!("{v:?}")).unwrap()
}

fn message(error: &Error) -> &str {
    match error {
        Error::DbUnavailable(message) => message,
        other => panic!("not `db_unavailable`: {other:?}"),
    }
}

/// A database with one session in it, closed.
async fn made() -> Place {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("s"))]).await.unwrap();
    drop(store);
    place
}

#[tokio::test]
async fn a_new_database_is_private_and_marked_as_ours() {
    let place = Place::new();
    let path = place.folder().join("data/galley/workbench.db");
    let store = SqliteStore::open(&path).unwrap();
    store.commit(vec![put(session("s"))]).await.unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        for file in contents(path.parent().unwrap()).keys() {
            assert_eq!(mode(file), 0o600, "{}", file.display());
        }
    }
    assert_eq!(pragma(&path, "application_id"), "Integer(1195461721)");
    assert_eq!(pragma(&path, "user_version"), "Integer(1)");
    assert_eq!(pragma(&path, "auto_vacuum"), "Integer(2)");
    assert_eq!(pragma(&path, "journal_mode"), "Text(\"wal\")");
    drop(store);
    assert!(SqliteStore::open(&path).unwrap().session("s").await.unwrap().is_some(), "and opens again");
    assert_eq!(contents(path.parent().unwrap()).len(), 1, "nothing else is left in the folder");
}

#[tokio::test]
async fn an_empty_file_and_a_left_over_draft_become_a_database() {
    let place = Place::new();
    fs::write(place.db(), b"").unwrap();
    fs::write(place.folder().join("workbench.db.new"), b"half a database").unwrap();
    let store = place.open();
    store.commit(vec![put(session("s"))]).await.unwrap();
    assert!(!place.folder().join("workbench.db.new").exists());
}

#[tokio::test]
async fn files_that_are_not_ours_newer_or_broken_are_refused_untouched() {
    /// What it is, how it gets so, and a part of what is said about it.
    type Case = (&'static str, fn(&Path), &'static str);
    let cases: [Case; 8] = [
        ("another program's", |path| pragma_set(path, "application_id = 77"), "another program"),
        ("no application id", |path| pragma_set(path, "application_id = 0"), "another program"),
        ("newer", |path| pragma_set(path, "user_version = 99"), "newer than this program's 1; use the Galley that wrote it"),
        ("no version", |path| pragma_set(path, "user_version = 0"), "which no Galley wrote"),
        ("negative version", |path| pragma_set(path, "user_version = -3"), "which no Galley wrote"),
        ("text", |path| fs::write(path, "To do: buy milk.\n".repeat(400)).unwrap(), "not a database"),
        ("truncated", |path| truncate(path, 2), "damaged"),
        ("cut in the header", |path| fs::write(path, &fs::read(path).unwrap()[..60]).unwrap(), "damaged"),
    ];
    for (name, spoil, expected) in cases {
        let place = made().await;
        spoil(&place.db());
        let before = contents(place.folder());
        let refusals = [SqliteStore::open(&place.db()).unwrap_err(), SqliteReader::open(&place.db()).unwrap_err()];
        for refusal in refusals {
            assert!(message(&refusal).contains(expected), "{name}: {refusal}");
            assert!(message(&refusal).contains("workbench.db"), "{name} names the file: {refusal}");
            assert_eq!(refusal.detail(), None, "{name}: trying again would not help");
        }
        assert!(contents(place.folder()) == before, "{name}: the folder changed");
    }
}

fn pragma_set(path: &Path, setting: &str) {
    let db = Connection::open(path).unwrap();
    db.execute_batch(&format!("PRAGMA journal_mode = DELETE; PRAGMA {setting}; PRAGMA journal_mode = WAL")).unwrap();
}

fn truncate(path: &Path, divisor: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() / divisor).unwrap();
}

#[tokio::test]
async fn a_newer_version_that_is_only_in_the_wal_is_seen_and_refused() {
    let origin = made().await;
    let place = Place::new();
    let newer = Connection::open(origin.db()).unwrap();
    newer.execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 99").unwrap();
    for name in ["workbench.db", "workbench.db-wal"] {
        fs::copy(origin.folder().join(name), place.folder().join(name)).unwrap();
    }
    let before = contents(place.folder());
    let refusal = SqliteStore::open(&place.db()).unwrap_err();
    assert!(message(&refusal).contains("newer"), "{refusal}");
    let mut after = contents(place.folder());
    after.remove(&place.folder().join("workbench.db-shm"));
    assert!(after == before, "the database or its WAL changed");
}

#[test]
fn folders_that_cannot_be_used_are_named() {
    let place = Place::new();
    let file = place.folder().join("file");
    fs::write(&file, "x").unwrap();
    let refusal = SqliteStore::open(&file.join("below/workbench.db")).unwrap_err();
    assert!(message(&refusal).contains("cannot create the data directory") && message(&refusal).contains("below"), "{refusal}");
    fs::create_dir(place.db()).unwrap();
    for refusal in [SqliteStore::open(&place.db()).unwrap_err(), SqliteReader::open(&place.db()).unwrap_err()] {
        assert!(message(&refusal).contains("is a directory"), "{refusal}");
    }
}

#[test]
fn a_reader_creates_nothing() {
    let place = Place::new();
    let refusal = SqliteReader::open(&place.db()).unwrap_err();
    assert!(message(&refusal).contains("no database at") && message(&refusal).contains("galley serve"), "{refusal}");
    fs::write(place.db(), b"").unwrap();
    let refusal = SqliteReader::open(&place.db()).unwrap_err();
    assert!(message(&refusal).contains("is empty"), "{refusal}");
    assert_eq!(contents(place.folder()).len(), 1);
}

#[tokio::test]
async fn a_reader_beside_a_writer_sees_each_commit_and_notices_it() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("s"))]).await.unwrap();
    let reader = SqliteReader::open(&place.db()).unwrap();
    let mut seen = reader.data_version().await.unwrap();
    for index in 1..=50 {
        assert_eq!(reader.data_version().await.unwrap(), seen, "nothing was committed");
        store.commit(vec![galley_core::Change::AppendLog(chunk("s", index, index))]).await.unwrap();
        let now = reader.data_version().await.unwrap();
        assert_ne!(now, seen);
        seen = now;
        assert_eq!(reader.last_index("s").await.unwrap(), index);
    }
    let checks = reader.health().await;
    let word = |id: &str| checks.iter().find(|check| check.id == id).unwrap().status.to_string();
    assert_eq!((word("db_readable"), word("fts_integrity")), ("ok".into(), "ok".into()));
}

#[tokio::test]
async fn a_reader_in_place_answers_without_waiting() {
    let place = made().await;
    let reader = SqliteReader::in_place(&place.db());
    assert!(reader.session("s").now_or_never().unwrap().unwrap().is_some());
    assert!(reader.session("t").now_or_never().unwrap().unwrap().is_none());
    let missing = SqliteReader::in_place(&place.folder().join("missing.db")).session("s").now_or_never();
    assert!(message(&missing.unwrap().unwrap_err()).contains("no database at"));
}

#[tokio::test]
async fn a_reader_needs_no_right_to_write_in_the_folder() {
    let place = made().await;
    // Whoever runs this: the shared-memory file cannot be made where a folder has its name.
    fs::create_dir(place.folder().join("workbench.db-shm")).unwrap();
    let reader = SqliteReader::open(&place.db()).unwrap();
    assert!(reader.session("s").await.unwrap().is_some());
    assert!(reader.data_version().await.is_ok());
}

#[tokio::test]
async fn health_notices_messages_that_search_cannot_find() {
    let place = Place::new();
    let store = place.open();
    store.commit(vec![put(session("s")), insert(user("s", "m1", "text")), insert(user("s", "m2", "text"))]).await.unwrap();
    Connection::open(place.db()).unwrap().execute("DELETE FROM message_text WHERE rowid = 1", []).unwrap();
    let checks = store.health().await;
    let fts = checks.iter().find(|check| check.id == "fts_integrity").unwrap();
    assert_eq!(fts.status.as_str(), "fail");
    assert_eq!(fts.detail.as_deref(), Some("1 messages indexed, but there are 2"));
}
