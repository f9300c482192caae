//! The guard: one small process that ends an agent's processes when Core itself is gone, however
//! it went (`kill -9` included).
//!
//! It is a shell running `guard.sh`, tied to Core by nothing but a pipe. It is told Core's mark
//! before the first agent starts, so that an agent whose group was not yet reported is found too.
//! Core's own end, an orderly one included, is the end of that pipe.

use super::descriptors::{Descriptors, Listed};
use process_wrap::std::{ChildWrapper, CommandWrap, ProcessSession};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

const SCRIPT: &str = include_str!("guard.sh");

/// Starts the guard when it is first needed, and again should it die.
#[derive(Debug)]
pub(crate) struct Guard {
    mark: String,
    shell: Vec<String>,
    descriptors: Descriptors,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    process: Option<GuardProcess>,
    groups: BTreeSet<u32>,
}

#[derive(Debug)]
struct GuardProcess {
    _listed: Listed,
    stdin: ChildStdin,
    child: Box<dyn ChildWrapper>,
}

/// A process group the guard answers for, until dropped.
#[derive(Debug)]
pub(crate) struct Held {
    guard: Arc<Guard>,
    group: u32,
}

impl Guard {
    /// A guard for what carries `mark`.
    pub(crate) fn new(mark: &str, descriptors: Descriptors) -> Arc<Self> {
        Self::with_shell(&["/bin/sh"], mark, descriptors)
    }

    pub(crate) fn with_shell(shell: &[&str], mark: &str, descriptors: Descriptors) -> Arc<Self> {
        let shell = shell.iter().map(|&word| word.to_owned()).collect();
        Arc::new(Self { mark: mark.to_owned(), shell, descriptors, state: Mutex::default() })
    }

    /// Makes sure the guard runs: call it before starting a process.
    pub(crate) fn ready(&self) {
        self.tell(&mut self.state(), "");
    }

    /// Puts process group `group` under guard.
    pub(crate) fn hold(self: &Arc<Self>, group: u32) -> Held {
        let mut state = self.state();
        state.groups.insert(group);
        self.tell(&mut state, &format!("+{group}"));
        drop(state);
        Held { guard: Arc::clone(self), group }
    }

    /// Tells the guard `line`; a new guard is told everything.
    fn tell(&self, state: &mut State, line: &str) {
        if !self.descriptors.are_ours() {
            return;
        }
        if let Some(process) = &mut state.process {
            match process.say(&format!("{line}\n")) {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "the process guard is gone or stands still; starting another"),
            }
        }
        if let Some(old) = state.process.take() {
            old.kill();
        }
        match self.start(&state.groups) {
            Ok(process) => state.process = Some(process),
            Err(error) => tracing::warn!(%error, "cannot start the process guard: agents may outlive a Core that is killed"),
        }
    }

    fn start(&self, groups: &BTreeSet<u32>) -> io::Result<GuardProcess> {
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        path.push(OsString::from(if path.is_empty() { "/usr/bin:/bin" } else { ":/usr/bin:/bin" }));
        let mut command = Command::new(&self.shell[0]);
        command.args(&self.shell[1..]).args(["-c", SCRIPT, "galley-guard"]).arg(path);
        command.env_clear().stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = CommandWrap::from(command).wrap(ProcessSession).spawn()?;
        let stdin = child.stdin().take().ok_or(io::ErrorKind::BrokenPipe)?;
        // A guard that stands still must not make Core stand still.
        let flags = rustix::fs::fcntl_getfl(&stdin)?;
        rustix::fs::fcntl_setfl(&stdin, flags | rustix::fs::OFlags::NONBLOCK)?;
        let mut process = GuardProcess { _listed: self.descriptors.list(&stdin), stdin, child };
        process.say(&format!("={}\n", self.mark))?;
        for group in groups {
            process.say(&format!("+{group}\n"))?;
        }
        Ok(process)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The guard's process id, when it runs.
    #[cfg(test)]
    pub(crate) fn pid(&self) -> Option<u32> {
        self.state().process.as_ref().map(|process| process.child.id())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let process = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).process.take();
        if let Some(GuardProcess { _listed, stdin, mut child }) = process
            && self.descriptors.are_ours()
        {
            drop((_listed, stdin));
            // Somebody has to wait for it, or it stays a zombie for as long as the host lives. It
            // ends in some milliseconds, and its status means nothing.
            let _ = thread::Builder::new().name("galley-guard-reaper".to_owned()).spawn(move || child.wait());
        }
    }
}

