//! Commands to a runner: delivered whole or reported, whatever becomes of it.

use super::*;
use std::time::Instant;

#[tokio::test]
async fn commands_arrive_in_order_as_whole_lines() {
    let bench = Bench::new();
    let mut runner = bench.run_shell("exec cat").await;
    for size in [1, 100_000, 3] {
        send(&runner, message(size)).await.unwrap();
        let line = next_line(&mut runner).await.unwrap();
        assert_eq!(Command::from_line(&line).unwrap(), message(size));
    }
    // Nobody will say anything more: the end of its input.
    runner.commands = tokio::sync::mpsc::channel(1).0;
    assert!(exit(&mut runner).await.is_clean());
}

#[tokio::test]
async fn a_runner_that_stands_still_is_poisoned_in_time() {
    let bench = Bench::new();
    let backend = bench.testkit("").with_write_limit(Duration::from_millis(300));
    let mut runner = bench.start("s", &backend).await;
    assert!(next_line(&mut runner).await.unwrap().starts_with(b"{"), "ready");
    let pid = runner.pid.unwrap();
    signal(pid, Signal::STOP);
    let started = Instant::now();
    let mut told = Vec::new();
    for _ in 0..5 {
        told.push(enqueue(&runner, message(50_000)).await.unwrap());
    }
    let mut results = Vec::new();
    for told in told {
        results.push(timeout(LIMIT, told).await.unwrap().unwrap());
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    // What the pipe holds is taken; from the first that is not, none is: nothing follows half a line.
    let first = results.iter().position(Result::is_err).unwrap();
    assert!(first > 0 && results[first..].iter().all(Result::is_err), "{results:?}");
    assert_eq!(send(&runner, shutdown()).await, Err(Undelivered));
    let exit = exit(&mut runner).await;
    assert!(exit.poisoned && exit.signal == Some(9), "{exit:?}");
    assert!(process_gone(pid));
}

#[tokio::test]
async fn a_runner_that_closes_its_input_takes_nothing_and_lives() {
    let bench = Bench::new();
    let mut runner = bench.run_shell("exec 0<&-; echo closed; sleep 600").await;
    next_line(&mut runner).await.unwrap();
    // Until a process that another test is just starting has let go of its copy of the pipe.
    let refused = async { while send(&runner, message(1)).await.is_ok() {} };
    timeout(LIMIT, refused).await.expect("a closed pipe takes nothing");
    assert_eq!(send(&runner, message(1)).await, Err(Undelivered));
    assert!(!process_gone(runner.pid.unwrap()));
    runner.control.kill();
    assert!(!exit(&mut runner).await.poisoned);
}

/// Kills at many moments of a stream of commands: each is answered exactly once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_delivery_is_answered_wherever_the_kill_falls() {
    let bench = Bench::new();
    for after in [0, 1, 2, 5, 20, 63, 64, 65, 100] {
        let mut runner = bench.run_shell("exec cat >/dev/null").await;
        let (mut answered, mut refused) = (0, 0);
        let mut waiting = Vec::new();
        for number in 0..120 {
            if number == after {
                runner.control.kill();
            }
            match enqueue(&runner, message(2000)).await {
                Ok(told) => waiting.push(told),
                Err(Undelivered) => refused += 1,
            }
        }
        for told in waiting {
            timeout(LIMIT, told).await.unwrap().expect("answered, not forgotten").ok();
            answered += 1;
        }
        assert_eq!(answered + refused, 120);
        exit(&mut runner).await;
        assert_eq!(send(&runner, message(1)).await, Err(Undelivered));
    }
}

#[tokio::test]
async fn input_stays_open_while_nothing_is_said() {
    let bench = Bench::new();
    let mut runner = bench.run_shell("echo up; read line; echo \"got $line\"").await;
    next_line(&mut runner).await.unwrap();
    assert!(timeout(Duration::from_millis(300), runner.lines.recv()).await.is_err(), "no end of input");
    send(&runner, shutdown()).await.unwrap();
    assert!(next_line(&mut runner).await.unwrap().starts_with(b"got {"));
    exit(&mut runner).await;
}
