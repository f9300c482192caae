//! What a runner is started with, and why it may not start.

use super::*;
use galley_core::{Error, StartCause};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn lines(lines: Vec<Bytes>) -> Vec<String> {
    lines.iter().map(|line| String::from_utf8(line.to_vec()).unwrap()).collect()
}

fn cause(error: Error) -> (StartCause, String) {
    match error {
        Error::Runner { cause, message, .. } => (cause, message),
        other => panic!("{other:?}"),
    }
}

fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn arguments_environment_and_directory_are_as_specified() {
    let bench = Bench::new();
    let folder = bench.folder.path().to_str().unwrap();
    let print = "#!/bin/sh\nprintf '%s\\n' \"$@\"; for name in GALLEY_CORE_PID GALLEY_SESSION_ID GALLEY_OWNER PYTHONIOENCODING PYTHONUNBUFFERED EXTRA; do eval echo \\$$name; done; pwd\n";
    let path = script(bench.folder.path(), "agent", print);
    let command = vec![path.to_str().unwrap().to_owned(), "--first".to_owned()];
    let backend = ProcessBackend::new(&bench.manager, command, None, vec![("EXTRA".into(), "more".into())]).unwrap();
    let mut spec = bench.manager.spec("s1");
    (spec.llm_no, spec.workspace_root, spec.cwd) = (Some(3), Some("/work space".into()), Some("/".into()));
    let marker = spec.marker.clone();
    let mut runner = bench.manager.start(&backend, spec).await.unwrap();
    let here = std::env::current_dir().unwrap();
    let core = std::process::id().to_string();
    let expected = [
        "--first",
        "--session-id",
        "s1",
        "--ga-path",
        folder,
        "--workspace-root",
        "/work space",
        "--llm-no",
        "3",
        "--cwd",
        "/",
        &core,
        "s1",
        &marker,
        "utf-8",
        "1",
        "more",
        here.to_str().unwrap(),
    ];
    assert_eq!(lines(rest(&mut runner).await), expected);
    assert!(exit(&mut runner).await.is_clean());

    // Only what is set is passed on.
    let backend =
        ProcessBackend::new(&bench.manager, vec!["sh".into(), "-c".into(), "printf '%s\\n' \"$0\" \"$@\"".into()], Some("/".into()), vec![]).unwrap();
    let mut runner = bench.start("s2", &backend).await;
    assert_eq!(lines(rest(&mut runner).await), ["--session-id", "s2", "--ga-path", "/"]);
    exit(&mut runner).await;
}

#[tokio::test]
async fn start_failures_name_their_cause() {
    let bench = Bench::new();
    let folder = bench.folder.path();
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let not_executable = at("plain");
    std::fs::write(&not_executable, "text").unwrap();
    let no_interpreter = script(folder, "agent", "#!/no/such/interpreter\n").to_str().unwrap().to_owned();
    for (program, expected, words) in [
        ("no-such-program-at-all".to_owned(), StartCause::SpawnIo, "no folder of PATH"),
        (at("missing"), StartCause::SpawnIo, "missing: No such file"),
        (at("python3"), StartCause::PythonNotFound, "python3: No such file"),
        (not_executable, StartCause::SpawnIo, "plain: Permission denied"),
        (no_interpreter, StartCause::SpawnIo, "interpreter"),
    ] {
        let error = bench.manager.start(&bench.backend([&program]), bench.manager.spec("s")).await.unwrap_err();
        let (cause, message) = cause(error);
        assert_eq!(cause, expected, "{message}");
        assert!(message.contains(words), "{message}");
    }

    let mut spec = bench.manager.spec("s");
    spec.cwd = Some(folder.join("nowhere"));
    assert_eq!(cause(bench.manager.start(&bench.shell("true"), spec).await.unwrap_err()).0, StartCause::CwdInvalid);
    let mut spec = bench.manager.spec("s");
    spec.workspace_root = Some(OsStr::from_bytes(b"/bad-\xff").into());
    assert_eq!(cause(bench.manager.start(&bench.shell("true"), spec).await.unwrap_err()).0, StartCause::PathEncoding);
    let backend = ProcessBackend::new(&bench.manager, vec!["sh".into()], Some(folder.join("nowhere")), vec![]).unwrap();
    assert_eq!(cause(bench.manager.start(&backend, bench.manager.spec("s")).await.unwrap_err()).0, StartCause::GaPathInvalid);
    assert_eq!(cause(ProcessBackend::new(&bench.manager, vec![], None, vec![]).unwrap_err()).0, StartCause::RuntimeInvalid);
    assert_eq!(bench.manager.count(), 0, "a runner that did not start is not there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_starts_of_one_session_one_wins() {
    let bench = Bench::new();
    let backend = bench.shell("echo $$; exec sleep 600");
    let starts = futures::future::join_all((0..50).map(|_| bench.manager.start(&backend, bench.manager.spec("s")))).await;
    let mut runners: Vec<_> = starts.into_iter().flatten().collect();
    assert_eq!(runners.len(), 1);
    let mut runner = runners.remove(0);
    assert_eq!(bench.manager.generation("s"), Some(1));
    let pid = next_pid(&mut runner).await;
    // It replaces itself, and amid that its mark cannot be read.
    let alone = || galley_testkit::marked_processes(&bench.mark()).unwrap() == [pid];
    galley_testkit::wait_until(std::time::Duration::from_secs(10), "the one that won is there alone", alone).unwrap();
    runner.control.kill();
    exit(&mut runner).await;
    assert_eq!(bench.manager.generation("s"), None, "its place is free once its exit is known");
    bench.start("s", &bench.shell("true")).await;
}
