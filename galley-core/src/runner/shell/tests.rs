use super::*;
use galley_protocol::ipc::{
    Abort, Decision, DetachPet, Event, ExitResult, HistoryMessage, HistoryRole, LoadHistory, ReinjectTools, RunComplete, SetApprovalRules, SetLlm,
    SetYoloMode, Shutdown, SystemVariant, ToolCallEnd, ToolStatus, TurnEnd,
};
use galley_testkit::process_gone;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);

/// The shells of this machine that we speak to.
fn shells() -> Vec<&'static str> {
    let shells: Vec<_> = ["sh", "bash", "dash", "zsh"].into_iter().filter(|shell| which::which(shell).is_ok()).collect();
    assert!(shells.contains(&"sh"));
    shells
}

/// A data directory and a session's directory.
struct Site {
    folder: TempDir,
    manager: RunnerManager,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let manager = RunnerManager::new(&folder.path().join("lock"));
        Self { folder, manager }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }

    fn session_folder(&self) -> PathBuf {
        self.folder.path().join("shell").join("sess_1")
    }

    fn backend(&self, shell: &str) -> ShellBackend {
        ShellBackend::new(&self.manager, self.folder.path()).with_shell(shell)
    }

    fn spec(&self) -> StartSpec {
        StartSpec { cwd: Some(self.work()), ..self.manager.spec("sess_1") }
    }

    async fn asking(&self, shell: &str) -> Session {
        let spec = self.spec();
        let marker = spec.marker.clone();
        let runner = self.backend(shell).start(spec).await.unwrap();
        let mut session = Session { runner, marker };
        assert!(matches!(session.next().await, Event::Ready(_)));
        session
    }

    async fn automatic(&self, shell: &str) -> Session {
        let session = self.asking(shell).await;
        session.tell(Command::SetYoloMode(SetYoloMode { enabled: true })).await;
        session
    }
}

struct Session {
    runner: Runner,
    marker: String,
}

impl Session {
    async fn tell(&self, command: Command) {
        let (done, delivered) = oneshot::channel();
        self.runner.commands.send(Delivery { command, done }).await.unwrap();
        delivered.await.unwrap().unwrap();
    }

    async fn message(&self, text: &str) {
        self.tell(Command::UserMessage(UserMessage { text: text.into(), ..UserMessage::default() })).await;
    }

    async fn answer(&self, approval: &str, decision: Decision) {
        self.tell(Command::ApprovalResponse(ApprovalResponse { approval_id: approval.into(), decision })).await;
    }

    async fn next(&mut self) -> Event {
        let line = timeout(SOON, self.runner.lines.recv()).await.expect("a line in time").expect("an open line");
        let envelope: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(envelope["sessionId"], "sess_1");
        assert!(envelope["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{envelope}");
        Event::from_line(&line).unwrap()
    }

    /// Everything up to and with `run_complete`.
    async fn rest(&mut self) -> Finished {
        let mut events = Vec::new();
        loop {
            events.push(self.next().await);
            if matches!(events.last(), Some(Event::RunComplete(_))) {
                return Finished { events };
            }
        }
    }

    async fn run(&mut self, text: &str) -> Finished {
        self.message(text).await;
        self.rest().await
    }

    /// Waits until the stream holds `text`, and gives what came so far.
    async fn until(&mut self, text: &str) -> String {
        let mut seen = String::new();
        while !seen.contains(text) {
            if let Event::TurnProgress(progress) = self.next().await {
                seen += &progress.delta;
            }
        }
        seen
    }

    async fn over(self) -> Exit {
        let Runner { exit, lines: _lines, commands: _commands, control: _control, .. } = self.runner;
        timeout(SOON, exit).await.unwrap().unwrap()
    }

    async fn leave(self) -> Exit {
        self.tell(Command::Shutdown(Shutdown {})).await;
        self.over().await
    }
}

/// Waits without holding up the agent, which lives on this thread.
async fn soon(limit: Duration, condition: impl Fn() -> bool) {
    let condition = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(limit, condition).await.expect("in time");
}

struct Finished {
    events: Vec<Event>,
}

impl Finished {
    fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<_> = self.events.iter().map(Event::kind).collect();
        kinds.dedup();
        kinds
    }

    fn streamed(&self) -> String {
        self.events.iter().filter_map(|event| if let Event::TurnProgress(progress) = event { Some(progress.delta.as_str()) } else { None }).collect()
    }

