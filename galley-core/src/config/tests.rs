use super::*;
use galley_protocol::socket::RuntimeAdd;
use std::fs;

fn parse(text: &str) -> Result<Config, Error> {
    Config::parse(text, Path::new("/c/config.toml"))
}

fn file_with(text: &str) -> (tempfile::TempDir, ConfigFile) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    fs::write(&path, text).unwrap();
    (directory, ConfigFile::new(path))
}

fn process(name: &str, command: &str) -> RuntimeAdd {
    RuntimeAdd { name: name.into(), command: Some(command.into()), ..RuntimeAdd::default() }
}

#[test]
fn without_a_file_managed_is_the_shell_and_current() {
    let directory = tempfile::tempdir().unwrap();
    let config = Config::load(&directory.path().join("none.toml")).unwrap();
    let current = config.runtime("current").unwrap();
    assert_eq!((current.name.as_str(), &current.backend, current.kind()), ("managed", &Backend::Shell, RuntimeKind::Managed));
    assert_eq!(current.label(), "Galley");
    assert!(current.problem().is_none());
    assert!(matches!(config.runtime("external"), Err(Error::NotFound(message)) if message.contains("managed")));
}

#[test]
fn a_runtime_is_read_with_its_command_as_list_or_line() {
    let config = parse(
        r#"
        current = "helper"
        [runtimes.helper]
        backend = "process"
        command = ["sh", "-c", "x y"]
        secret = 1
        [runtimes.line]
        backend = "process"
        command = "sh -c 'x y'"
        [runtimes.external]
        backend = "genericagent"
        ga_path = "/nowhere"
        "#,
    )
    .unwrap();
    assert_eq!(config.runtime("current").unwrap().command, config.runtime("line").unwrap().command);
    assert_eq!(config.runtime("helper").unwrap().kind(), RuntimeKind::External);
    assert_eq!(config.runtime("helper").unwrap().label(), "helper");
    let external = config.runtime("external").unwrap();
    assert_eq!(external.label(), "Attached GenericAgent");
    assert!(external.problem().unwrap().contains("/nowhere is no folder"));
    let briefs = config.briefs();
    assert_eq!(briefs.iter().filter(|brief| brief.current).map(|brief| brief.name.as_str()).collect::<Vec<_>>(), ["helper"]);
}

#[test]
fn a_wrong_file_is_told_by_file_line_and_key() {
    let cases = [
        ("current = 1", 1, "current", "quotes"),
        ("\n\ncurrent = \"all\"", 3, "current", "meaning of its own"),
        ("[runtimes.x]\nbackend = 2", 2, "runtimes.x.backend", "string"),
        ("\n[runtimes.x]\ncommand = \"a\"", 2, "runtimes.x", "shell, process"),
        ("[runtimes.x]\nbackend = \"process\"\ncommand = [1]", 3, "runtimes.x.command", "list of strings"),
        ("[runtimes.x]\nbackend = \"process\"\ncommand = \"a 'b\"", 3, "runtimes.x.command", "not closed"),
        ("[runtimes.\"a b\"]\nbackend = \"shell\"", 1, "runtimes.a b", "letters"),
        ("[runtimes]\nx = 1", 2, "runtimes.x", "table"),
        ("runtimes = 3", 1, "runtimes", "[runtimes.NAME]"),
        ("\ncurrent = = 2", 2, "", ""),
    ];
    for (text, line, key, right) in cases {
        let Err(Error::InvalidArgs { message, detail }) = parse(text) else { panic!("{text:?} was taken") };
        assert!(message.starts_with(&format!("/c/config.toml, line {line}: {key}")), "{message}");
        assert!(message.contains(right), "{message}");
        assert_eq!(detail.unwrap(), json!({ "path": "/c/config.toml", "line": line, "key": key }));
    }
}

#[test]
fn adding_keeps_comments_and_unknown_keys_and_is_noticed() {
    let text =
        "# mine\ncurrent = \"managed\" # why\nfuture = true\n\n[runtimes.old]\nbackend = \"process\" # b\ncommand = [\"sh\"]\nmodel = \"m\" # keep\n";
    let (_directory, file) = file_with(text);
    let before = file.get().unwrap();
    let brief = file.add(&process("new", "sh -c 'a \"b\"'")).unwrap();
    assert_eq!(brief.command.unwrap(), ["sh", "-c", "a \"b\""]);
    assert!(brief.problem.is_none() && !brief.current);
    let after = file.get().unwrap();
    assert_ne!(before, after);
    assert_eq!(after.runtime("new").unwrap().command, ["sh", "-c", "a \"b\""]);
    let written = fs::read_to_string(file.path()).unwrap();
    assert!(written.starts_with(text), "{written}");

    file.add(&RuntimeAdd { replace: Some(true), ..process("old", "dash") }).unwrap();
    file.set_current("new").unwrap();
    let written = fs::read_to_string(file.path()).unwrap();
    for kept in ["# mine", "current = \"new\" # why", "future = true", "backend = \"process\" # b", "model = \"m\" # keep", "command = [\"dash\"]"] {
        assert!(written.contains(kept), "{kept} in {written}");
    }
    assert_eq!(file.get().unwrap().current(), "new");
}

