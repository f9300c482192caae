//! The machine's process table: who descends from whom, who carries which mark.

pub(crate) use platform::{Found, carriers, descendants};

/// The value of [`VARIABLE`](super::marker::VARIABLE) in a block of `NAME=value` entries.
#[cfg(any(target_os = "linux", test))]
fn mark_in(environ: &[u8]) -> Option<&str> {
    let entry = |entry: &'_ [u8]| entry.strip_prefix(super::marker::VARIABLE.as_bytes())?.strip_prefix(b"=").map(<[u8]>::len);
    let found = environ.split(|byte| *byte == 0).find_map(|e| entry(e).map(|len| &e[e.len() - len..]))?;
    std::str::from_utf8(found).ok()
}

#[cfg(target_os = "linux")]
mod platform {
    use super::mark_in;
    use rustix::io::Errno;
    use rustix::process::{Pid, PidfdFlags, Signal, geteuid, kill_process, pidfd_open, pidfd_send_signal};
    use std::collections::HashMap;
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::MetadataExt;
    use std::thread;
    use std::time::Duration;

    /// No environment is larger: the kernel allows a quarter of the stack limit.
    const MAX_ENVIRON: usize = 8 * 1024 * 1024;

    /// Room for nearly every one, in bytes.
    const USUAL_ENVIRON: usize = 64 * 1024;

    /// A process of the table. Holds on to the process itself where the kernel can (5.3 and later),
    /// not to its number, which may be another's by the time it is used.
    #[derive(Debug)]
    pub(crate) struct Found {
        pid: Pid,
        handle: Option<OwnedFd>,
    }

    impl Found {
        fn open(pid: u32) -> Option<Self> {
            let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(handle) => Some(Self { pid, handle: Some(handle) }),
                Err(Errno::NOSYS | Errno::PERM | Errno::MFILE | Errno::NFILE) => Some(Self { pid, handle: None }),
                Err(_) => None,
            }
        }

