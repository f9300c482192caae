//! What runs on this machine, as a test sees it.

use std::collections::HashMap;
use std::io;

/// Whether process `pid` no longer runs. One that has ended but was not waited for counts as gone.
pub fn process_gone(pid: u32) -> bool {
    platform::gone(pid)
}

/// The processes that descend from `pid` by parent, at this moment, without `pid` itself, parents
/// before children. A process whose parent has ended is no longer among them.
///
/// # Errors
/// When the process table cannot be read (`Unsupported` on Windows).
pub fn descendants(pid: u32) -> io::Result<Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for (child, parent) in platform::parents()? {
        children.entry(parent).or_default().push(child);
    }
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        found.extend(children.remove(&found[at]).unwrap_or_default());
        at += 1;
    }
    found.remove(0);
    Ok(found)
}

/// The running processes whose environment contains `needle`, as far as this user may look.
///
/// # Errors
/// When the process table cannot be read (`Unsupported` on Windows).
pub fn marked_processes(needle: &str) -> io::Result<Vec<u32>> {
    platform::marked(needle)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::{fs, io};

    /// The fields of `/proc/PID/stat` after the program's name, which may itself contain anything.
    fn stat(pid: u32) -> Option<(char, u32)> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
    }

    fn pids() -> io::Result<impl Iterator<Item = u32>> {
        Ok(fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
    }

    pub(super) fn gone(pid: u32) -> bool {
        stat(pid).is_none_or(|(state, _)| matches!(state, 'Z' | 'X'))
    }

    pub(super) fn parents() -> io::Result<Vec<(u32, u32)>> {
        Ok(pids()?.filter_map(|pid| stat(pid).filter(|(state, _)| *state != 'Z').map(|(_, parent)| (pid, parent))).collect())
    }

    pub(super) fn marked(needle: &str) -> io::Result<Vec<u32>> {
        let carries = |pid: &u32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.windows(needle.len().max(1)).any(|window| window == needle.as_bytes())
        };
        Ok(pids()?.filter(carries).collect())
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod platform {
    use std::io;
    use std::process::Command;

    fn ps(arguments: &[&str]) -> io::Result<String> {
        let output = Command::new("ps").args(arguments).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(super) fn gone(pid: u32) -> bool {
        let state = ps(&["-o", "state=", "-p", &pid.to_string()]).unwrap_or_default();
        state.trim().is_empty() || state.trim().starts_with('Z')
    }

    pub(super) fn parents() -> io::Result<Vec<(u32, u32)>> {
        let pair = |line: &str| {
            let mut fields = line.split_whitespace();
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        };
        Ok(ps(&["-axo", "pid=,ppid="])?.lines().filter_map(pair).collect())
    }

    pub(super) fn marked(needle: &str) -> io::Result<Vec<u32>> {
        let listing = ps(&["-axEwwo", "pid=,command="])?;
        Ok(listing.lines().filter(|line| line.contains(needle)).filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect())
    }
}

#[cfg(windows)]
mod platform {
    use std::io;
    use std::process::Command;

    pub(super) fn gone(pid: u32) -> bool {
        let filter = format!("PID eq {pid}");
        let listing = Command::new("tasklist").args(["/NH", "/FO", "CSV", "/FI", &filter]).output();
        listing.is_ok_and(|output| !String::from_utf8_lossy(&output.stdout).contains(&format!("\"{pid}\"")))
    }

    pub(super) fn parents() -> io::Result<Vec<(u32, u32)>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn marked(_needle: &str) -> io::Result<Vec<u32>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
