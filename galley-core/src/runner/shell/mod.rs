//! The built-in runtime: every message is a command line for the user's shell.
//!
//! It needs no model and no key, and between commands it is no process: an agent here is a task
//! that says on its lines what a runner would (IPC protocol §4). A message is a run of one step
//! with one `code_run` call, which needs approval unless the session is automatic or a rule allows
//! it. Directory and exported variables last from one command to the next; what a command leaves
//! running in the background lasts until the agent ends.

mod output;
mod place;
mod report;
mod run;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use super::backend::{Backend, Delivery, Exit, Runner, RunnerControl, StartSpec};
use super::manager::RunnerManager;
use super::spawn::Processes;
use crate::error::{Error, StartCause};
use async_trait::async_trait;
use bytes::Bytes;
use galley_protocol::ipc::{ApprovalResponse, Command, UserMessage, is_side_question};
use place::{Place, make_private};
use report::{Call, TOOL, Voice, spoken};
use run::{Base, Left, Run};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::future::Future;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use uuid::Uuid;

/// How many lines wait to be read; of output, each is one read of at most 16 KiB.
const LINES: usize = 32;

/// How many commands of Core wait, and how many answers to them.
const COMMANDS: usize = 32;

/// Starts shell agents.
#[derive(Debug)]
pub struct ShellBackend {
    processes: Arc<Processes>,
    shell: PathBuf,
    folder: PathBuf,
}

impl ShellBackend {
    /// Shells that keep what they must remember below `data_dir`, and run what `SHELL` names, if it
    /// is bash, zsh, sh or dash, else `sh`.
    pub fn new(manager: &RunnerManager, data_dir: &Path) -> Self {
        let shell = users_shell(std::env::var_os("SHELL").as_deref());
        Self { processes: Arc::clone(manager.processes()), shell, folder: data_dir.join("shell") }
    }

    /// With another shell: a path, or a name on `PATH`. It must be a POSIX shell or zsh.
    #[must_use]
    pub fn with_shell(mut self, shell: impl Into<PathBuf>) -> Self {
        self.shell = shell.into();
        self
    }

    /// Forgets a session: its directory, its variables and its kept output.
    ///
    /// # Errors
    /// [`Error::Internal`] when its folder cannot be removed.
    pub async fn forget(&self, session: &str) -> Result<(), Error> {
        let folder = self.session_folder(session)?;
        match tokio::fs::remove_dir_all(&folder).await {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::Internal(format!("{} cannot be removed: {error}", folder.display())))
            }
            _ => Ok(()),
        }
    }

    /// Where a session keeps what it must remember.
    fn session_folder(&self, session: &str) -> Result<PathBuf, Error> {
        let mut parts = Path::new(session).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(name)), None) if name == session => Ok(self.folder.join(name)),
            _ => Err(Error::invalid(format!("{session:?} cannot be a session's id"))),
        }
    }
}

#[async_trait]
impl Backend for ShellBackend {
    async fn start(&self, spec: StartSpec) -> Result<Runner, Error> {
        let folder = self.session_folder(&spec.session_id)?;
        let unusable = |error| Error::runner(StartCause::SpawnIo, format!("{} cannot be used: {error}", folder.display()));
        make_private(&folder).map_err(unusable)?;
        let place = Place::load(&folder).map_err(unusable)?;
        let shell = which::which(&self.shell).map_err(|_| {
            let message = format!("there is no {} on this machine; set SHELL to a bash, zsh, sh or dash", self.shell.display());
            Error::runner(StartCause::RuntimeInvalid, message)
        })?;
        let home = std::env::home_dir().filter(|home| home.is_dir());
        let start = spec.cwd.or_else(|| home.clone()).ok_or_else(|| {
            Error::runner(StartCause::CwdInvalid, "the session has no working directory, and there is no home directory to start in")
        })?;
        if place.directory.is_none() && !start.is_dir() {
            return Err(Error::runner(StartCause::CwdInvalid, format!("the working directory {} does not exist", start.display())));
        }
        let (lines, lines_out) = mpsc::channel(LINES);
        let (commands_in, commands) = mpsc::channel(COMMANDS);
        let (exit_in, exit) = oneshot::channel();
        let (control, killed) = RunnerControl::new();
        let base = Base {
            processes: Arc::clone(&self.processes),
            shell,
            folder,
            voice: Voice::new(&spec.session_id),
            session: spec.session_id,
            mark: spec.marker,
            home: home.unwrap_or_else(|| start.clone()),
            start,
            lines,
        };
        let agent = Agent::new(Arc::new(base), place);
        tokio::spawn(async move {
            let exit = agent.live(commands, killed).await;
            // Nobody waits for it any more, perhaps.
            let _ = exit_in.send(exit);
        });
        Ok(Runner { pid: None, lines: lines_out, commands: commands_in, exit, control })
    }
}

