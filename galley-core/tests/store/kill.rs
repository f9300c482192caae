//! Processes that end badly, and disks that fill up. The tests run themselves again as the process.

use crate::support::*;
use galley_core::{Change, Error, MessageQuery, ReadStore, SessionStore, SqliteReader, SqliteStore};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Names the database for the process that is to write to it.
const WRITE_TO: &str = "GALLEY_TEST_WRITE_TO";

/// Commits an event and a message at a time, and reports each commit, until it fails.
async fn write_for_ever(path: &Path) -> Error {
    let store = SqliteStore::open(path).unwrap();
    store.commit(vec![put(session("s"))]).await.unwrap();
    let filling = "x".repeat(2000);
    let mut out = std::io::stdout();
    for index in 1.. {
        let changes = vec![Change::AppendLog(chunk("s", index, index)), insert(agent("s", &format!("m{index}"), &filling))];
        if let Err(error) = store.commit(changes).await {
            assert_eq!(store.last_index("s").await.unwrap(), index - 1, "nothing of the failed commit is there");
            return error;
        }
        writeln!(out, "committed {index}").unwrap();
        out.flush().unwrap();
    }
    unreachable!("the loop is endless")
}

/// Runs this binary's test `name` as a process that writes to `path`.
fn writer(name: &str, path: &Path, shell: Option<&str>) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match shell {
        Some(script) => {
            let mut sh = Command::new("sh");
            sh.args(["-c", script]).arg(program);
            sh
        }
        None => Command::new(program),
    };
    command.args([name, "--exact", "--nocapture"]).env(WRITE_TO, path).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// The highest index a line reports.
fn reported(line: &str) -> Option<u64> {
    line.rsplit_once("committed ").and_then(|(_, index)| index.trim().parse().ok())
}

#[tokio::test]
async fn a_writer_killed_at_any_moment_loses_nothing_it_reported() {
    if let Some(path) = std::env::var_os(WRITE_TO) {
        panic!("{}", write_for_ever(path.as_ref()).await);
    }
    for commits_before_the_kill in [1, 60, 300] {
        let place = Place::new();
        let mut child = writer("kill::a_writer_killed_at_any_moment_loses_nothing_it_reported", &place.db(), None).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut last = 0;
        while last < commits_before_the_kill {
            last = reported(&lines.next().expect("the writer is alive").unwrap()).unwrap_or(last);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        last = lines.map_while(Result::ok).filter_map(|line| reported(&line)).last().unwrap_or(last);
        assert!(place.folder().join("workbench.db-wal").exists(), "the log was left behind");

        let reader = SqliteReader::open(&place.db()).unwrap();
        let stored = reader.last_index("s").await.unwrap();
        assert!(stored >= last, "{last} commits were reported, {stored} are there");
        let messages = reader.messages(&MessageQuery { session_id: "s".into(), ..Default::default() }).await.unwrap();
        assert_eq!(messages.len() as u64, stored, "an event and its message stand or fall together");
        let log = reader.log("s", 1, usize::MAX).await.unwrap();
        assert!(log.iter().map(|chunk| chunk.first).eq(1..=stored), "no gap");
        drop(reader);

        let store = place.open();
        store.commit(vec![Change::AppendLog(chunk("s", stored + 1, stored + 1))]).await.unwrap();
        assert_eq!(store.health().await[1].status.as_str(), "ok");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_is_unavailable_and_nothing_is_half_written() {
    if let Some(path) = std::env::var_os(WRITE_TO) {
        let error = write_for_ever(path.as_ref()).await;
        println!("failed {}", if matches!(error, Error::DbUnavailable(_)) { "as unavailable" } else { "otherwise" });
        return;
    }
    let place = Place::new();
    // A limit on the size of files stands in for the disk's; it needs no rights and no file system.
    let script = r#"ulimit -f 4000; trap "" XFSZ; exec "$0" "$@""#;
    let output = writer("kill::a_full_disk_is_unavailable_and_nothing_is_half_written", &place.db(), Some(script))
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().filter_map(reported).max().expect("some commits went through");
    assert!(text.contains("failed as unavailable"), "{text}");

    let store = place.open();
    assert_eq!(store.last_index("s").await.unwrap(), last);
    store.commit(vec![Change::AppendLog(chunk("s", last + 1, last + 1))]).await.unwrap();
    let messages = store.messages(&MessageQuery { session_id: "s".into(), ..Default::default() }).await.unwrap();
    assert_eq!(messages.len() as u64, last);
}
