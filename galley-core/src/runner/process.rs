//! The `process` backend: any program that speaks IPC v0.1 on its standard streams.

use super::backend::{Backend, Exit, Runner, RunnerControl, StartSpec};
use super::manager::RunnerManager;
use super::pipes::{self, Ended, Unheard};
use super::spawn::{Process, Processes};
use crate::error::{Error, StartCause};
use async_trait::async_trait;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How long a runner may leave a command standing before it is given up.
const WRITE_LIMIT: Duration = Duration::from_secs(15);

/// Lines that may wait for the session. A runner that is further ahead waits.
const LINES: usize = 1024;

/// Commands that may wait for the runner.
const COMMANDS: usize = 64;

/// Starts a program and speaks IPC v0.1 with it.
#[derive(Debug, Clone)]
pub struct ProcessBackend {
    processes: Arc<Processes>,
    command: Vec<String>,
    ga_path: Option<PathBuf>,
    env: Vec<(String, String)>,
    write_limit: Duration,
}

impl ProcessBackend {
    /// A backend that runs `command` (the program, then its first arguments).
    ///
    /// `ga_path` is the agent's folder (IPC protocol §3), by default the program's own. `env` is
    /// added to Core's environment.
    ///
    /// # Errors
    /// [`StartCause::RuntimeInvalid`] when `command` names no program.
    pub fn new(manager: &RunnerManager, command: Vec<String>, ga_path: Option<PathBuf>, env: Vec<(String, String)>) -> Result<Self, Error> {
        if command.first().is_none_or(String::is_empty) {
            return Err(Error::runner(StartCause::RuntimeInvalid, "the runtime's command is empty; it must name a program"));
        }
        Ok(Self { processes: Arc::clone(manager.processes()), command, ga_path, env, write_limit: WRITE_LIMIT })
    }

    /// With another limit for the time that writing one command may take.
    #[doc(hidden)]
    #[must_use]
    pub fn with_write_limit(mut self, limit: Duration) -> Self {
        self.write_limit = limit;
        self
    }

    /// The command line and environment for `spec`. The runner stays in Core's working directory:
    /// where the work is to be done is an argument.
    fn command(&self, spec: &StartSpec) -> Result<Command, Error> {
        let [program, arguments @ ..] = &self.command[..] else {
            return Err(Error::runner(StartCause::RuntimeInvalid, "the runtime's command is empty"));
        };
        let ga_path = match &self.ga_path {
            Some(path) if !path.is_dir() => {
                let message = format!("the agent's folder {} does not exist", path.display());
                return Err(Error::runner(StartCause::GaPathInvalid, message));
            }
            Some(path) => path.clone(),
            None => folder_of(program),
        };
        let mut command = Command::new(program);
        command.args(arguments).args(["--session-id", &spec.session_id]).args(["--ga-path", text(&ga_path)?]);
        if let Some(root) = &spec.workspace_root {
            command.args(["--workspace-root", text(root)?]);
        }
        if let Some(number) = spec.llm_no {
            command.args(["--llm-no", &number.to_string()]);
        }
        if let Some(cwd) = &spec.cwd {
            if !cwd.is_dir() {
                let message = format!("the working directory {} does not exist", cwd.display());
                return Err(Error::runner(StartCause::CwdInvalid, message));
            }
            command.args(["--cwd", text(cwd)?]);
        }
        command.env("PYTHONIOENCODING", "utf-8").env("PYTHONUNBUFFERED", "1");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.env("GALLEY_CORE_PID", std::process::id().to_string()).env("GALLEY_SESSION_ID", &spec.session_id);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }
}

#[async_trait]
impl Backend for ProcessBackend {
    async fn start(&self, spec: StartSpec) -> Result<Runner, Error> {
        let command = self.command(&spec)?;
        let mut process = self.processes.spawn(command, &spec.marker).map_err(|error| start_error(&self.command[0], &error))?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (process.stdin.take(), process.stdout.take(), process.stderr.take()) else {
            return Err(Error::runner(StartCause::PipeUnavailable, "the runner was started without its pipes"));
        };
        let pid = process.pid();
        let (lines_out, lines) = mpsc::channel(LINES);
        let (commands, deliveries) = mpsc::channel(COMMANDS);
        let (exit_out, exit) = oneshot::channel();
        let (stuck_out, stuck) = oneshot::channel();
        let (ended_out, ended) = Ended::new();
        let (control, killed) = RunnerControl::new();
        tokio::spawn(pipes::write(stdin, deliveries, self.write_limit, stuck_out, ended.clone()));
        let supervised = Supervised {
            stdout: tokio::spawn(pipes::read_lines(stdout, lines_out, spec.session_id, ended.clone())),
            stderr: tokio::spawn(pipes::read_tail(stderr, ended)),
            process,
            killed,
            stuck,
            ended: ended_out,
        };
        tokio::spawn(async move {
            // Nobody waiting for the exit is no reason not to clean up.
            let _ = exit_out.send(supervised.run().await);
        });
        Ok(Runner { pid: Some(pid), lines, commands, exit, control })
    }
}