#[test]
fn adding_refuses_what_cannot_be_right() {
    let (_directory, file) = file_with("[runtimes.taken]\nbackend = \"shell\"\n");
    let cases = [
        (process("a b", "sh"), "letters"),
        (process("current", "sh"), "meaning of its own"),
        (process("x", "sh 'a"), "not closed"),
        (process("x", " "), "names no program"),
        (RuntimeAdd { name: "x".into(), ..RuntimeAdd::default() }, "needs a command"),
        (RuntimeAdd { backend: Some(Backend::Shell), ..process("x", "sh") }, "takes no command"),
        (RuntimeAdd { backend: Some(Backend::from("pty")), ..process("x", "sh") }, "shell, process"),
        (process("taken", "sh"), "replace"),
    ];
    for (request, why) in cases {
        let message = file.add(&request).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }
    assert!(matches!(file.set_current("nobody"), Err(Error::NotFound(_))));
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "[runtimes.taken]\nbackend = \"shell\"\n");
    // Built in is not configured: it may be given a better meaning once.
    file.add(&process("managed", "sh")).unwrap();
    assert_eq!(file.get().unwrap().runtime("managed").unwrap().kind(), RuntimeKind::External);
    assert!(file.add(&process("managed", "sh")).is_err());
}

#[test]
fn a_program_that_is_not_there_is_a_problem_not_an_error() {
    let (directory, file) = file_with("");
    let plain = directory.path().join("plain");
    fs::write(&plain, "").unwrap();
    let cases = [
        ("galley-no-such-program --x".to_owned(), "not on PATH"),
        ("/galley/no/such".to_owned(), "does not exist"),
        ("./agent".to_owned(), "absolute"),
        (plain.to_str().unwrap().to_owned(), "not an executable"),
    ];
    for (command, problem) in cases {
        let brief = file.add(&RuntimeAdd { replace: Some(true), ..process("x", &command) }).unwrap();
        assert!(brief.problem.as_ref().unwrap().contains(problem), "{brief:?}");
    }
    let brief = file.add(&RuntimeAdd { ga_path: Some("/galley/no/folder".into()), ..process("y", "sh") }).unwrap();
    assert!(brief.problem.unwrap().contains("no folder"));
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_what_was_written_and_a_link_stays_one() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, file) = file_with("");
    let link = directory.path().join("link.toml");
    std::os::unix::fs::symlink(file.path(), &link).unwrap();
    ConfigFile::new(&link).add(&process("x", "sh")).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(file.get().unwrap().runtime("x").is_ok());
}

#[test]
fn many_writers_lose_nothing() {
    let (_directory, file) = file_with("");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let file = &file;
            scope.spawn(move || file.add(&process(&format!("r{writer}"), "sh")).unwrap());
        }
    });
    assert_eq!(file.get().unwrap().runtimes().len(), 8 + BUILT_IN.len());
}

#[test]
fn a_generic_agent_is_written_and_read_with_its_settings() {
    let dir = tempfile::tempdir().unwrap();
    let file = ConfigFile::new(dir.path().join("config.toml"));
    let request = RuntimeAdd {
        name: "external".into(),
        backend: Some(Backend::GenericAgent),
        ga_path: Some(dir.path().to_string_lossy().into_owned()),
        python: Some("/bin/sh".into()),
        key_file: Some("/nowhere/mykey.py".into()),
        env: Some([("GA_LANG".to_owned(), "en".to_owned())].into()),
        ..RuntimeAdd::default()
    };
    let brief = file.add(&request).unwrap();
    assert!(brief.problem.unwrap().contains("key_file /nowhere/mykey.py"));
    let config = file.get().unwrap();
    let runtime = config.runtime("external").unwrap();
    assert_eq!((runtime.python.as_deref(), runtime.env["GA_LANG"].as_str()), (Some(Path::new("/bin/sh")), "en"));
    file.add(&RuntimeAdd { key_file: None, replace: Some(true), ..request.clone() }).unwrap();
    assert!(file.get().unwrap().runtime("external").unwrap().problem().unwrap().contains("agentmain.py"));
    for wrong in [
        RuntimeAdd { name: "a".into(), ga_path: None, ..request.clone() },
        RuntimeAdd { name: "b".into(), command: Some("sh".into()), ..request.clone() },
        RuntimeAdd { name: "c".into(), backend: Some(Backend::Shell), ..request.clone() },
        RuntimeAdd { name: "d".into(), env: Some([("A=B".to_owned(), String::new())].into()), ..request },
    ] {
        assert!(matches!(file.add(&wrong), Err(Error::InvalidArgs { .. })), "{wrong:?}");
    }
}