    fn tool_end(&self) -> &ToolCallEnd {
        self.events.iter().find_map(|event| if let Event::ToolCallEnd(end) = event { Some(end) } else { None }).unwrap()
    }

    fn turn_end(&self) -> &TurnEnd {
        self.events.iter().find_map(|event| if let Event::TurnEnd(end) = event { Some(end) } else { None }).unwrap()
    }

    fn complete(&self) -> &RunComplete {
        let Some(Event::RunComplete(complete)) = self.events.last() else { panic!("{:?}", self.events) };
        complete
    }

    fn result(&self) -> &ExitResult {
        &self.complete().exit_reason.result
    }

    fn data(&self) -> Value {
        self.complete().exit_reason.data.as_ref().map_or(Value::Null, |data| data.read().unwrap())
    }

    fn code(&self) -> i64 {
        assert_eq!(*self.result(), ExitResult::CurrentTaskDone);
        self.data()["exitCode"].as_i64().unwrap_or_else(|| panic!("{:?}", self.data()))
    }

    /// The output of a command that must have succeeded.
    fn output(&self) -> String {
        assert_eq!(self.code(), 0, "{}", self.streamed());
        self.streamed()
    }
}

fn refused(event: &Event, context: &str) {
    let Event::Error(error) = event else { panic!("{event:?}") };
    assert_eq!((error.category.as_str(), error.context.as_deref()), ("business", Some(context)));
}

#[tokio::test]
async fn ready_says_what_the_shell_is() {
    let site = Site::new();
    let mut runner = site.backend("sh").start(site.spec()).await.unwrap();
    let Event::Ready(ready) = Event::from_line(&runner.lines.recv().await.unwrap()).unwrap() else { panic!() };
    assert_eq!((ready.protocol_version.as_str(), ready.available_llms.len(), ready.pid), ("0.1", 0, None));
    assert_eq!(ready.cwd.as_deref(), site.work().to_str());
    assert_eq!(ready.capabilities.unwrap(), ["abort", "approvals", "btw", "history", "reload_history"]);
}

#[tokio::test]
async fn an_automatic_run_has_every_event_in_order() {
    for shell in shells() {
        let site = Site::new();
        let mut session = site.automatic(shell).await;
        let run = session.run("echo one; echo two >&2; printf three").await;
        assert_eq!(run.kinds(), ["turn_start", "tool_call_start", "turn_progress", "tool_call_end", "turn_end", "run_complete"]);
        assert_eq!(run.output(), "one\ntwo\nthree");
        let Event::ToolCallStart(start) = &run.events[1] else { panic!() };
        assert_eq!(start.args.as_ref().unwrap().read::<Value>().unwrap(), json!({ "type": "shell", "code": "echo one; echo two >&2; printf three" }));
        assert_eq!((start.tool_name.as_str(), start.turn_index), ("code_run", Some(1)));
        let end = run.tool_end();
        assert_eq!((&end.tool_call_id, &end.status), (&start.tool_call_id, &ToolStatus::Success));
        assert!(end.elapsed_ms.is_some());
        let turn = run.turn_end();
        assert_eq!((turn.turn_index, turn.response_content.as_deref()), (1, Some("one\ntwo\nthree")));
        assert_eq!(turn.tool_calls[0].read::<Value>().unwrap()["toolName"], "code_run");
        assert_eq!(turn.tool_results[0].read::<Value>().unwrap()["toolUseId"], start.tool_call_id);
        assert!(turn.telemetry.as_ref().unwrap().read::<Value>().unwrap()["elapsedMs"].is_u64());
        assert_eq!(turn.exit_reason.as_ref(), Some(&run.complete().exit_reason));
        assert_eq!((run.complete().total_turns, run.complete().final_content.as_deref()), (Some(1), Some("```\none\ntwo\nthree\n```")));
        assert_eq!(session.leave().await, Exit { code: Some(0), ..Exit::default() });
    }
}

