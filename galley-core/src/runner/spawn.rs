//! The one place that starts processes, watches them, and ends them.

use super::descriptors::{Descriptors, Listed};
#[cfg(unix)]
use super::guard::{Guard, Held};
use super::kill;
use super::marker::{self, Identity};
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// How long a killed process may take to end.
const REAP_LIMIT: Duration = Duration::from_secs(5);

/// All processes of one Core: who they belong to, and what makes sure that they end with it.
#[derive(Debug)]
pub(crate) struct Processes {
    identity: Identity,
    descriptors: Descriptors,
    #[cfg(unix)]
    guard: Arc<Guard>,
}

/// A process with a group (on Windows, a job object) of its own. Dropping it kills it and all it
/// started.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its standard input, if it is a pipe.
    pub(crate) stdin: Option<Pipe<ChildStdin>>,
    /// Its standard output, if it is a pipe.
    pub(crate) stdout: Option<Pipe<ChildStdout>>,
    /// Its standard error, if it is a pipe.
    pub(crate) stderr: Option<Pipe<ChildStderr>>,
    pid: u32,
    mark: String,
    child: platform::Child,
    #[cfg(unix)]
    _held: Held,
    processes: Arc<Processes>,
    over: bool,
}

/// Our end of a pipe. (The fields are dropped in this order, as [`Listed`] asks for.)
#[derive(Debug)]
pub(crate) struct Pipe<T> {
    _listed: Listed,
    /// The pipe itself.
    pub(crate) end: T,
}

/// How a process ended; nothing is known of one that a host with SIGCHLD ignored took away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// Its exit code.
    pub(crate) code: Option<i32>,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
}

impl Processes {
    /// The processes of a Core that holds `lock_file`.
    pub(crate) fn new(lock_file: &Path) -> Arc<Self> {
        let (identity, descriptors) = (Identity::new(lock_file), Descriptors::new());
        Arc::new(Self {
            #[cfg(unix)]
            guard: Guard::new(identity.instance(), descriptors.clone()),
            identity,
            descriptors,
        })
    }

    /// Who this Core is.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The descriptors a forked child must let go of.
    pub(crate) fn descriptors(&self) -> &Descriptors {
        &self.descriptors
    }

    /// Starts `command`, which says everything but the group and the mark. Must be called inside a
    /// Tokio runtime.
    ///
    /// # Errors
    /// What the operating system says.
    pub(crate) fn spawn(self: &Arc<Self>, mut command: Command, mark: &str) -> io::Result<Process> {
        if !self.descriptors.are_ours() {
            return Err(io::Error::other("this process is a fork of the one that Galley was started in"));
        }
        command.env(marker::VARIABLE, mark);
        // Before the process exists: should Core die in between, the guard knows the mark.
        #[cfg(unix)]
        self.guard.ready();
        let mut child = platform::Child::spawn(command)?;
        let pid = child.pid()?;
        let (stdin, stdout, stderr) = child.pipes();
        Ok(Process {
            stdin: stdin.map(|end| self.pipe(end)),
            stdout: stdout.map(|end| self.pipe(end)),
            stderr: stderr.map(|end| self.pipe(end)),
            pid,
            mark: mark.to_owned(),
            child,
            #[cfg(unix)]
            _held: self.guard.hold(pid),
            processes: Arc::clone(self),
            over: false,
        })
    }

    #[cfg(unix)]
    fn pipe<T: std::os::fd::AsRawFd>(&self, end: T) -> Pipe<T> {
        Pipe { _listed: self.descriptors.list(&end), end }
    }

    #[cfg(windows)]
    fn pipe<T>(&self, end: T) -> Pipe<T> {
        Pipe { _listed: Listed {}, end }
    }

    /// Kills what carries `mark` or a narrower one.
    pub(crate) async fn clean_up(&self, mark: &str) {
        if self.descriptors.are_ours() {
            let mark = mark.to_owned();
            Self::blocking(move || kill::marked(&mark)).await;
        }
    }

    /// Kills what other Cores on the same data started.
    pub(crate) async fn sweep_predecessors(&self) {
        if self.descriptors.are_ours() {
            let identity = self.identity.clone();
            let old = move |mark: &str| marker::covers(identity.owner(), mark) && !marker::covers(identity.instance(), mark);
            Self::blocking(move || kill::sweep(&old)).await;
        }
    }

    /// Runs `work`, which blocks, on a thread of its own; here, when the runtime is shutting down.
    pub(crate) async fn blocking(work: impl Fn() + Clone + Send + 'static) {
        if tokio::task::spawn_blocking(work.clone()).await.is_err() {
            work();
        }
    }
}