/// `SHELL`, if it is one we know to speak to.
fn users_shell(shell: Option<&OsStr>) -> PathBuf {
    const KNOWN: [&str; 4] = ["bash", "zsh", "sh", "dash"];
    let shell = shell.map(Path::new).filter(|shell| shell.is_absolute() && shell.is_file());
    let known = shell.filter(|shell| shell.file_name().is_some_and(|name| KNOWN.iter().any(|known| name == *known)));
    known.unwrap_or(Path::new("sh")).to_owned()
}

/// One session's shell.
struct Agent {
    base: Arc<Base>,
    /// Where the session is; with the run, while there is one.
    place: Place,
    automatic: bool,
    allowed: bool,
    leaving: bool,
    run: Option<Active>,
    /// Answers that nobody has taken yet. While there are too many, no command is taken.
    answers: VecDeque<Bytes>,
    /// Output of what runs in the background, read so that it is not stopped by a full pipe.
    background: JoinSet<()>,
}

/// The run there is.
struct Active {
    future: Pin<Box<dyn Future<Output = Left> + Send>>,
    call: Call,
    begun: Instant,
    abort: watch::Sender<bool>,
    approval: Option<(String, oneshot::Sender<bool>)>,
}

impl Agent {
    fn new(base: Arc<Base>, place: Place) -> Self {
        let directory = place.directory.as_ref().unwrap_or(&base.start);
        let answers = VecDeque::from([base.voice.ready(directory)]);
        Self { base, place, automatic: false, allowed: false, leaving: false, run: None, answers, background: JoinSet::new() }
    }

    /// Lives until it is told to leave, is killed, or nobody can speak to it any more; then ends
    /// all that it started.
    async fn live(mut self, mut commands: mpsc::Receiver<Delivery>, mut killed: mpsc::Receiver<()>) -> Exit {
        let lines = self.base.lines.clone();
        let exit = loop {
            if self.leaving && self.run.is_none() && self.answers.is_empty() {
                break Exit { code: Some(0), ..Exit::default() };
            }
            tokio::select! {
                biased;
                _ = killed.recv() => break Exit { signal: Some(9), ..Exit::default() },
                delivery = commands.recv(), if self.answers.len() < COMMANDS => match delivery {
                    Some(Delivery { command, done }) => {
                        self.take(command);
                        // Whoever sent it may have stopped waiting.
                        let _ = done.send(Ok(()));
                    }
                    None => break Exit { code: Some(0), ..Exit::default() },
                },
                permit = lines.reserve(), if !self.answers.is_empty() => match permit {
                    Ok(permit) => if let Some(line) = self.answers.pop_front() {
                        permit.send(line);
                    },
                    Err(_) => break Exit { signal: Some(9), ..Exit::default() },
                },
                left = ended(&mut self.run) => {
                    self.run = None;
                    self.place = left.place;
                    if let Some(mut pipe) = left.pipe {
                        self.background.spawn(async move {
                            // An error ends the reading as the end does.
                            let _ = tokio::io::copy(&mut pipe.end, &mut tokio::io::sink()).await;
                        });
                    }
                }
                Some(_) = self.background.join_next() => {}
            }
        };
        // The command, if one runs; then what earlier ones left.
        self.run = None;
        self.base.processes.clean_up(&self.base.mark).await;
        exit
    }