#[tokio::test]
async fn whatever_a_person_types_is_a_finished_run() {
    for shell in shells() {
        let site = Site::new();
        let mut session = site.automatic(shell).await;
        assert_eq!(session.run("exit 3").await.code(), 3);
        assert_eq!(session.run("false").await.tool_end().status, ToolStatus::Failed);
        let failing = session.run("echo x; exit 4").await;
        assert_eq!(failing.complete().final_content.as_deref(), Some("```\nx\n```\n\nExit code 4."));
        assert_ne!(session.run("if").await.code(), 0);
        assert_ne!(session.run("echo \"never closed").await.code(), 0);
        assert_eq!(session.run("set -e; false; echo not reached").await.streamed(), "");
        assert_eq!(session.run("set -eu; set -C; echo reached").await.output(), "reached\n");
        assert_eq!(session.run("cat <<END\n$((1 + 1)) 'x'\nEND\necho second; # comment").await.output(), "2 'x'\nsecond\n");
        assert_eq!(session.run("read line || echo nothing to read").await.output(), "nothing to read\n");
        assert_eq!(session.run("echo \"$# arguments\"").await.output(), "0 arguments\n");
        assert_eq!(session.run("printf 'no newline'").await.output(), "no newline");
        assert_eq!(session.run("printf 'a\\377b\\000c\\033[1m'").await.output(), "a\u{fffd}b\0c\u{1b}[1m");
        assert_eq!(session.run("true").await.complete().final_content.as_deref(), Some("Done, without output."));
        assert_eq!(session.run("trap 'echo bye' EXIT; cd /").await.output(), "bye\n");
        assert_eq!(session.run("pwd").await.output(), "/\n");
        let killed = session.run("kill -9 $$").await;
        assert_eq!((killed.result(), killed.data()), (&ExitResult::CurrentTaskDone, json!({ "signal": 9 })));
        let nothing = session.run("galley-no-such-command").await;
        assert_eq!(nothing.code(), 127);
        let missing = nothing.streamed();
        assert!(missing.contains(":1:") || missing.contains(": 1:") || missing.contains("line 1:"), "{missing}");
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_told_and_the_session_goes_on() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    for text in ["echo \0", &format!("echo \0{}", "x".repeat(200_000))] {
        let run = session.run(text).await;
        assert_eq!(run.code(), 126);
        assert!(run.streamed().contains("could not be started"), "{}", run.streamed());
    }
    assert_eq!(session.run("echo on").await.output(), "on\n");
}

#[tokio::test]
async fn a_command_line_may_be_longer_than_an_argument() {
    for shell in shells() {
        let site = Site::new();
        let mut session = site.automatic(shell).await;
        let long = "ü'\"$x ".repeat(60_000);
        let text = format!("cd /; echo \"$# arguments\"; wc -c <<'END'\n{long}\nEND\nexit 3");
        let run = session.run(&text).await;
        assert_eq!((run.streamed().replace(' ', ""), run.code()), (format!("0arguments\n{}\n", long.len() + 1), 3));
        assert_eq!(session.run("pwd").await.output(), "/\n");
        assert!(fs::read_dir(site.session_folder()).unwrap().all(|file| !file.unwrap().file_name().to_string_lossy().starts_with("command-")));
    }
}

#[tokio::test]
async fn directory_and_variables_last_and_are_safe_for_any_value() {
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "a variable to unset");
    for shell in shells() {
        let site = Site::new();
        let odd = site.work().join("o d'd\"$x\n");
        fs::create_dir(&odd).unwrap();
        let value = "two\nlines 'single' \"double\" $(echo no) `echo no` \\ $HOME ; é \t end\n\n";
        fs::write(site.work().join("value"), format!("{value}.")).unwrap();
        let mut session = site.automatic(shell).await;
        session.run("export GIVEN=\"$(cat value)\"; GIVEN=${GIVEN%.}; cd o*").await.output();
        assert_eq!(session.run("printf %s \"$GIVEN\"").await.output(), value);
        assert_eq!(session.run("printf %s \"$PWD\"").await.output(), odd.to_str().unwrap());
        if shell != "zsh" {
            // It does not take the directory before from anybody.
            assert_eq!(session.run("cd - >/dev/null && printf %s \"$PWD\"").await.output(), site.work().to_str().unwrap());
            session.run("cd - >/dev/null").await.output();
        }
        session.run("unset CARGO_MANIFEST_DIR; not_exported=1").await.output();
        session.leave().await;

        let mut later = site.automatic(shell).await;
        assert_eq!(later.run("printf %s \"$GIVEN\"").await.output(), value);
        assert_eq!(
            later.run("printf %s \"$PWD:${CARGO_MANIFEST_DIR-none}:${not_exported-none}\"").await.output(),
            format!("{}:none:none", odd.to_str().unwrap())
        );
        // What is kept is kept whatever shell comes next.
        let mut other = site.automatic("sh").await;
        assert_eq!(other.run("printf %s \"$GIVEN\"").await.output(), value);
    }
}