impl Process {
    /// Its process id, which is also its group's.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Completes when the process has ended; call it as often as you like. Until
    /// [`end`](Self::end) or [`release`](Self::release) its number stays taken where the system
    /// allows, so that nobody else is killed in its place.
    pub(crate) async fn exited(&mut self) {
        self.child.exited().await;
    }

    /// Kills it, its group, all that descends from it and all that carries its mark, whether it has
    /// ended by itself or not, and reaps it.
    pub(crate) async fn end(mut self) -> Status {
        if self.processes.descriptors.are_ours() {
            self.child.kill();
            let (pid, mark) = (self.pid, self.mark.clone());
            Processes::blocking(move || {
                kill::tree(pid);
                kill::marked(&mark);
            })
            .await;
        }
        self.reap().await
    }

    /// Waits for its end and reaps it; what it started in the background stays (and ends with the
    /// runner).
    pub(crate) async fn release(mut self) -> Status {
        self.exited().await;
        self.reap().await
    }

    async fn reap(&mut self) -> Status {
        let waited = timeout(REAP_LIMIT, self.child.wait()).await;
        self.over = true;
        match waited {
            Ok(Ok(status)) => status.into(),
            // ECHILD: it has ended, and its status went to whoever ignores SIGCHLD.
            Ok(Err(_)) => Status::default(),
            Err(_) => {
                tracing::warn!(pid = self.pid, "a killed process does not end");
                Status::default()
            }
        }
    }
}

impl Drop for Process {
    /// The way out when a task is cancelled, as in a runtime that shuts down: what can be done
    /// without waiting. The guard does the rest.
    fn drop(&mut self) {
        if !self.over && self.processes.descriptors.are_ours() {
            self.child.kill();
            kill::tree(self.pid);
            kill::marked(&self.mark);
        }
    }
}

impl From<ExitStatus> for Status {
    fn from(status: ExitStatus) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        #[cfg(windows)]
        let signal = None;
        Self { code: status.code(), signal }
    }
}

#[cfg(unix)]
mod platform {
    use std::io;
    use std::process::ExitStatus;
    use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

    #[derive(Debug)]
    pub(super) struct Child {
        #[cfg(target_os = "linux")]
        watch: Option<watch::Watch>,
        inner: tokio::process::Child,
    }

    impl Child {
        pub(super) fn spawn(mut command: Command) -> io::Result<Self> {
            let inner = command.process_group(0).spawn()?;
            Ok(Self {
                #[cfg(target_os = "linux")]
                watch: inner.id().and_then(watch::Watch::open),
                inner,
            })
        }

        pub(super) fn pid(&self) -> io::Result<u32> {
            self.inner.id().ok_or_else(|| io::ErrorKind::NotFound.into())
        }

        pub(super) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
            (self.inner.stdin.take(), self.inner.stdout.take(), self.inner.stderr.take())
        }

        pub(super) async fn exited(&mut self) {
            #[cfg(target_os = "linux")]
            if let Some(watch) = &self.watch
                && watch.exited().await.is_ok()
            {
                return;
            }
            // An error is ECHILD, and means the same.
            let _ = self.wait().await;
        }

        /// The group is killed with the tree.
        pub(super) fn kill(&mut self) {}

        #[cfg(target_os = "linux")]
        pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
            self.inner.wait().await
        }

        /// Also notices an end whose SIGCHLD went to a handler of the host's.
        #[cfg(not(target_os = "linux"))]
        pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
            const LOOK: std::time::Duration = std::time::Duration::from_millis(500);
            loop {
                if let Ok(waited) = tokio::time::timeout(LOOK, self.inner.wait()).await {
                    return waited;
                }
                if let Some(status) = self.inner.try_wait()? {
                    return Ok(status);
                }
            }
        }
    }

    /// Notices the end of a process without reaping it, and without SIGCHLD.
    #[cfg(target_os = "linux")]
    mod watch {
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        use std::io;
        use std::os::fd::OwnedFd;
        use tokio::io::Interest;
        use tokio::io::unix::AsyncFd;

        #[derive(Debug)]
        pub(in super::super) struct Watch(AsyncFd<OwnedFd>);

        impl Watch {
            /// `None` on kernels before 5.3.
            #[allow(unsafe_code, reason = "Tokio has no safe way to watch a descriptor it did not make")]
            pub(in super::super) fn open(pid: u32) -> Option<Self> {
                let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
                let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
                // SAFETY: an `OwnedFd` that nobody else has: open, and the same, for as long as it is here.
                unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }.ok().map(Self)
            }

            pub(in super::super) async fn exited(&self) -> io::Result<()> {
                self.0.readable().await.map(drop)
            }
        }
    }
}

