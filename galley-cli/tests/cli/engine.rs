use crate::home::Home;
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn reads_agree_with_and_without_a_core() {
    let mut home = Home::serving();
    let new = home.galley(&["session", "new", "echo findable", "--approval-mode=auto"]).row();
    let id = new["session"]["id"].as_str().unwrap().to_owned();
    let waited = home.galley(&["session", "wait", &id, "--until-idle", "--timeout=60"]).rows();
    assert_eq!(waited[1]["status"], "completed");
    assert_eq!(waited[2], serde_json::json!({ "schemaVersion": 1, "stream": "end", "reason": "completed" }));
    let read = |home: &Home| {
        let reads: [&[&str]; 5] = [
            &["sessions", "list"],
            &["session", "brief", &id],
            &["session", "show", &id, "--tail=1"],
            &["sessions", "search", "findable"],
            &["approval", "list", "--state=all"],
        ];
        reads.map(|words| home.galley(words).rows())
    };
    let with = read(&home);
    assert_eq!(with[0].len(), 1);
    assert!(with[1][0]["status"] == "completed" && !with[3].is_empty());
    assert!(home.galley(&["status"]).row()["live"].is_object());
    home.galley(&["core", "shutdown"]).row();
    assert_eq!(home.served(), Some(0));
    assert_eq!(read(&home), with);
    assert!(home.galley(&["status"]).row().get("live").is_none());
}

#[test]
fn a_second_serve_exits_4_in_prose_and_a_signal_ends_the_first() {
    let mut home = Home::serving();
    let second = home.galley(&["serve"]);
    assert_eq!((second.code, second.stdout.as_str()), (Some(4), ""));
    assert!(second.stderr.starts_with("galley: "), "{second:?}");
    assert_eq!(home.galley(&["core", "info"]).row()["pid"], home.serving_pid());
    kill_process(Pid::from_raw(home.serving_pid().cast_signed()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(home.served(), Some(0));
}

#[test]
fn a_core_that_does_not_answer_does_not_keep_reads_from_the_file() {
    let mut home = Home::serving();
    home.galley(&["core", "shutdown"]).row();
    home.served();
    let _wedged = home.listen();
    assert_eq!(home.galley(&["status"]).row()["total"], 0);
}

#[test]
fn a_database_that_the_core_does_not_serve_is_not_mistaken_for_its_own() {
    let home = Home::serving();
    let other = tempfile::tempdir().unwrap();
    let other = other.path().join("other.db");
    // The socket is where this user's Core listens by default; only the database is named.
    let directory = home.socket().parent().unwrap().to_owned();
    let usual = directory.join(format!("galley-{}.sock", rustix::process::getuid().as_raw()));
    std::os::unix::fs::symlink(home.socket(), usual).unwrap();
    let mut command = home.command(&["session", "new", "x", "--db", other.to_str().unwrap()]);
    let done = crate::home::Done::from(command.env_remove("GALLEY_SOCKET_PATH").env("TMPDIR", directory).output().unwrap());
    assert_eq!(done.code, Some(4));
    assert!(done.error().1.contains("not"), "{done:?}");
    assert!(home.galley(&["sessions", "list"]).rows().is_empty());
}

#[test]
fn what_is_not_there_is_not_found() {
    let home = Home::serving();
    for case in [&["session", "brief", "sess_missing"][..], &["session", "watch", "sess_missing"], &["session", "stop", "sess_missing"]] {
        let done = home.galley(case);
        assert_eq!((done.code, done.error().0.as_str()), (Some(3), "not_found"), "{case:?}");
    }
}