#[tokio::test]
async fn ours_wins_over_what_a_session_exports() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    session.run("export GALLEY_OWNER=mine GALLEY_SESSION_ID=mine GALLEY_CORE_PID=1 KEPT=1").await.output();
    let run = session.run("echo $GALLEY_OWNER $GALLEY_SESSION_ID $GALLEY_CORE_PID $KEPT").await;
    let expected = format!("{}.", session.marker);
    let output = run.output();
    assert!(output.starts_with(&expected), "{output}");
    assert!(output.ends_with(&format!(" sess_1 {} 1\n", std::process::id())), "{output}");
}

#[tokio::test]
async fn secrets_are_for_the_user_alone_and_core_s_are_not_kept() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    session.run("export TOKEN=secret").await.output();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&site.session_folder()), 0o700);
    let files: Vec<_> = fs::read_dir(site.session_folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(mode(&files[0]), 0o600);
    let kept = String::from_utf8(fs::read(&files[0]).unwrap()).unwrap();
    assert!(kept.contains("TOKEN=secret") && !kept.contains("PATH="), "{kept}");
    session.leave().await;
    site.backend("sh").forget("sess_1").await.unwrap();
    assert!(!site.session_folder().exists());
    site.backend("sh").forget("sess_1").await.unwrap();
    assert!(site.backend("sh").forget("../x").await.is_err());
}

#[tokio::test]
async fn a_directory_that_is_gone_runs_nothing_and_says_so() {
    let site = Site::new();
    let gone = site.work().join("gone");
    fs::create_dir(&gone).unwrap();
    let mut session = site.automatic("sh").await;
    session.run("cd gone").await.output();
    fs::remove_dir(&gone).unwrap();
    let run = session.run("echo ran").await;
    assert_eq!(run.code(), 126);
    assert!(run.streamed().contains(gone.to_str().unwrap()) && !run.streamed().contains("ran\n"), "{}", run.streamed());
    let home = std::env::home_dir().unwrap().canonicalize().unwrap();
    assert_eq!(session.run("pwd -P").await.output(), format!("{}\n", home.display()));
}

#[tokio::test]
async fn a_session_that_cannot_begin_says_why() {
    let site = Site::new();
    let cause = |result: Result<Runner, Error>| match result.unwrap_err() {
        Error::Runner { cause, .. } => cause,
        other => panic!("{other:?}"),
    };
    let nowhere = StartSpec { cwd: Some("/galley/no/such".into()), ..site.spec() };
    assert_eq!(cause(site.backend("sh").start(nowhere).await), StartCause::CwdInvalid);
    assert_eq!(cause(site.backend("/galley/no/shell").start(site.spec()).await), StartCause::RuntimeInvalid);
    let bad = StartSpec { session_id: "a/b".into(), ..site.spec() };
    assert!(matches!(site.backend("sh").start(bad).await, Err(Error::InvalidArgs { .. })));
}

#[test]
fn the_user_s_shell_is_used_when_we_know_it() {
    let sh = which::which("sh").unwrap();
    assert_eq!(users_shell(Some(sh.as_os_str())), sh);
    for unknown in [None, Some("/usr/bin/env"), Some("sh"), Some("/galley/no/bash"), Some("")] {
        assert_eq!(users_shell(unknown.map(OsStr::new)), Path::new("sh"));
    }
}