#[cfg(windows)]
mod platform {
    use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
    use std::io;
    use std::process::ExitStatus;
    use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
    use windows::Win32::System::Threading::CREATE_NO_WINDOW;

    #[derive(Debug)]
    pub(super) struct Child {
        inner: Box<dyn ChildWrapper>,
    }

    impl Child {
        /// In a job object that ends with its last handle, that is, with this process.
        pub(super) fn spawn(command: Command) -> io::Result<Self> {
            let mut command = CommandWrap::from(command);
            command.wrap(KillOnDrop).wrap(CreationFlags(CREATE_NO_WINDOW)).wrap(JobObject);
            Ok(Self { inner: command.spawn()? })
        }

        pub(super) fn pid(&self) -> io::Result<u32> {
            self.inner.id().ok_or_else(|| io::ErrorKind::NotFound.into())
        }

        pub(super) fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
            (self.inner.stdin().take(), self.inner.stdout().take(), self.inner.stderr().take())
        }

        pub(super) async fn exited(&mut self) {
            // The process itself; the wrapper would wait for the whole job.
            let _ = self.inner.inner_mut().wait().await;
        }

        pub(super) fn kill(&mut self) {
            // Failing means that it has ended.
            let _ = self.inner.start_kill();
        }

        pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
            self.inner.wait().await
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use galley_testkit::{process_gone, wait_until};
    use std::process::Stdio;
    use tokio::io::{AsyncBufReadExt, BufReader};

    const SOON: Duration = Duration::from_secs(5);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    fn processes() -> (tempfile::TempDir, Arc<Processes>) {
        let folder = tempfile::tempdir().unwrap();
        let processes = Processes::new(&folder.path().join("lock"));
        (folder, processes)
    }

    /// The numbers a script prints, one a line.
    async fn pids<const N: usize>(process: &mut Process) -> [u32; N] {
        let mut lines = BufReader::new(process.stdout.take().unwrap().end).lines();
        let mut pids = [0; N];
        for pid in &mut pids {
            *pid = lines.next_line().await.unwrap().unwrap().trim().parse().unwrap();
        }
        pids
    }

    #[tokio::test]
    async fn an_exit_code_or_a_signal_is_reported() {
        let (_folder, processes) = processes();
        let status = processes.spawn(shell("exit 7"), "m").unwrap().release().await;
        assert_eq!(status, Status { code: Some(7), signal: None });
        let status = processes.spawn(shell("kill -s TERM $$"), "m").unwrap().release().await;
        assert_eq!(status, Status { code: None, signal: Some(15) });
    }

    #[tokio::test]
    async fn the_end_takes_group_descendants_and_escapees() {
        let (_folder, processes) = processes();
        let mark = processes.identity().runner("s", 1);
        // In the group; in a group of its own but a descendant; in a session of its own and nobody's child.
        let script = "sleep 600 & echo $!; setsid sleep 601 & echo $!; (setsid sh -c 'echo $$; exec sleep 602' &); wait";
        let mut process = processes.spawn(shell(script), &mark).unwrap();
        let started = pids::<3>(&mut process).await;
        let other = processes.spawn(shell("exec sleep 600"), &processes.identity().runner("s", 10)).unwrap();
        let status = process.end().await;
        assert_eq!(status.signal, Some(9));
        for pid in started {
            wait_until(SOON, "all end", || process_gone(pid)).unwrap();
        }
        assert!(!process_gone(other.pid()), "another runner's process is spared");
        other.end().await;
    }

    #[tokio::test]
    async fn dropping_kills() {
        let (_folder, processes) = processes();
        let mut process = processes.spawn(shell("sleep 600 & echo $!; wait"), "m.1").unwrap();
        let [child] = pids(&mut process).await;
        let pid = process.pid();
        drop(process);
        wait_until(SOON, "both end", || process_gone(pid) && process_gone(child)).unwrap();
    }

    #[tokio::test]
    async fn what_ended_by_itself_is_swept_too() {
        let (_folder, processes) = processes();
        let mark = processes.identity().runner("s", 1);
        let mut process = processes.spawn(shell("(setsid sh -c 'echo $$; exec sleep 600' &); read wait_for_it </dev/null; exit 3"), &mark).unwrap();
        let [escaped] = pids(&mut process).await;
        process.exited().await;
        process.exited().await;
        assert_eq!(process.end().await.code, Some(3));
        wait_until(SOON, "the escaped process ends", || process_gone(escaped)).unwrap();
    }
}
