//! Runners that are programs, over pipes.

use super::launch::{Connection, Ended, Launcher, Received, Start};
use crate::processes::marked_processes;
use crate::wait::wait_some;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{self, Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Lines read ahead.
const LINES: usize = 1024;

/// Starts a command as Galley does.
#[derive(Debug, Clone)]
pub struct Program {
    command: Vec<String>,
    folder: PathBuf,
}

impl Program {
    /// Runs `command`: the program, then its first arguments. The arguments of IPC protocol §3 are
    /// added to it.
    pub fn new(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { command: command.into_iter().map(Into::into).collect(), folder: PathBuf::from(".") }
    }

    /// The agent's folder, `--ga-path`; the current one unless told.
    #[must_use]
    pub fn ga_path(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }
}

impl Launcher for Program {
    fn start(&self, start: &Start) -> io::Result<Box<dyn Connection>> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let [program, arguments @ ..] = &self.command[..] else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command names no program"));
        };
        let mark = format!("conformance.{}.{}", process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(["--session-id", &start.session_id])
            .arg("--ga-path")
            .arg(&self.folder)
            .args(&start.arguments)
            .env("GALLEY_CORE_PID", start.parent.unwrap_or_else(process::id).to_string())
            .env("GALLEY_SESSION_ID", &start.session_id)
            .env("GALLEY_OWNER", &mark)
            .env("PYTHONIOENCODING", "utf-8")
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        own_group(&mut command);
        let mut child = command.spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the runner was started without its pipes"));
        };
        let (input, to_write) = channel();
        thread::Builder::new().name("to runner".to_owned()).spawn(move || write(stdin, &to_write))?;
        let (read_out, lines) = sync_channel(LINES);
        thread::Builder::new().name("from runner".to_owned()).spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                match stdout.read_until(b'\n', &mut line) {
                    Ok(1..) => {}
                    Ok(0) | Err(_) => return,
                }
                line.pop_if(|last| *last == b'\n');
                if read_out.send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Box::new(Running { child, input: Some(input), lines, mark }))
    }

    fn is_program(&self) -> bool {
        true
    }
}

/// Writes what comes, until the runner is gone or nobody has anything more to write.
fn write(mut stdin: impl Write, bytes: &Receiver<Vec<u8>>) {
    while let Ok(bytes) = bytes.recv() {
        if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

struct Running {
    child: Child,
    /// Not bounded: the suite writes a line at a time and waits for answers.
    input: Option<Sender<Vec<u8>>>,
    lines: Receiver<Vec<u8>>,
    mark: String,
}

impl Connection for Running {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.input.as_ref().ok_or_else(gone)?.send(bytes.to_vec()).map_err(|_| gone())
    }

    fn read(&mut self, limit: Duration) -> Received {
        match self.lines.recv_timeout(limit) {
            Ok(line) => Received::Line(line),
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::End,
        }
    }

    fn close_input(&mut self) {
        self.input = None;
    }

    fn ended(&mut self, limit: Duration) -> Option<Ended> {
        let status = wait_some(limit, "the runner ends", || self.child.try_wait().ok().flatten()).ok()?;
        Some(Ended { code: status.code() })
    }

    fn left(&self) -> io::Result<Vec<u32>> {
        marked_processes(&self.mark)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already, if all is well.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for pid in marked_processes(&self.mark).unwrap_or_default() {
            kill(pid);
        }
    }
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(windows)]
fn own_group(_command: &mut Command) {}

#[cfg(unix)]
fn kill(pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[cfg(windows)]
fn kill(_pid: u32) {}