#[tokio::test]
async fn an_approval_is_asked_and_obeyed() {
    let site = Site::new();
    let mut session = site.asking("sh").await;
    let text = format!("echo ran # {}", "x".repeat(300));
    session.message(&text).await;
    assert!(matches!(session.next().await, Event::TurnStart(start) if start.turn_index == 1));
    let Event::ToolCallPending(pending) = session.next().await else { panic!() };
    assert_eq!((pending.tool_name.as_str(), pending.risk_level.unwrap().as_str(), pending.turn_index), ("code_run", "high", Some(1)));
    assert_eq!(pending.args.unwrap().read::<Value>().unwrap(), json!({ "type": "shell", "code": text }));
    assert!(pending.args_preview.unwrap().chars().count() <= 200 && pending.reason.is_some());

    session.answer("another", Decision::AllowOnce).await;
    refused(&session.next().await, "approval_response");
    session.answer(&pending.approval_id, Decision::from("allow")).await;
    refused(&session.next().await, "approval_response");
    session.answer(&pending.approval_id, Decision::AllowOnce).await;
    let run = session.rest().await;
    assert_eq!(run.kinds(), ["tool_call_start", "turn_progress", "tool_call_end", "turn_end", "run_complete"]);
    assert_eq!(run.output(), "ran\n");
    session.answer(&pending.approval_id, Decision::AllowOnce).await;
    refused(&session.next().await, "approval_response");

    session.message("echo ran > ran").await;
    session.next().await;
    let Event::ToolCallPending(pending) = session.next().await else { panic!() };
    session.answer(&pending.approval_id, Decision::Deny).await;
    let run = session.rest().await;
    assert_eq!(run.kinds(), ["tool_call_end", "turn_end", "run_complete"]);
    assert_eq!((run.result(), run.data()), (&ExitResult::CurrentTaskDone, json!({ "denied": true })));
    assert_eq!(run.tool_end().status, ToolStatus::Denied);
    assert!(run.complete().final_content.as_ref().unwrap().contains("denied"));
    assert!(!site.work().join("ran").exists());
}

#[tokio::test]
async fn rules_and_mode_decide_whether_to_ask() {
    let site = Site::new();
    let mut session = site.asking("sh").await;
    let code_run = || vec!["code_run".to_owned()];
    for rules in [
        SetApprovalRules { always_allow_global: code_run(), ..SetApprovalRules::default() },
        SetApprovalRules { always_allow_project: code_run(), ..SetApprovalRules::default() },
    ] {
        session.tell(Command::SetApprovalRules(rules)).await;
        assert!(!session.run("echo a").await.kinds().contains(&"tool_call_pending"));
    }
    for asks in [
        Command::SetApprovalRules(SetApprovalRules { always_allow_global: vec!["file_read".into()], ..SetApprovalRules::default() }),
        Command::SetYoloMode(SetYoloMode { enabled: false }),
    ] {
        session.tell(Command::SetYoloMode(SetYoloMode { enabled: true })).await;
        assert!(!session.run("echo a").await.kinds().contains(&"tool_call_pending"));
        session.tell(Command::SetYoloMode(SetYoloMode { enabled: false })).await;
        session.tell(asks).await;
        session.message("echo a").await;
        session.next().await;
        let Event::ToolCallPending(_) = session.next().await else { panic!() };
        session.tell(Command::Abort(Abort {})).await;
        assert_eq!(*session.rest().await.result(), ExitResult::Aborted);
    }
}

#[tokio::test]
async fn stop_ends_everything_the_command_started_within_a_second() {
    for shell in shells() {
        let site = Site::new();
        let mut session = site.automatic(shell).await;
        session.run("sleep 1000 >/dev/null 2>&1 & echo $! > earlier").await.output();
        session.message("sleep 1000 & setsid sleep 1000 & (setsid sh -c 'echo $$ > orphan; exec sleep 1000' &); echo $$ $! > pids; until test -s orphan; do :; done; echo up; sleep 1000").await;
        assert!(session.until("up\n").await.ends_with("up\n"));
        let pids = |name: &str| -> Vec<u32> {
            fs::read_to_string(site.work().join(name)).unwrap().split_whitespace().map(|pid| pid.parse().unwrap()).collect()
        };
        let asked = Instant::now();
        session.tell(Command::Abort(Abort {})).await;
        let run = session.rest().await;
        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
        assert_eq!(run.kinds(), ["tool_call_end", "run_complete"]);
        assert_eq!((run.tool_end().status.clone(), run.result()), (ToolStatus::Cancelled, &ExitResult::Aborted));
        // A killed process takes its moment to be gone.
        soon(Duration::from_secs(1), || pids("pids").into_iter().chain(pids("orphan")).all(process_gone)).await;
        // What an earlier command left running is not this command's; it ends with the runner.
        assert!(!process_gone(pids("earlier")[0]));
        assert_eq!(session.run("echo next").await.output(), "next\n");
        session.leave().await;
        soon(SOON, || process_gone(pids("earlier")[0])).await;
    }
}

