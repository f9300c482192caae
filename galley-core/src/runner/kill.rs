//! Ending everything an agent started, however it hid.
//!
//! All of this blocks for some milliseconds (it reads the process table): not for an async thread.

use super::{marker, table};
use std::thread;
use std::time::{Duration, Instant};

/// How long a sweep goes on finding processes before it gives up on them.
const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// Kills process group `pid` and all that descend from process `pid` by parent, also those that
/// left the group.
pub(crate) fn tree(pid: u32) {
    // Looked up first: with the parent's death a process stops being its descendant.
    let descendants = table::descendants(pid);
    group(pid);
    descendants.iter().for_each(table::Found::kill);
}

/// Kills what carries `mark` or a narrower one, again and again until nothing does. Never this
/// process.
pub(crate) fn marked(mark: &str) {
    sweep(&|value| marker::covers(mark, value));
}

/// [`marked`], for any set of marks.
pub(crate) fn sweep(wanted: &dyn Fn(&str) -> bool) {
    let deadline = Instant::now() + SWEEP_LIMIT;
    let mut pause = Duration::from_micros(200);
    loop {
        let found = table::carriers(wanted);
        if found.is_empty() {
            return;
        }
        if Instant::now() >= deadline {
            tracing::warn!(left = found.len(), "processes of an agent do not end although they were killed");
            return;
        }
        found.iter().for_each(table::Found::kill);
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

#[cfg(unix)]
fn group(pid: u32) {
    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, kill_process_group};
    let Some(group) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    match kill_process_group(group, Signal::KILL) {
        // macOS says EPERM of a group that holds only zombies.
        Ok(()) | Err(Errno::SRCH | Errno::PERM) => {}
        Err(error) => tracing::warn!(pid, %error, "cannot kill a process group"),
    }
}

/// The job object is terminated by its owner.
#[cfg(windows)]
fn group(_pid: u32) {}