        /// Kills it, whatever it does. No error when it is gone.
        pub(crate) fn kill(&self) {
            let killed = match &self.handle {
                Some(handle) => pidfd_send_signal(handle, Signal::KILL),
                None => kill_process(self.pid, Signal::KILL),
            };
            if let Err(error) = killed
                && error != Errno::SRCH
            {
                tracing::warn!(pid = self.pid.as_raw_nonzero().get(), %error, "cannot kill a process");
            }
        }
    }

    /// The processes of this user whose mark `wanted` accepts, without this one.
    pub(crate) fn carriers(wanted: &dyn Fn(&str) -> bool) -> Vec<Found> {
        let (own, user) = (std::process::id(), geteuid().as_raw());
        let mut environ = Vec::new();
        let mut carries = |pid: u32| {
            read_environ(pid, &mut environ);
            mark_in(&environ).is_some_and(wanted) && fs::metadata(format!("/proc/{pid}")).is_ok_and(|entry| entry.uid() == user)
        };
        let mut found = Vec::new();
        for pid in pids().filter(|pid| *pid != own) {
            // Looked at again once the handle is open: from there on it is certainly the same one.
            if carries(pid)
                && let Some(process) = Found::open(pid)
                && carries(pid)
            {
                found.push(process);
            }
        }
        found
    }

    /// All that descend from `root` by parent at this moment, without `root`. A process whose
    /// parent has ended belongs to somebody else by then.
    pub(crate) fn descendants(root: u32) -> Vec<Found> {
        let mut children: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
        for pid in pids() {
            if let Some((parent, started)) = stat(pid) {
                children.entry(parent).or_default().push((pid, started));
            }
        }
        let mut found = children.remove(&root).unwrap_or_default();
        let mut at = 0;
        while at < found.len() {
            found.extend(children.remove(&found[at].0).unwrap_or_default());
            at += 1;
        }
        let same = |(pid, started): &(u32, u64)| Found::open(*pid).filter(|_| stat(*pid).is_some_and(|(_, now)| now == *started));
        found.iter().filter_map(same).collect()
    }

    /// Reads a process's environment; empty for one that is gone, a zombie, or not ours to look at.
    ///
    /// While a process becomes another program it has none for a moment, which would hide it from
    /// a sweep: that moment is waited out.
    fn read_environ(pid: u32, environ: &mut Vec<u8>) {
        const LOOKS: u32 = 50;
        let mut size = USUAL_ENVIRON;
        let mut before = None;
        for _ in 0..LOOKS {
            environ.resize(size, 0);
            // In one call, for which the kernel keeps the memory: between two, `execve` could take
            // it away, and with it the part that has the mark.
            let read = File::open(format!("/proc/{pid}/environ")).and_then(|mut file| file.read(environ));
            environ.truncate(read.unwrap_or(0));
            if environ.len() == size && size < MAX_ENVIRON {
                size = MAX_ENVIRON;
                continue;
            }
            if !environ.is_empty() {
                return;
            }
            match environment_span(pid) {
                None => return,
                // Amid `execve` nothing is said yet, or the end not yet; then the next look differs.
                Some((start, end)) if start == end && end != 0 && before == Some((start, end)) => return,
                span => before = span,
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Where a process's environment starts and ends in its memory; `None` for one that has no memory
    /// any more (it is gone or a zombie) or never had (a thread of the kernel).
    fn environment_span(pid: u32) -> Option<(u64, u64)> {
        const KERNEL_THREAD: u32 = 0x0020_0000;
        stat_fields(pid, |fields| {
            let flags: u32 = fields.get(6)?.parse().ok()?;
            let runs = !matches!(*fields.first()?, "Z" | "X") && flags & KERNEL_THREAD == 0;
            let span = (fields.get(47)?.parse().ok()?, fields.get(48)?.parse().ok()?);
            runs.then_some(span)
        })
    }

    fn pids() -> impl Iterator<Item = u32> {
        fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
    }

    /// Parent and start time (in ticks since boot) of a process.
    fn stat(pid: u32) -> Option<(u32, u64)> {
        stat_fields(pid, |fields| Some((fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?)))
    }

    /// The fields of a process's `stat` line after its name: the state first.
    fn stat_fields<T>(pid: u32, read: impl FnOnce(&[&str]) -> Option<T>) -> Option<T> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The program's name comes first, in parentheses, and may contain anything.
        let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
        read(&std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace().collect::<Vec<_>>())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_stat_line_gives_parent_and_start() {
            let (parent, started) = stat(std::process::id()).unwrap();
            assert_eq!(parent, std::os::unix::process::parent_id());
            assert!(started > 0);
            assert!(stat(u32::MAX).is_none());
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod platform {
    use crate::runner::marker::VARIABLE;
    use rustix::process::{Pid, Signal, kill_process};
    use std::collections::HashMap;
    use std::process::Command;

    /// A process of the table.
    #[derive(Debug)]
    pub(crate) struct Found(Pid);

    impl Found {
        /// Kills it, whatever it does. No error when it is gone.
        pub(crate) fn kill(&self) {
            // The only other error is that it became somebody else's.
            let _ = kill_process(self.0, Signal::KILL);
        }
    }

    /// The processes of this user whose mark `wanted` accepts, without this one.
    pub(crate) fn carriers(wanted: &dyn Fn(&str) -> bool) -> Vec<Found> {
        // `E` (BSD `e`) appends the environment to the command, for the user's own processes.
        let listing = ps(&["-xEww", "-o", "pid=,command="]);
        let entry = format!(" {VARIABLE}=");
        let carries = |line: &&str| line.rsplit_once(&entry).is_some_and(|(_, rest)| rest.split(' ').next().is_some_and(wanted));
        listing.lines().filter(carries).filter_map(|line| line.split_whitespace().next()).filter_map(found).collect()
    }

    /// All that descend from `root` by parent at this moment, without `root`.
    pub(crate) fn descendants(root: u32) -> Vec<Found> {
        let listing = ps(&["-ax", "-o", "ppid=,pid="]);
        let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
        for (parent, pid) in listing.lines().filter_map(|line| line.trim().split_once(char::is_whitespace)) {
            children.entry(parent).or_default().push(pid.trim());
        }
        let mut pids = children.remove(root.to_string().as_str()).unwrap_or_default();
        let mut at = 0;
        while at < pids.len() {
            pids.extend(children.remove(pids[at]).unwrap_or_default());
            at += 1;
        }
        pids.into_iter().filter_map(found).collect()
    }

    fn found(pid: &str) -> Option<Found> {
        let pid = pid.parse::<i32>().ok().filter(|pid| u32::try_from(*pid) != Ok(std::process::id()))?;
        Pid::from_raw(pid).map(Found)
    }

    fn ps(arguments: &[&str]) -> String {
        match Command::new("ps").args(arguments).output() {
            Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
            Err(error) => {
                tracing::warn!(%error, "cannot list processes");
                String::new()
            }
        }
    }
}

/// Job objects hold every descendant; there is nothing to look for.
#[cfg(windows)]
mod platform {
    /// A process of the table; there is none.
    #[derive(Debug)]
    pub(crate) enum Found {}

    impl Found {
        pub(crate) fn kill(&self) {
            match *self {}
        }
    }

    pub(crate) fn carriers(_wanted: &dyn Fn(&str) -> bool) -> Vec<Found> {
        Vec::new()
    }

    pub(crate) fn descendants(_root: u32) -> Vec<Found> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_a_whole_entry() {
        assert_eq!(mark_in(b"A=1\0GALLEY_OWNER=h.i.s.1\0B=2\0"), Some("h.i.s.1"));
        assert_eq!(mark_in(b"GALLEY_OWNER=\0"), Some(""));
        assert_eq!(mark_in(b"X_GALLEY_OWNER=a\0GALLEY_OWNERS=b\0A=GALLEY_OWNER=c\0"), None);
        assert_eq!(mark_in(b"GALLEY_OWNER=\xff\0"), None);
        assert_eq!(mark_in(b""), None);
    }
}