#[tokio::test]
async fn stop_also_finds_what_keeps_becoming_another_program() {
    let site = Site::new();
    fs::write(site.work().join("again"), "exec sh ./again").unwrap();
    let mut session = site.automatic("sh").await;
    for _ in 0..30 {
        session.message("(setsid sh -c 'echo $$ > orphan; exec sh ./again' &); until test -s orphan; do :; done; echo up; sleep 1000").await;
        session.until("up\n").await;
        let pid = fs::read_to_string(site.work().join("orphan")).unwrap().trim().parse().unwrap();
        fs::remove_file(site.work().join("orphan")).unwrap();
        session.tell(Command::Abort(Abort {})).await;
        session.rest().await;
        soon(Duration::from_secs(1), || process_gone(pid)).await;
    }
}

#[tokio::test]
async fn stop_works_at_any_moment_and_ends_the_run_once() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    for _ in 0..20 {
        session.message("sleep 1000").await;
        session.tell(Command::Abort(Abort {})).await;
        session.tell(Command::Abort(Abort {})).await;
        let run = session.rest().await;
        assert_eq!(*run.result(), ExitResult::Aborted);
        assert_eq!(run.events.iter().filter(|event| matches!(event, Event::ToolCallEnd(_))).count(), 1);
    }
    session.tell(Command::Abort(Abort {})).await;
    assert_eq!(session.run("echo alive").await.output(), "alive\n");

    session.tell(Command::SetYoloMode(SetYoloMode { enabled: false })).await;
    session.message("echo x").await;
    session.next().await;
    let Event::ToolCallPending(pending) = session.next().await else { panic!() };
    session.tell(Command::Abort(Abort {})).await;
    let run = session.rest().await;
    assert_eq!((run.kinds(), run.result()), (vec!["tool_call_end", "run_complete"], &ExitResult::Aborted));
    assert_eq!(run.tool_end().status, ToolStatus::Cancelled);
    session.answer(&pending.approval_id, Decision::AllowOnce).await;
    refused(&session.next().await, "approval_response");
}

#[tokio::test]
async fn what_runs_in_the_background_holds_up_nothing() {
    for shell in shells() {
        let site = Site::new();
        let mut session = site.automatic(shell).await;
        let begun = Instant::now();
        let run = session.run("(while :; do echo tick; sleep 0.01; done) & echo $! > pid; echo done").await;
        assert!(run.output().contains("done\n"));
        assert!(begun.elapsed() < Duration::from_secs(5));
        let pid = fs::read_to_string(site.work().join("pid")).unwrap().trim().parse().unwrap();
        // It goes on although nobody hears what it says: more than a pipe holds.
        session.run("(until test -f go; do sleep 0.01; done; head -c 300000 /dev/zero; echo > written) &").await.output();
        fs::write(site.work().join("go"), "").unwrap();
        soon(SOON, || site.work().join("written").exists()).await;
        assert!(!process_gone(pid));
        session.runner.control.kill();
        session.over().await;
        soon(SOON, || process_gone(pid)).await;
    }
}

#[tokio::test]
async fn dropping_the_runner_ends_all() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    session.message("sleep 1000 & echo $$ $!; wait").await;
    let seen = session.until("\n").await;
    drop(session);
    for pid in seen.split_whitespace().map(|pid| pid.parse().unwrap()) {
        soon(SOON, || process_gone(pid)).await;
    }
}

#[tokio::test]
async fn shutdown_lets_a_command_finish_and_stops_an_approval() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    session.message("until test -f go; do sleep 0.01; done; echo finished").await;
    session.tell(Command::Shutdown(Shutdown {})).await;
    session.message("echo late").await;
    fs::write(site.work().join("go"), "").unwrap();
    let run = session.rest().await;
    refused(run.events.iter().find(|event| matches!(event, Event::Error(_))).unwrap(), "user_message");
    assert_eq!(run.output(), "finished\n");
    assert!(session.over().await.is_clean());

    let mut session = site.asking("sh").await;
    session.message("echo x").await;
    session.next().await;
    session.next().await;
    session.tell(Command::Shutdown(Shutdown {})).await;
    assert_eq!(*session.rest().await.result(), ExitResult::Aborted);
    assert!(session.over().await.is_clean());
}

#[tokio::test]
async fn kill_ends_a_run_without_a_word() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    session.message("echo $$; sleep 1000").await;
    let pid = session.until("\n").await.trim().parse().unwrap();
    session.runner.control.kill();
    assert_eq!(session.over().await.signal, Some(9));
    soon(SOON, || process_gone(pid)).await;
}