    fn take(&mut self, command: Command) {
        let refusal = match command {
            Command::UserMessage(message) if is_side_question(&message.text) => {
                self.answers.push_back(self.base.voice.side_answer(self.describe()));
                return;
            }
            Command::UserMessage(message) => self.message(message),
            Command::ApprovalResponse(response) => self.approval(response),
            Command::Abort(_) => {
                self.abort();
                Ok(())
            }
            Command::Shutdown(_) => {
                self.leaving = true;
                // A command is let finish; an approval would wait for ever.
                if self.run.as_ref().is_some_and(|run| run.approval.is_some()) {
                    self.abort();
                }
                Ok(())
            }
            Command::SetYoloMode(mode) => {
                self.automatic = mode.enabled;
                Ok(())
            }
            Command::SetApprovalRules(rules) => {
                self.allowed = rules.always_allow_global.iter().chain(&rules.always_allow_project).any(|tool| tool == TOOL);
                Ok(())
            }
            Command::LoadHistory(history) => {
                self.answers.push_back(self.base.voice.history_loaded(history.messages.len()));
                Ok(())
            }
            Command::AskUserResponse(_) => Err(("ask_user_response", "the shell has asked nothing".into())),
            Command::SetLlm(_) => Err(("set_llm", "the shell has no models".into())),
            Command::ReinjectTools(_) => Err(("reinject_tools", "the shell has no tool definitions".into())),
            Command::AttachPet(_) => Err(("attach_pet", "the shell has no desktop pet".into())),
            Command::DetachPet(_) => Err(("detach_pet", "the shell has no desktop pet".into())),
            _ => Err(("command", "the shell does not know this command".into())),
        };
        if let Err((context, why)) = refusal {
            let refusal: String = why;
            self.answers.push_back(self.base.voice.refuse(context, refusal));
        }
    }

    fn message(&mut self, message: UserMessage) -> Result<(), (&'static str, String)> {
        let refuse = |why: String| Err(("user_message", why));
        if let Some(run) = &self.run {
            return refuse(format!("the shell is busy with: {}", run.call.title(60)));
        }
        if self.leaving {
            return refuse("the shell is about to leave".into());
        }
        if !message.images.is_empty() {
            return refuse("the shell takes no images".into());
        }
        let call = Call { id: Uuid::new_v4().simple().to_string(), text: message.text };
        let (answer, approval) = if self.automatic || self.allowed {
            (None, None)
        } else {
            let id = format!("appr_{}", call.id);
            let (answer, decision) = oneshot::channel();
            (Some((id.clone(), answer)), Some((id, decision)))
        };
        let (abort, aborted) = watch::channel(false);
        let run = Run { base: Arc::clone(&self.base), call: call.clone(), place: std::mem::take(&mut self.place), approval, abort: aborted };
        self.run = Some(Active { future: Box::pin(run.perform()), call, begun: Instant::now(), abort, approval: answer });
        Ok(())
    }

    fn approval(&mut self, response: ApprovalResponse) -> Result<(), (&'static str, String)> {
        let refuse = |why: String| Err(("approval_response", why));
        let waiting = self.run.as_mut().map(|run| &mut run.approval);
        let Some(waiting) = waiting.filter(|waiting| waiting.as_ref().is_some_and(|(id, _)| *id == response.approval_id)) else {
            return refuse(format!("no approval {} is waiting", response.approval_id));
        };
        if !response.decision.is_known() {
            return refuse(format!("{:?} is no decision; the approval still waits", response.decision.as_str()));
        }
        if let Some((_, answer)) = waiting.take() {
            // The run may have been stopped just now; then it says so.
            let _ = answer.send(response.decision.allows());
        }
        Ok(())
    }

    fn abort(&mut self) {
        if let Some(run) = &mut self.run {
            run.abort.send_replace(true);
            // From now on an answer comes too late; the run looks at `abort` first.
            run.approval = None;
        }
    }

    /// What runs, for `/btw`.
    fn describe(&self) -> String {
        match &self.run {
            None => "Nothing is running.".into(),
            Some(run) => {
                let (title, time) = (run.call.title(200).replace('`', "'"), spoken(run.begun.elapsed()));
                if run.approval.is_some() {
                    format!("`{title}` has waited for approval for {time}.")
                } else {
                    format!("`{title}` has been running for {time}.")
                }
            }
        }
    }
}

/// The end of the run; never, without one.
async fn ended(run: &mut Option<Active>) -> Left {
    match run {
        Some(run) => run.future.as_mut().await,
        None => std::future::pending().await,
    }
}
