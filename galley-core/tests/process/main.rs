//! Runners as processes: spoken to, listened to, and ended in every way there is.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod conformance;
mod core_death;
mod ending;
mod input;
mod output;
mod starting;

use bytes::Bytes;
use galley_core::runner::{Delivery, Exit, ProcessBackend, Runner, RunnerManager, Undelivered};
use galley_protocol::ipc::{Command, Shutdown, UserMessage};
use galley_testkit::{process_gone, runner_path, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Long enough for anything that happens at all, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(20);

/// A manager on a lock file of its own.
struct Bench {
    manager: RunnerManager,
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { manager: RunnerManager::new(&folder.path().join("galley.lock")), folder }
    }

    /// A backend for a shell script.
    fn shell(&self, script: &str) -> ProcessBackend {
        self.backend(["sh", "-c", script])
    }

    /// A backend for the test kit's runner, which plays `script` first.
    fn testkit(&self, script: &str) -> ProcessBackend {
        self.backend([runner_path().unwrap().to_str().unwrap(), "--on-start", script])
    }

    fn backend<const N: usize>(&self, command: [&str; N]) -> ProcessBackend {
        ProcessBackend::new(&self.manager, command.map(str::to_owned).to_vec(), None, Vec::new()).unwrap()
    }

    async fn start(&self, session: &str, backend: &ProcessBackend) -> Runner {
        self.manager.start(backend, self.manager.spec(session)).await.unwrap()
    }

    async fn run_shell(&self, script: &str) -> Runner {
        self.start("s", &self.shell(script)).await
    }

    /// The mark all processes of this manager carry.
    fn mark(&self) -> String {
        let spec = self.manager.spec("x");
        format!("GALLEY_OWNER={}.", spec.marker.splitn(3, '.').take(2).collect::<Vec<_>>().join("."))
    }
}

async fn next_line(runner: &mut Runner) -> Option<Bytes> {
    timeout(LIMIT, runner.lines.recv()).await.expect("a line or the end of the lines")
}

/// The next line, as a number.
async fn next_pid(runner: &mut Runner) -> u32 {
    let line = next_line(runner).await.unwrap();
    std::str::from_utf8(&line).unwrap().trim().parse().unwrap()
}

/// All lines up to the end.
async fn rest(runner: &mut Runner) -> Vec<Bytes> {
    let mut lines = Vec::new();
    while let Some(line) = next_line(runner).await {
        lines.push(line);
    }
    lines
}

async fn exit(runner: &mut Runner) -> Exit {
    timeout(LIMIT, &mut runner.exit).await.expect("an exit").unwrap()
}

fn message(size: usize) -> Command {
    Command::UserMessage(UserMessage { text: "x".repeat(size), ..UserMessage::default() })
}

fn shutdown() -> Command {
    Command::Shutdown(Shutdown::default())
}

/// Puts a command into the runner's queue; `Err` when the queue is closed.
async fn enqueue(runner: &Runner, command: Command) -> Result<oneshot::Receiver<Result<(), Undelivered>>, Undelivered> {
    let (done, told) = oneshot::channel();
    runner.commands.send(Delivery { command, done }).await.map_err(|_| Undelivered)?;
    Ok(told)
}

async fn send(runner: &Runner, command: Command) -> Result<(), Undelivered> {
    timeout(LIMIT, enqueue(runner, command).await?).await.expect("an answer").expect("every delivery is answered")
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// A process of the test's own, ended with it.
struct Sleeper(std::process::Child);

impl Sleeper {
    fn new(marker: &str) -> Self {
        Self(std::process::Command::new("sleep").arg("600").env("GALLEY_OWNER", marker).spawn().unwrap())
    }

    fn gone(&self) -> bool {
        process_gone(self.0.id())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // It may be gone already, as some tests expect.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn assert_all_end(pids: &[u32]) {
    wait_until(LIMIT, &format!("{pids:?} end"), || pids.iter().all(|pid| process_gone(*pid))).unwrap();
}