#[tokio::test]
async fn a_side_question_is_answered_at_once() {
    let site = Site::new();
    let mut session = site.asking("sh").await;
    let ask = async |session: &mut Session, text: &str| {
        session.message(text).await;
        let Event::SystemMessage(message) = session.next().await else { panic!() };
        assert_eq!(message.variant, SystemVariant::SideQuestion);
        message.content
    };
    assert_eq!(ask(&mut session, "/btw").await, "Nothing is running.");
    session.message("echo up; sleep 1000").await;
    session.next().await;
    let Event::ToolCallPending(pending) = session.next().await else { panic!() };
    assert!(ask(&mut session, " /btw\twhat now?").await.contains("`echo up; sleep 1000` has waited for approval for 0 s"));
    session.answer(&pending.approval_id, Decision::AlwaysAllowGlobal).await;
    session.until("up\n").await;
    assert!(ask(&mut session, "/btw x").await.starts_with("`echo up; sleep 1000` has been running for "));
}

#[tokio::test]
async fn what_the_shell_cannot_do_is_refused_and_fails_nothing() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    for (command, context) in [
        (Command::SetLlm(SetLlm { llm_index: 0 }), "set_llm"),
        (Command::ReinjectTools(ReinjectTools {}), "reinject_tools"),
        (Command::DetachPet(DetachPet {}), "detach_pet"),
        (Command::AskUserResponse(Default::default()), "ask_user_response"),
        (Command::UserMessage(UserMessage { text: "x".into(), images: vec!["/x.png".into()], ..UserMessage::default() }), "user_message"),
    ] {
        session.tell(command).await;
        refused(&session.next().await, context);
    }
    let message = HistoryMessage { role: HistoryRole::User, content: "x".into(), tool_calls: vec![], tool_results: vec![] };
    session.tell(Command::LoadHistory(LoadHistory { messages: vec![message.clone(), message] })).await;
    assert!(matches!(session.next().await, Event::HistoryLoaded(loaded) if loaded.message_count == 2));

    session.message("echo up; until test -f go; do sleep 0.01; done").await;
    session.until("up\n").await;
    session.message("echo second").await;
    refused(&session.next().await, "user_message");
    fs::write(site.work().join("go"), "").unwrap();
    assert_eq!(session.rest().await.code(), 0);
}

#[tokio::test]
async fn large_output_is_streamed_whole_and_answered_in_parts() {
    const SIZE: usize = 5 << 20;
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    let run = session.run(&format!("yes 'one line of é' | head -c {SIZE}")).await;
    let streamed = run.output();
    let expected: String = "one line of é\n"
        .chars()
        .cycle()
        .scan(0, |size, c| {
            *size += c.len_utf8();
            (*size <= SIZE).then_some(c)
        })
        .collect();
    assert!(streamed.trim_end_matches('\u{fffd}') == expected, "the stream is what was written");
    assert!(run.events.iter().all(|event| !matches!(event, Event::TurnProgress(progress) if progress.delta.len() > 64 << 10)));
    let content = run.turn_end().response_content.as_ref().unwrap();
    assert!(content.len() < (1 << 20) + 1000 && content.starts_with("one line of é\n"));
    let path = content.split("all of it is in ").nth(1).unwrap().split(']').next().unwrap();
    assert_eq!(fs::metadata(path).unwrap().len(), SIZE as u64);
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(Path::new(path).starts_with(site.session_folder()));
}

#[tokio::test]
async fn a_character_in_two_writes_is_one_character() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    let run = session.run("printf 'a\\303'; sleep 0.2; printf '\\251b\\342\\202'").await;
    assert_eq!(run.output(), "aéb\u{fffd}");
}

#[tokio::test]
async fn a_command_waits_for_a_slow_reader_and_can_be_stopped_meanwhile() {
    let site = Site::new();
    let mut session = site.automatic("sh").await;
    // Slower than the linger after the exit, and nothing of the end is lost.
    session.message("head -c 700000 /dev/zero | tr '\\0' x; echo end").await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let run = session.rest().await;
    assert_eq!(run.output().len(), 700_004);

    session.message("echo $$ > pid; yes").await;
    soon(SOON, || fs::read_to_string(site.work().join("pid")).is_ok_and(|pid| !pid.is_empty())).await;
    // Nothing is read, and yet the stop reaches the command.
    session.tell(Command::Abort(Abort {})).await;
    let pid = fs::read_to_string(site.work().join("pid")).unwrap().trim().parse().unwrap();
    soon(Duration::from_secs(1), || process_gone(pid)).await;
    assert_eq!(*session.rest().await.result(), ExitResult::Aborted);
}
