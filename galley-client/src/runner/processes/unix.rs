//! Process table, signals and parents.

use rustix::process::{Pid, Signal, getpgrp, getpid, getppid, kill_process};
use std::collections::HashSet;
use std::thread;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How often the parent is looked at.
const POLL: Duration = Duration::from_secs(1);

/// How often what is left is killed, before a program that forks for ever is given up.
const ROUNDS: u32 = 5;

/// A running process. `started` tells it from a later one with the same id.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    started: String,
}

/// Waits for the end of process `pid`.
pub(in crate::runner) async fn gone(pid: i32) {
    let parent = || getppid().map(Pid::as_raw_pid);
    // Our own parent: an orphan gets another one, so a reused id cannot deceive.
    let own = parent() == Some(pid);
    let first = platform::process(pid);
    let alive = || if own { parent() == Some(pid) } else { first.is_some() && platform::process(pid) == first };
    while alive() {
        tokio::time::sleep(POLL).await;
    }
}

/// Waits for SIGTERM.
pub(in crate::runner) async fn terminated() {
    match signal(SignalKind::terminate()) {
        Ok(mut signals) => drop(signals.recv().await),
        Err(error) => {
            tracing::warn!(%error, "SIGTERM cannot be listened to");
            std::future::pending().await
        }
    }
}

/// Kills what this process and its children have started: all below it, and all in its process
/// group when it leads one.
pub(in crate::runner) fn end_descendants() {
    for _ in 0..ROUNDS {
        let doomed = descendants(&platform::processes());
        if doomed.is_empty() {
            return;
        }
        for pid in doomed.into_iter().filter_map(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn descendants(table: &[Process]) -> HashSet<i32> {
    let own = getpid().as_raw_pid();
    let leads = getpgrp().as_raw_pid() == own;
    let mut found = HashSet::new();
    loop {
        let below = |process: &&Process| process.parent == own || found.contains(&process.parent) || (leads && process.group == own);
        let new: Vec<i32> =
            table.iter().filter(|process| process.pid != own && !found.contains(&process.pid)).filter(below).map(|process| process.pid).collect();
        if new.is_empty() {
            return found;
        }
        found.extend(new);
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use super::Process;
    use std::fs;

    pub(super) fn processes() -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries.filter_map(|entry| process(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
    }

    /// The process with this id, unless it has ended.
    pub(super) fn process(pid: i32) -> Option<Process> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name, in parentheses, may hold anything.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
        let [state, parent, group, ..] = fields[..] else { return None };
        let started = (*fields.get(19)?).to_owned();
        (!matches!(state, "Z" | "X")).then_some(Process { pid, parent: parent.parse().ok()?, group: group.parse().ok()?, started })
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use super::Process;
    use std::io;
    use std::process::{Command, Stdio};

    pub(super) fn processes() -> Vec<Process> {
        listed(&["-A"]).unwrap_or_default()
    }

    pub(super) fn process(pid: i32) -> Option<Process> {
        listed(&["-p", &pid.to_string()]).ok()?.pop()
    }

    /// Processes as `ps` lists them, without itself and without the dead.
    fn listed(which: &[&str]) -> io::Result<Vec<Process>> {
        let mut command = Command::new("ps");
        command.args(which).args(["-o", "pid=,ppid=,pgid=,state=,lstart="]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn()?;
        let own = i32::try_from(child.id()).unwrap_or_default();
        let output = child.wait_with_output()?;
        let process = |line: &str| {
            let mut fields = line.split_whitespace();
            let [pid, parent, group] = [fields.next()?, fields.next()?, fields.next()?].map(str::parse);
            let state = fields.next()?;
            let started = fields.collect::<Vec<_>>().join(" ");
            (!state.starts_with('Z')).then_some(Process { pid: pid.ok()?, parent: parent.ok()?, group: group.ok()?, started })
        };
        Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(process).filter(|process| process.pid != own).collect())
    }
}
