use crate::home::{Home, answer};

#[test]
fn bad_command_lines_are_one_json_line_and_exit_2() {
    let home = Home::new();
    let cases: &[&[&str]] = &[
        &[],
        &["frobnicate"],
        &["--bogus"],
        &["session"],
        &["session", "frobnicate"],
        &["session", "brief"],
        &["session", "brief", "a", "b"],
        &["session", "send", "sess_1"],
        &["session", "watch", "sess_1", "--from=0"],
        &["session", "watch", "sess_1", "--from=never"],
        &["session", "wait", "sess_1", "--timeout=soon"],
        &["session", "wait", "sess_1", "--timeout=-1"],
        &["session", "wait", "sess_1", "--timeout=NaN"],
        &["session", "wait", "sess_1", "--final-show=maybe"],
        &["session", "new", "x", "--approval-mode=never"],
        &["sessions", "list", "--limit=many"],
        &["approval", "respond", "appr_1", "maybe"],
        &["--db", "x", "--socket", "y", "nonsense"],
    ];
    for case in cases {
        let done = home.galley(case);
        assert_eq!(done.code, Some(2), "{case:?}: {done:?}");
        let (tag, message) = done.error();
        assert_eq!(tag, "invalid_args", "{case:?}");
        assert!(!message.contains('\n') && !message.is_empty(), "{case:?}: {message}");
    }
}

#[test]
fn people_get_prose() {
    let home = Home::new();
    for case in [&["run"][..], &["serve", "--bogus"], &["--db", "x", "run", "a", "b"]] {
        let done = home.galley(case);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{case:?}");
        assert!(done.stderr.starts_with("error: ") && done.stderr.contains("Usage:"), "{done:?}");
    }
}

#[test]
fn help_is_prose_on_standard_output() {
    let home = Home::new();
    for words in
        [&["help"][..], &["--help"], &["session", "--help"], &["help", "session"], &["help", "session", "send"], &["session", "send", "--help"]]
    {
        let done = home.galley(words);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{words:?}");
        assert!(done.stdout.contains("Usage: galley"), "{words:?}: {}", done.stdout);
    }
    assert_eq!(home.galley(&["--version"]).stdout, format!("galley {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = home.galley(&["completions", shell]);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(done.stdout.contains("queue-edit"), "{shell}");
    }
}

#[test]
fn without_a_core_what_needs_one_says_so_and_exits_4() {
    let home = Home::new();
    for case in [
        &["session", "new", "x"][..],
        &["session", "send", "sess_1", "x"],
        &["session", "watch", "sess_1"],
        &["session", "state", "sess_1"],
        &["session", "stop", "sess_1"],
        &["approval", "respond", "appr_1", "deny"],
        &["core", "info"],
    ] {
        let done = home.galley(case);
        assert_eq!(done.code, Some(4), "{case:?}");
        let (tag, message) = done.error();
        assert_eq!(tag, "db_unavailable");
        assert!(message.contains("galley serve"), "{case:?}: {message}");
    }
}

#[test]
fn without_a_database_reads_say_what_makes_one() {
    let home = Home::new();
    for case in [&["status"][..], &["sessions", "list"], &["session", "show", "sess_1"], &["session", "wait", "sess_1"]] {
        let done = home.galley(case);
        assert_eq!(done.code, Some(4), "{case:?}");
        assert!(done.error().1.contains("galley serve"), "{case:?}: {done:?}");
    }
}

#[test]
fn tags_keep_their_names_and_become_exit_codes() {
    for (tag, code) in [
        ("internal", 1),
        ("invalid_args", 2),
        ("not_found", 3),
        ("db_unavailable", 4),
        ("runner_error", 5),
        ("busy", 6),
        ("unknown_command", 1),
        ("some_future_tag", 1),
    ] {
        let home = Home::new();
        let error = format!("{{\"ok\":false,\"requestId\":\"ID\",\"error\":\"{tag}\",\"message\":\"m\",\"detail\":{{\"cause\":\"c\"}}}}\n");
        let core = answer(home.listen(), vec![error]);
        let done = home.galley(&["session", "stop", "sess_1"]);
        assert_eq!((done.code, done.error()), (Some(code), (tag.to_owned(), "m".to_owned())));
        assert!(done.stdout.contains("\"cause\":\"c\""));
        core.join().unwrap();
    }
}

#[test]
fn a_schema_mismatch_is_an_invalid_argument() {
    let home = Home::new();
    let error = "{\"ok\":false,\"requestId\":\"ID\",\"error\":\"schema_mismatch\",\"message\":\"accepted: 2\"}\n";
    let core = answer(home.listen(), vec![error.to_owned()]);
    let done = home.galley(&["session", "state", "sess_1"]);
    assert_eq!((done.code, done.error()), (Some(2), ("invalid_args".to_owned(), "schema_mismatch: accepted: 2".to_owned())));
    core.join().unwrap();
}

#[test]
fn results_of_a_newer_core_are_printed_as_they_came() {
    let home = Home::new();
    let list = "{\"ok\":true,\"requestId\":\"ID\",\"result\":[{\"id\": \"a\",\"newer\":1.50},{\"id\":\"b\"}],\"nextCursor\":\"c\"}\n";
    let rest = "{\"ok\":true,\"requestId\":\"ID\",\"result\":[{\"id\":\"c\"}]}\n";
    let core = answer(home.listen(), vec![list.to_owned(), rest.to_owned()]);
    let done = home.galley(&["sessions", "list"]);
    assert_eq!(done.stdout, "{\"id\": \"a\",\"newer\":1.50}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert_eq!(core.join().unwrap()[1]["args"]["cursor"], "c");
}

#[test]
fn a_write_says_where_it_comes_from() {
    let home = Home::new();
    let core = answer(home.listen(), vec!["{\"ok\":true,\"requestId\":\"ID\",\"result\":{}}\n".to_owned()]);
    home.galley(&["session", "new", "x", "--supervisor=ga-1", "--reason=weekly", "--request-id=r1"]);
    let args = &core.join().unwrap()[0]["args"];
    let here = std::env::current_dir().unwrap();
    assert_eq!(args["cwd"], here.to_str().unwrap());
    assert_eq!((&args["supervisor"], &args["reason"], &args["clientRequestId"]), (&"ga-1".into(), &"weekly".into(), &"r1".into()));
}
