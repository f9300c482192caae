//! What a runner says: nothing lost, nothing unbounded.

use super::*;
use galley_protocol::framing::MAX_LINE;
use galley_protocol::ipc::Event;
use std::time::Instant;

#[tokio::test]
async fn lines_arrive_as_they_are_and_before_the_exit() {
    let bench = Bench::new();
    let mut runner = bench.run_shell(r"printf 'a\n\n\377\376 not text\r\n{}\nlast'; exit 4").await;
    assert_eq!(exit(&mut runner).await.code, Some(4));
    let mut lines = Vec::new();
    while let Ok(line) = runner.lines.try_recv() {
        lines.push(line);
    }
    assert_eq!(lines, [&b"a"[..], b"", b"\xff\xfe not text", b"{}", b"last"]);
}

#[tokio::test]
async fn many_lines_arrive_whole_and_in_order_when_the_reader_is_slow() {
    let bench = Bench::new();
    let mut runner = bench.testkit_runner("emit 20000 300; exit 0").await;
    let mut next = 0;
    while let Some(line) = next_line(&mut runner).await {
        let event: serde_json::Value = serde_json::from_slice(&line).unwrap();
        if let Some(seq) = event.get("seq") {
            assert_eq!(seq, next);
            next += 1;
        }
        if next % 4000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(next, 20000);
    assert!(exit(&mut runner).await.is_clean());
}

#[tokio::test]
async fn a_huge_line_becomes_one_event_and_memory_stays_bounded() {
    let bench = Bench::new();
    let mut runner = bench.testkit_runner("big_line 100MB; raw {\"kind\":\"good\"}; exit 0").await;
    let before = resident();
    let mut highest = 0;
    let mut lines = Vec::new();
    loop {
        highest = highest.max(resident());
        match timeout(Duration::from_millis(1), runner.lines.recv()).await {
            Ok(Some(line)) => lines.push(line),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    let malformed = lines.iter().find_map(|line| match Event::from_line(line) {
        Ok(Event::Malformed(event)) => Some(event),
        _ => None,
    });
    let malformed = malformed.expect("the line is reported");
    assert_eq!((malformed.source.as_str(), malformed.bytes), ("core", Some(100_000_000)));
    assert!(malformed.line.starts_with('{') && malformed.line.len() <= 4096);
    assert!(lines.iter().any(|line| &line[..] == br#"{"kind":"good"}"#), "the next line is read as usual");
    let growth = highest.saturating_sub(before);
    // The other tests of this process have a part in it; the line alone would be 100 MB.
    assert!(growth < 5 * MAX_LINE, "grew by {growth} bytes");
    exit(&mut runner).await;
}

/// Lines just under the cap that nobody reads: as many as fit in the queue would be gigabytes.
#[tokio::test]
async fn unread_lines_are_bounded_in_bytes() {
    let bench = Bench::new();
    let mut runner = bench.testkit_runner("repeat 20 { big_line 8MB }; exit 0").await;
    let mut big = 0;
    while let Some(line) = next_line(&mut runner).await {
        assert!(runner.lines.len() <= 1, "{} lines wait", runner.lines.len());
        big += usize::from(line.len() == 8_000_000);
    }
    assert_eq!(big, 20);
    exit(&mut runner).await;
}

#[tokio::test]
async fn a_flood_of_errors_leaves_its_last_lines_and_hurts_nothing() {
    let bench = Bench::new();
    let mut runner = bench.testkit_runner("stderr 200000 200; raw done; exit 3").await;
    let lines = rest(&mut runner).await;
    assert!(lines.iter().any(|line| &line[..] == b"done"));
    let exit = exit(&mut runner).await;
    assert_eq!((exit.code, exit.stderr_tail.len()), (Some(3), 8));
    assert!(exit.stderr_tail.iter().all(|line| line.len() <= 4096), "{:?}", exit.stderr_tail);
}

#[tokio::test]
async fn a_runner_that_closes_its_output_but_lives_can_be_ended() {
    let bench = Bench::new();
    let mut runner = bench.run_shell("echo up; exec 1>&-; read line; sleep 600").await;
    assert_eq!(rest(&mut runner).await.len(), 1);
    assert!(runner.exit.try_recv().is_err());
    runner.control.kill();
    assert_eq!(exit(&mut runner).await.signal, Some(9));
}

/// A process that Core cannot find holds the pipe: no mark, no group, no parent.
#[tokio::test]
async fn somebody_else_holding_the_pipe_delays_the_end_by_a_moment_only() {
    let bench = Bench::new();
    let script = "env -i setsid sh -c 'echo $$; exec sleep 600' & read answer; exit 5";
    let mut runner = bench.run_shell(script).await;
    let holder = next_pid(&mut runner).await;
    let started = Instant::now();
    send(&runner, shutdown()).await.unwrap();
    assert!(next_line(&mut runner).await.is_none());
    assert_eq!(exit(&mut runner).await.code, Some(5));
    let took = started.elapsed();
    assert!(!process_gone(holder), "it was not found, as expected");
    assert!(took >= Duration::from_millis(200) && took < Duration::from_millis(1500), "{took:?}");
    signal(holder, Signal::KILL);
}

#[tokio::test]
async fn a_kill_works_while_nobody_reads() {
    let bench = Bench::new();
    let mut runner = bench.run_shell("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done").await;
    let pid = runner.pid.unwrap();
    next_line(&mut runner).await.unwrap();
    wait_until_async(|| runner.lines.len() == 1024).await;
    runner.control.kill();
    wait_until_async(|| process_gone(pid)).await;
    assert!(rest(&mut runner).await.len() >= 1024, "what was said is still there");
    assert_eq!(exit(&mut runner).await.signal, Some(9));
}

async fn wait_until_async(mut condition: impl FnMut() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(LIMIT, wait).await.expect("the condition");
}

impl Bench {
    async fn testkit_runner(&self, script: &str) -> Runner {
        self.start("s", &self.testkit(script)).await
    }
}

/// This process's memory, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}
