//! One Core for each database.

use crate::support::*;
use galley_core::{Error, InstanceLock};
use std::fs;

#[test]
fn a_second_core_is_refused_and_told_who_has_it() {
    let place = Place::new();
    let first = InstanceLock::acquire(&place.db()).unwrap();
    assert_eq!(first.path().file_name().unwrap(), "workbench.db.lock");
    match InstanceLock::acquire(&place.db()).unwrap_err() {
        refusal @ Error::AlreadyRunning { pid, .. } => {
            assert_eq!(pid, Some(std::process::id()));
            assert!(refusal.to_string().contains(&std::process::id().to_string()), "{refusal}");
        }
        other => panic!("{other:?}"),
    }
    assert!(InstanceLock::acquire(&place.folder().join("other.db")).is_ok(), "another database has a lock of its own");
    drop(first);
    assert!(InstanceLock::acquire(&place.db()).is_ok(), "released");
    assert!(place.folder().join("workbench.db.lock").exists(), "never unlinked");
}

#[test]
fn a_lock_file_left_by_a_dead_core_is_taken_over() {
    let place = Place::new();
    fs::write(place.folder().join("workbench.db.lock"), "999999999\nlonger than the next owner's").unwrap();
    let lock = InstanceLock::acquire(&place.db()).unwrap();
    assert_eq!(fs::read_to_string(lock.path()).unwrap(), std::process::id().to_string());
}

#[cfg(unix)]
#[test]
fn two_names_of_one_database_share_a_lock() {
    let place = Place::new();
    drop(place.open());
    let alias = place.folder().join("alias.db");
    std::os::unix::fs::symlink(place.db(), &alias).unwrap();
    let _first = InstanceLock::acquire(&place.db()).unwrap();
    assert!(matches!(InstanceLock::acquire(&alias), Err(Error::AlreadyRunning { .. })));
}

#[test]
fn a_lock_that_cannot_be_made_is_named() {
    let place = Place::new();
    fs::write(place.folder().join("file"), "x").unwrap();
    let refusal = InstanceLock::acquire(&place.folder().join("file/workbench.db")).unwrap_err();
    assert!(matches!(&refusal, Error::DbUnavailable(message) if message.contains("cannot lock")), "{refusal:?}");
}