impl GuardProcess {
    /// Lines are far shorter than a pipe's atomic write, so each is taken whole or not at all.
    fn say(&mut self, line: &str) -> io::Result<()> {
        match self.stdin.write(line.as_bytes())? {
            written if written == line.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Kills it before its pipe is closed: it must not do its work while Core lives.
    fn kill(mut self) {
        let _ = self.child.start_kill();
        let _ = self.child.wait();
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.guard.state();
        state.groups.remove(&self.group);
        // Without a guard there is nothing to take back.
        if state.process.is_some() {
            self.guard.tell(&mut state, &format!("-{}", self.group));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::marker::VARIABLE;
    use super::*;
    use galley_testkit::{process_gone, wait_until};
    use rustix::process::{Pid, Signal, kill_process};
    use std::os::unix::process::CommandExt;
    use std::process::Child;
    use std::time::Duration;

    const SOON: Duration = Duration::from_secs(5);

    /// Every POSIX shell of this machine that a system could have as `/bin/sh`.
    fn shells() -> Vec<Vec<&'static str>> {
        let known = [vec!["/bin/sh"], vec!["dash"], vec!["bash", "--posix"], vec!["busybox", "sh"], vec!["ksh"], vec!["mksh"]];
        let works = |shell: &Vec<&str>| Command::new(shell[0]).args(&shell[1..]).args(["-c", "exit 0"]).status().is_ok_and(|s| s.success());
        known.into_iter().filter(works).collect()
    }

    /// A process in a group of its own, ended with the test.
    struct Sleeper(Child);

    impl Sleeper {
        fn new(mark: Option<&str>) -> Self {
            let mut command = Command::new("sleep");
            command.arg("600").process_group(0).env_remove(VARIABLE);
            if let Some(mark) = mark {
                command.env(VARIABLE, mark);
            }
            Self(command.spawn().unwrap())
        }

        fn pid(&self) -> u32 {
            self.0.id()
        }

        fn gone(&self) -> bool {
            process_gone(self.pid())
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            // It may be gone already, as the test expects.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn signal(pid: u32, signal: Signal) {
        kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
    }

    /// Closes the guard's pipe as the death of Core does: with groups held.
    fn die(guard: &Guard) {
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        drop(reader);
        guard.state().process.as_mut().unwrap().stdin = ChildStdin::from(writer);
    }

    #[cfg(target_os = "linux")]
    fn ignores_terminate(pid: u32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        u64::from_str_radix(ignored.trim(), 16).unwrap() & (1 << (Signal::TERM.as_raw() - 1)) != 0
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_ignores_the_polite_signals() {
        let guard = Guard::new(&format!("guard{}signals.i1", std::process::id()), Descriptors::new());
        guard.ready();
        let pid = guard.pid().unwrap();
        wait_until(SOON, "it has set its traps", || ignores_terminate(pid)).unwrap();
        for polite in [Signal::INT, Signal::TERM, Signal::HUP] {
            signal(pid, polite);
        }
        let group = Sleeper::new(None);
        std::mem::forget(guard.hold(group.pid()));
        assert_eq!(guard.pid(), Some(pid));
        die(&guard);
        wait_until(SOON, "it does its work", || group.gone() && process_gone(pid)).unwrap();
    }

    #[test]
    fn under_every_shell_it_kills_groups_and_carriers_and_nothing_else() {
        let shells = shells();
        assert_eq!(shells[0], ["/bin/sh"]);
        for (number, shell) in shells.iter().enumerate() {
            let mark = format!("guard{}x{number}.i1", std::process::id());
            let guard = Guard::with_shell(shell, &mark, Descriptors::new());
            guard.ready();
            let (group, left) = (Sleeper::new(None), Sleeper::new(None));
            let marked = Sleeper::new(Some(&format!("{mark}.s.1")));
            let (other, stranger) = (Sleeper::new(Some(&format!("{mark}0.s.1"))), Sleeper::new(None));
            std::mem::forget(guard.hold(group.pid()));
            drop(guard.hold(left.pid()));
            let pid = guard.pid().unwrap();
            assert!(!group.gone() && !marked.gone(), "nothing happens while Core lives");
            die(&guard);
            wait_until(SOON, &format!("{shell:?} kills"), || group.gone() && marked.gone()).unwrap();
            wait_until(SOON, &format!("{shell:?} ends"), || process_gone(pid)).unwrap();
            for spared in [&left, &other, &stranger] {
                assert!(!spared.gone(), "{shell:?} killed a stranger");
            }
        }
    }

    #[test]
    fn a_guard_that_died_or_stands_still_is_replaced_and_told_everything() {
        let mark = format!("guard{}replaced.i1", std::process::id());
        let guard = Guard::new(&mark, Descriptors::new());
        let group = Sleeper::new(None);
        std::mem::forget(guard.hold(group.pid()));
        let first = guard.pid().unwrap();
        signal(first, Signal::KILL);
        wait_until(SOON, "the guard dies", || process_gone(first)).unwrap();
        guard.ready();
        let second = guard.pid().unwrap();
        assert_ne!(first, second);
        signal(second, Signal::STOP);
        // Until its pipe is full.
        wait_until(SOON, "the stopped guard is replaced", || {
            for _ in 0..1000 {
                guard.ready();
            }
            guard.pid() != Some(second)
        })
        .unwrap();
        assert!(process_gone(second));
        assert!(!group.gone(), "a guard that is replaced kills nothing");
        let third = guard.pid().unwrap();
        die(&guard);
        wait_until(SOON, "the third knows the group", || group.gone() && process_gone(third)).unwrap();
    }
}
