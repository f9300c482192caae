//! How runners end, and that nothing stays.

use super::*;
use galley_testkit::marked_processes;
use std::time::Instant;

#[tokio::test]
async fn codes_and_signals_are_told_apart() {
    let bench = Bench::new();
    for (script, code, signal) in [("exit 0", Some(0), None), ("exit 42", Some(42), None), ("kill -s SEGV $$", None, Some(11))] {
        let mut runner = bench.run_shell(&format!("echo why >&2; {script}")).await;
        let exit = exit(&mut runner).await;
        assert_eq!((exit.code, exit.signal, exit.poisoned), (code, signal, false), "{script}");
        assert_eq!(exit.stderr_tail, ["why"]);
        assert_eq!(exit.is_clean(), code == Some(0));
    }
}

#[tokio::test]
async fn a_runner_that_ignores_shutdown_is_killed_with_its_children() {
    let bench = Bench::new();
    let mut runner = bench.start("s", &bench.testkit("ignore_shutdown; spawn_sleep 600; spawn_escaped 600; fork_holding_pipe")).await;
    next_line(&mut runner).await.unwrap();
    wait_until(LIMIT, "runner and children", || marked_processes(&bench.mark()).unwrap().len() == 4).unwrap();
    send(&runner, shutdown()).await.unwrap();
    send(&runner, shutdown()).await.unwrap();
    runner.control.kill();
    let started = Instant::now();
    let exit = exit(&mut runner).await;
    assert_eq!(exit.signal, Some(9));
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(marked_processes(&bench.mark()).unwrap().is_empty(), "nothing is left when the exit is told");
}

#[tokio::test]
async fn dropping_a_runner_ends_it_although_a_handle_is_kept() {
    let bench = Bench::new();
    let mut runner = bench.run_shell("echo $$; sleep 600 & echo $!; wait").await;
    let pids = [next_pid(&mut runner).await, next_pid(&mut runner).await];
    let control = runner.control.clone();
    drop(runner);
    wait_for_end(&pids).await;
    control.kill();
    control.kill();
}

#[test]
fn a_runtime_that_shuts_down_ends_its_runners() {
    let bench = Bench::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (runner, pids) = runtime.block_on(async {
        let mut runner = bench.run_shell("echo $$; setsid sleep 600 & echo $!; wait").await;
        let pids = [next_pid(&mut runner).await, next_pid(&mut runner).await];
        (runner, pids)
    });
    drop(runtime);
    assert_all_end(&pids);
    drop(runner);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rapid_starts_and_ends_leave_no_process_and_no_zombie() {
    let bench = Bench::new();
    let backend = bench.shell("echo $$; read line");
    let mut pids = Vec::new();
    for number in 0..50 {
        let mut runner = bench.start(&format!("s{number}"), &backend).await;
        pids.push(runner.pid.unwrap());
        match number % 3 {
            0 => {
                runner.control.kill();
                exit(&mut runner).await;
            }
            1 => {
                send(&runner, shutdown()).await.unwrap();
                assert!(exit(&mut runner).await.is_clean());
            }
            _ => drop(runner),
        }
    }
    let wait = async {
        while bench.manager.count() > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(LIMIT, wait).await.expect("all end");
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} was not waited for");
    }
}

/// Twenty at once, one of them wedged, within the bound of a shutdown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runners_end_together_in_time() {
    let bench = Bench::new();
    let mut runners = Vec::new();
    for number in 0..20 {
        let script = if number == 7 { "trap '' TERM; echo up; kill -s STOP $$" } else { "echo up; read line" };
        let mut runner = bench.start(&format!("s{number}"), &bench.shell(script)).await;
        next_line(&mut runner).await.unwrap();
        runners.push(runner);
    }
    let started = Instant::now();
    let ends = runners.iter_mut().map(|runner| async {
        send(runner, shutdown()).await.unwrap();
        if timeout(Duration::from_millis(500), &mut runner.exit).await.is_err() {
            runner.control.kill();
            exit(runner).await;
        }
    });
    futures::future::join_all(ends).await;
    bench.manager.kill_all().await;
    // One after the other they would take ten seconds.
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    assert_eq!(bench.manager.count(), 0);
}

/// The second of a session finds everything free that the first one held.
#[tokio::test]
async fn a_runner_follows_a_killed_one_without_colliding() {
    let bench = Bench::new();
    let lock = bench.folder.path().join("held");
    let backend = bench.testkit(&format!("flock {}; ignore_shutdown", lock.display()));
    for generation in 1..=3 {
        let mut runner = bench.start("s", &backend).await;
        let ready = next_line(&mut runner).await.unwrap();
        assert_eq!(galley_protocol::ipc::Event::from_line(&ready).unwrap().kind(), "ready");
        assert_eq!(bench.manager.generation("s"), Some(generation));
        runner.control.kill();
        exit(&mut runner).await;
    }
}

/// What a backend of another kind leaves is cleaned up, too.
#[tokio::test]
async fn an_escaped_process_of_an_ended_runner_is_gone_before_its_exit() {
    let bench = Bench::new();
    let mut runner = bench.run_shell("setsid sh -c 'echo $$; exec sleep 600 >/dev/null 2>&1' & read line").await;
    let escaped = next_pid(&mut runner).await;
    send(&runner, shutdown()).await.unwrap();
    exit(&mut runner).await;
    assert!(process_gone(escaped));
}

async fn wait_for_end(pids: &[u32]) {
    let wait = async {
        while !pids.iter().all(|pid| process_gone(*pid)) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(LIMIT, wait).await.expect("the processes end");
}
