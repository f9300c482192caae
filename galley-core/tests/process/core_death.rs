//! The end of Core itself. A test of this kind runs its own binary once more as the Core that dies.

use super::*;
use galley_testkit::marked_processes;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// Where the second process finds its folder; that it is set makes it the second process.
const FOLDER: &str = "GALLEY_TEST_CORE_FOLDER";

/// "All gone in two seconds", with room for a machine that is doing something else.
const SOON: Duration = Duration::from_secs(4);

fn core_folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs the test `name` of this binary as another process, with SIGCHLD ignored or not.
fn second_process(name: &str, folder: &Path, ignore_sigchld: bool) -> Child {
    let script = if ignore_sigchld { "trap '' CHLD; exec \"$@\"" } else { "exec \"$@\"" };
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("core_death::{name}"), "--nocapture"]).env(FOLDER, folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

fn run(main: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(main);
}

/// Writes `text` where the first process looks for it, all at once.
fn report(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join("report.tmp"), text).unwrap();
    fs::rename(folder.join("report.tmp"), folder.join(name)).unwrap();
}

fn reported(folder: &Path, name: &str) -> String {
    galley_testkit::wait_some(LIMIT, name, || fs::read_to_string(folder.join(name)).ok()).unwrap()
}

/// Waits for the end of stdin, which is the end of the test.
fn wait_for_the_first_process() {
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn die(mut core: Child, with: Signal) {
    signal(core.id(), with);
    core.wait().unwrap();
}

fn assert_nothing_left(mark: &str) {
    wait_until(SOON, &format!("nothing carries {mark}"), || marked_processes(mark).unwrap().is_empty()).unwrap();
}

#[test]
fn nothing_outlives_a_core_that_is_killed() {
    if let Some(folder) = core_folder() {
        return run(async {
            let bench = Bench { manager: RunnerManager::new(&folder.join("galley.lock")), folder: tempfile::tempdir().unwrap() };
            let backend = bench.testkit("ignore_stdin_eof; spawn_sleep 600; spawn_escaped 600");
            let mut runners = Vec::new();
            for number in 0..5 {
                let mut runner = bench.start(&format!("s{number}"), &backend).await;
                next_line(&mut runner).await.unwrap();
                runners.push(runner);
            }
            report(&folder, "mark", &bench.mark());
            wait_for_the_first_process();
        });
    }
    let other = Bench::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut spared = runtime.block_on(other.run_shell("exec sleep 600"));
    for (with, ignore_sigchld) in [(Signal::KILL, false), (Signal::TERM, false), (Signal::KILL, true)] {
        let folder = tempfile::tempdir().unwrap();
        let core = second_process("nothing_outlives_a_core_that_is_killed", folder.path(), ignore_sigchld);
        let mark = reported(folder.path(), "mark");
        wait_until(LIMIT, "runners, children, escaped", || marked_processes(&mark).unwrap().len() == 15).unwrap();
        die(core, with);
        assert_nothing_left(&mark);
    }
    assert!(!process_gone(spared.pid.unwrap()), "another Core's runner is spared");
    spared.control.kill();
    runtime.block_on(exit(&mut spared));
}

/// Kills a Core that is starting and ending runners all the time.
#[test]
fn a_core_killed_while_it_starts_runners_leaves_nothing() {
    if let Some(folder) = core_folder() {
        return run(async {
            let bench = Bench { manager: RunnerManager::new(&folder.join("galley.lock")), folder: tempfile::tempdir().unwrap() };
            let backend = bench.shell("setsid sleep 600 & exec sleep 600");
            report(&folder, "mark", &bench.mark());
            let mut kept = std::collections::VecDeque::new();
            for number in 0.. {
                kept.push_back(bench.start(&format!("s{number}"), &backend).await);
                report(&folder, &format!("started{number}"), "");
                if kept.len() > 5 {
                    kept.pop_front();
                }
            }
        });
    }
    for number in [0, 1, 7, 20] {
        let folder = tempfile::tempdir().unwrap();
        let core = second_process("a_core_killed_while_it_starts_runners_leaves_nothing", folder.path(), false);
        let mark = reported(folder.path(), "mark");
        reported(folder.path(), &format!("started{number}"));
        die(core, Signal::KILL);
        assert_nothing_left(&mark);
    }
}

/// Some hosts ignore SIGCHLD, from the start or later: the kernel then reaps, and exit codes are
/// lost, but nothing else.
#[test]
fn a_host_that_ignores_sigchld_sees_every_end() {
    if let Some(folder) = core_folder() {
        return run(async {
            let bench = Bench { manager: RunnerManager::new(&folder.join("galley.lock")), folder: tempfile::tempdir().unwrap() };
            let mut runner = bench.run_shell("exit 3").await;
            assert_eq!(exit(&mut runner).await.code, Some(3), "with the first process Tokio listens to SIGCHLD");
            // SAFETY: no handler is installed, only one removed.
            unsafe { nix::sys::signal::signal(nix::sys::signal::Signal::SIGCHLD, nix::sys::signal::SigHandler::SigIgn) }.unwrap();
            let mut runner = bench.run_shell("echo said; exit 3").await;
            assert_eq!(rest(&mut runner).await, ["said"]);
            let how = exit(&mut runner).await;
            assert_eq!((how.code, how.signal), (None, None));
            let mut runner = bench.run_shell("echo $$; exec sleep 600").await;
            let pid = next_pid(&mut runner).await;
            runner.control.kill();
            exit(&mut runner).await;
            assert!(process_gone(pid));
            report(&folder, "done", "");
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let mut core = second_process("a_host_that_ignores_sigchld_sees_every_end", folder.path(), true);
    assert!(core.wait().unwrap().success());
    reported(folder.path(), "done");
}

/// What is left when the guard died with Core is found by the next one.
#[tokio::test]
async fn the_next_core_ends_what_its_predecessor_left_and_nothing_else() {
    let bench = Bench::new();
    let marker = bench.manager.spec("s").marker;
    let [owner, instance, rest] = marker.splitn(3, '.').collect::<Vec<_>>().try_into().unwrap();
    let old = Sleeper::new(&format!("{owner}.0123456789abcdef.{rest}"));
    let stranger = Sleeper::new(&format!("{}.{instance}.{rest}", "f".repeat(owner.len())));
    let mut own = bench.run_shell("echo $$; exec sleep 600").await;
    next_line(&mut own).await.unwrap();

    bench.manager.sweep_predecessors().await;
    wait_until(LIMIT, "the old one ends", || old.gone()).unwrap();
    assert!(!stranger.gone() && !process_gone(own.pid.unwrap()));
    bench.manager.kill_all().await;
    exit(&mut own).await;
    assert!(!stranger.gone());
}

/// A host forks and lives on: its child must not keep the runners of the dead parent alive.
#[test]
fn a_forked_child_holds_nothing_of_its_parents() {
    if let Some(folder) = core_folder() {
        return run(async {
            let bench = Bench { manager: RunnerManager::new(&folder.join("galley.lock")), folder: tempfile::tempdir().unwrap() };
            let mut runner = bench.run_shell("echo up; while read line; do echo \"$line\"; done; sleep 600").await;
            next_line(&mut runner).await.unwrap();
            // SAFETY: the child calls nothing but what is being tested, then sleeps until it is killed.
            match unsafe { nix::unistd::fork() }.unwrap() {
                nix::unistd::ForkResult::Child => {
                    bench.manager.after_fork_child();
                    runner.control.kill();
                    drop(runner);
                    report(&folder, "released", "");
                    loop {
                        std::thread::park();
                    }
                }
                nix::unistd::ForkResult::Parent { child } => {
                    bench.manager.after_fork_child();
                    reported(&folder, "released");
                    send(&runner, shutdown()).await.unwrap();
                    assert!(next_line(&mut runner).await.unwrap().starts_with(b"{"), "in the parent nothing changes");
                    report(&folder, "mark", &bench.mark());
                    report(&folder, "child", &child.to_string());
                    wait_for_the_first_process();
                }
            }
        });
    }
    let folder = tempfile::tempdir().unwrap();
    let core = second_process("a_forked_child_holds_nothing_of_its_parents", folder.path(), false);
    let child: u32 = reported(folder.path(), "child").parse().unwrap();
    let mark = reported(folder.path(), "mark");
    assert!(!marked_processes(&mark).unwrap().is_empty());
    die(core, Signal::KILL);
    assert!(!process_gone(child));
    assert_nothing_left(&mark);
    assert!(!process_gone(child), "the child itself is the host's own");
    signal(child, Signal::KILL);
    assert_all_end(&[child]);
}