/// A running program and what is told about it.
struct Supervised {
    process: Process,
    killed: mpsc::Receiver<()>,
    stuck: oneshot::Receiver<()>,
    ended: watch::Sender<Option<Instant>>,
    stdout: JoinHandle<Result<(), Unheard>>,
    stderr: JoinHandle<Vec<String>>,
}

impl Supervised {
    /// Waits for the program's end, or for a reason to end it; then for all it said.
    async fn run(mut self) -> Exit {
        let (mut poisoned, mut reading) = (false, true);
        let stuck = async {
            if self.stuck.await.is_err() {
                // The writer has ended for another reason.
                std::future::pending().await
            }
        };
        tokio::pin!(stuck);
        loop {
            tokio::select! {
                () = self.process.exited() => {
                    self.ended.send_replace(Some(Instant::now()));
                }
                () = &mut stuck => poisoned = true,
                _ = self.killed.recv() => {}
                read = &mut self.stdout, if reading => {
                    reading = false;
                    if let Ok(Ok(())) = read {
                        // It closed its output and may have work to finish.
                        continue;
                    }
                }
            }
            break;
        }
        let status = self.process.end().await;
        self.ended.send_if_modified(|at| at.is_none() && at.replace(Instant::now()).is_none());
        let stderr_tail = self.stderr.await.unwrap_or_default();
        if reading {
            let _ = self.stdout.await;
        }
        Exit { code: status.code, signal: status.signal, poisoned, stderr_tail }
    }
}

/// A path as an argument: a runner answers in JSON, which has no other text.
fn text(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| Error::runner(StartCause::PathEncoding, format!("the path {} is not valid UTF-8", path.display())))
}

/// The folder of `program`, which is a path or a name to be found in `PATH`.
fn folder_of(program: &str) -> PathBuf {
    let found = find(program).and_then(|path| std::path::absolute(path).ok());
    found.as_deref().and_then(Path::parent).unwrap_or(Path::new(".")).to_owned()
}

/// The file of `program`, which is a path or a name to be found in `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    if is_path(program) {
        return Some(program.into()).filter(|path: &PathBuf| path.exists());
    }
    let names = [program.to_owned(), format!("{program}{}", std::env::consts::EXE_SUFFIX)];
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).flat_map(|folder| names.each_ref().map(|name| folder.join(name))).find(|path| path.is_file())
}

fn start_error(program: &str, error: &io::Error) -> Error {
    let found = find(program);
    let (cause, message) = if out_of_descriptors(error) {
        (StartCause::PipeUnavailable, format!("cannot make the pipes to {program}: {error}"))
    } else if let Some(path) = found {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "it is there, but the interpreter that its first line names is not".to_owned(),
            _ => error.to_string(),
        };
        (StartCause::SpawnIo, format!("cannot start {}: {why}", path.display()))
    } else {
        // Whatever the system said: a folder of PATH that cannot be entered makes it "permission denied".
        let why = if is_path(program) { error.to_string() } else { "no folder of PATH has it".to_owned() };
        let cause = if is_python(program) { StartCause::PythonNotFound } else { StartCause::SpawnIo };
        (cause, format!("cannot start {program}: {why}"))
    };
    Error::runner(cause, message)
}

/// Whether `program` is a path, not a name to be looked up in `PATH`.
fn is_path(program: &str) -> bool {
    Path::new(program).components().count() > 1
}

fn is_python(program: &str) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("python") || name.starts_with("pypy")
}

#[cfg(unix)]
fn out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

#[cfg(windows)]
fn out_of_descriptors(_error: &io::Error) -> bool {
    false
}
