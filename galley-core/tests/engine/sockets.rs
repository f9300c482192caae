//! The socket's place: stale, taken, not ours to take, out of descriptors.

use crate::engine::{Engine, builder, socket};
use crate::second_process::SecondCore;
use crate::wire::{Wire, ask};
use galley_core::{Core, Error};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use tempfile::TempDir;

/// A Core on a database of its own and the socket `at`.
async fn start_at(at: &Path) -> (TempDir, Result<Core, Error>) {
    let dir = tempfile::tempdir().unwrap();
    let core = builder(&dir).socket(at).start().await;
    (dir, core)
}

fn refusal(result: Result<Core, Error>) -> Error {
    result.err().expect("refused")
}

#[tokio::test]
async fn the_socket_is_for_its_user_alone_and_goes_with_its_core() {
    let engine = Engine::start().await;
    let path = socket(&engine.dir);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let dir = engine.stop().await;
    assert!(!socket(&dir).exists());
}

#[tokio::test]
async fn a_stale_socket_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    drop(UnixListener::bind(socket(&dir)).unwrap());
    assert!(socket(&dir).exists());
    let engine = Engine::start_in(dir).await;
    assert_eq!(ask(&socket(&engine.dir), "ping", json!({})).await["ok"], true);
    engine.stop().await;
}

#[tokio::test]
async fn a_socket_that_somebody_listens_on_is_refused_by_name() {
    let engine = Engine::start().await;
    let taken = socket(&engine.dir);
    let (dir, second) = start_at(&taken).await;
    let error = refusal(second);
    assert!(matches!(error, Error::DbUnavailable(_)));
    assert!(error.to_string().contains(taken.to_str().unwrap()) && error.to_string().contains("GALLEY_SOCKET_PATH"), "{error}");
    assert!(!dir.path().join("workbench.db").exists(), "nothing was begun");
    assert_eq!(ask(&taken, "ping", json!({})).await["ok"], true, "the first is not disturbed");

    // Somebody who listens and accepts nobody counts as well.
    let place = tempfile::tempdir().unwrap();
    let silent = UnixListener::bind(place.path().join("silent.sock")).unwrap();
    let (_dir, second) = start_at(&place.path().join("silent.sock")).await;
    assert!(refusal(second).to_string().contains("in use"));
    drop(silent);
    engine.stop().await;
}

#[tokio::test]
async fn what_is_not_a_socket_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "precious").unwrap();
    for (path, part) in [(file.clone(), "no socket"), (place.path().to_owned(), "no socket"), (place.path().join("missing/x.sock"), "cannot listen")]
    {
        let (_dir, core) = start_at(&path).await;
        let error = refusal(core).to_string();
        assert!(error.contains(part) && error.contains(path.to_str().unwrap()), "{error}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "precious");
}

#[tokio::test]
async fn an_over_long_path_is_refused_by_name_and_limit() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s".repeat(120));
    let (_dir, core) = start_at(&path).await;
    let error = refusal(core);
    assert!(matches!(error, Error::InvalidArgs { .. }));
    assert!(error.to_string().contains(path.to_str().unwrap()) && error.to_string().contains("bytes"), "{error}");
}

/// As root the socket is given to somebody else; otherwise root's own `/` stands for one.
#[tokio::test]
async fn what_belongs_to_another_user_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("theirs.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let theirs = if std::os::unix::fs::chown(&path, Some(54_321), None).is_ok() { path.clone() } else { Path::new("/").to_owned() };
    drop(listener);
    let owner = fs::metadata(&theirs).unwrap().uid();
    let (_dir, core) = start_at(&theirs).await;
    let error = refusal(core).to_string();
    assert!(error.contains(&format!("user {owner}")) && error.contains("GALLEY_SOCKET_PATH"), "{error}");
    assert!(theirs.exists());
}

#[tokio::test]
async fn a_core_takes_away_only_its_own_socket() {
    let engine = Engine::start().await;
    let path = socket(&engine.dir);
    fs::remove_file(&path).unwrap();
    let somebody = UnixListener::bind(&path).unwrap();
    let dir = engine.stop().await;
    assert!(socket(&dir).exists(), "somebody else's by now");
    drop(somebody);
}

#[tokio::test]
async fn accepting_goes_on_after_the_descriptors_ran_out() {
    let dir = tempfile::tempdir().unwrap();
    let core = SecondCore::start_after(&dir, "ulimit -n 64");
    let mut held = Vec::new();
    for _ in 0..100 {
        held.push(Wire::connect(&socket(&dir)).await);
    }
    // Those that were accepted are served.
    assert_eq!(held[0].ask("ping", json!({})).await["ok"], true);
    // The last waits for its turn, which comes when others leave.
    let mut last = held.pop().unwrap();
    last.line(r#"{"command":"ping"}"#).await;
    drop(held);
    assert_eq!(last.next().await.unwrap()["ok"], true);
    assert_eq!(ask(&socket(&dir), "status", json!({})).await["ok"], true);
    core.end();
}
