//! The runner: takes commands, drives the agent, and ends with everything it started.

use super::agent::{Agent, Model, Reply, SideQuestion, Task};
use super::approvals::Approvals;
use super::arguments::Arguments;
use super::context::Context;
use super::error::AgentError;
use super::input::{self, Input};
use super::output::Output;
use super::processes;
use super::run::{End, Run, Session, Talk};
use super::stdio::{self, Pipes};
use futures::future::{BoxFuture, FutureExt};
use galley_protocol::ipc::{
    Category, Command, DecodeError, HistoryLoaded, Llm, LlmChanged, LoadHistory, PROTOCOL_VERSION, PetDetached, Ready, Severity, SystemMessage,
    SystemVariant, is_side_question,
};
use std::any::Any;
use std::future::Future;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, thread};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::timeout;

/// How long a stopped agent may take to stop before its run is ended without it.
const ABORT_GRACE: Duration = Duration::from_secs(3);
/// How long `shutdown` lets the open run go on; Galley itself waits two seconds in all.
const FINISH_GRACE: Duration = Duration::from_secs(1);
/// How long a run that was stopped at the end may take to stop, and then its last events to leave.
const STOP_GRACE: Duration = Duration::from_millis(400);
/// Side questions answered at the same time.
const SIDE_QUESTIONS: usize = 4;

type BeforeReady = Box<dyn FnOnce(Arguments) -> BoxFuture<'static, Result<(), AgentError>> + Send>;

/// Serves `agent` until Galley says otherwise; return its exit code from `main`. See [`Runner`] for
/// more to say about an agent.
pub fn run<F, R>(agent: impl Fn(Task, Context) -> F + Send + Sync + 'static) -> ExitCode
where
    F: Future<Output = Result<R, AgentError>> + Send + 'static,
    R: Into<Reply>,
{
    Runner::new(agent).run()
}

/// An agent and what it can do.
#[must_use]
pub struct Runner {
    profile: Profile,
    before_ready: Option<BeforeReady>,
}

/// What an author said about an agent.
struct Profile {
    agent: Agent,
    models: Vec<Model>,
    images: bool,
    side_question: Option<SideQuestion>,
}

impl Runner {
    /// A runner of `agent`, which is called for each task, one at a time.
    pub fn new<F, R>(agent: impl Fn(Task, Context) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<R, AgentError>> + Send + 'static,
        R: Into<Reply>,
    {
        let agent: Agent = Arc::new(move |task, context| {
            let run = agent(task, context);
            async move { run.await.map(Into::into) }.boxed()
        });
        Self { profile: Profile { agent, models: Vec::new(), images: false, side_question: None }, before_ready: None }
    }

    /// Models offered to the user; [`Context::model`] is the chosen one.
    pub fn models<M: Into<Model>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.profile.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// The agent looks at [`Task::images`].
    pub fn images(mut self) -> Self {
        self.profile.images = true;
        self
    }

    /// Answers `/btw` questions, also while a run is open.
    pub fn side_question<F>(mut self, answer: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, AgentError>> + Send + 'static,
    {
        self.profile.side_question = Some(Arc::new(move |question| answer(question).boxed()));
        self
    }

    /// What is done before `ready` is written. An error is reported in its place, and the process
    /// ends with code 1.
    pub fn before_ready<F>(self, prepare: impl FnOnce(Arguments) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), AgentError>> + Send + 'static,
    {
        Self { before_ready: Some(Box::new(move |arguments| prepare(arguments).boxed())), ..self }
    }

    /// Serves until `shutdown`, the end of the input, SIGTERM or the end of the process that
    /// `GALLEY_CORE_PID` names, and ends everything the agent started. Return its exit code from
    /// `main`: threads may still be at work.
    pub fn run(self) -> ExitCode {
        let arguments = match Arguments::read(env::args().skip(1), env::var("GALLEY_SESSION_ID").ok()) {
            Ok(arguments) => arguments,
            Err(problem) => return refuse(&problem, 2),
        };
        self.serve(arguments).unwrap_or_else(|error| refuse(&error.to_string(), 1))
    }

    fn serve(self, arguments: Arguments) -> io::Result<ExitCode> {
        let Pipes { input, output } = stdio::claim()?;
        // At least two: an agent that blocks one leaves another to end it.
        let workers = thread::available_parallelism()?.get().max(2);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
        let Self { profile, before_ready } = self;
        let model = profile.models.get(arguments.llm_no).or(profile.models.first()).cloned();
        let session = Arc::new(Session {
            output: Output::start(output, &arguments.session_id)?,
            arguments,
            approvals: Approvals::default(),
            talk: Mutex::new(Talk { model, ..Talk::default() }),
        });
        let commands = input::start(input)?;
        let server = Arc::new(Server {
            profile,
            session,
            current: Mutex::default(),
            waiting: Notify::new(),
            begun: AtomicBool::new(false),
            aside: Arc::new(Semaphore::new(SIDE_QUESTIONS)),
        });
        let code = runtime.block_on(server.live(commands, before_ready));
        processes::end_descendants();
        runtime.shutdown_background();
        Ok(code)
    }
}

/// Says on standard error why there is no runner.
fn refuse(problem: &str, code: u8) -> ExitCode {
    // Nobody may be listening.
    let _ = writeln!(io::stderr(), "{problem}");
    ExitCode::from(code)
}

/// Serves one session. Commands are handled in the order they come, runs one after the other beside
/// them.
struct Server {
    profile: Profile,
    session: Arc<Session>,
    /// The run accepted last, which may be over.
    current: Mutex<Option<Arc<Run>>>,
    /// Told when a run was accepted.
    waiting: Notify,
    begun: AtomicBool,
    aside: Arc<Semaphore>,
}

impl Server {
    // Its life.

    async fn live(self: &Arc<Self>, mut commands: mpsc::Receiver<Input>, prepare: Option<BeforeReady>) -> ExitCode {
        if let Some(prepare) = prepare
            && let Err(error) = prepare(self.session.arguments.clone()).await
        {
            self.session.output.write(error.clone().category(Category::Bridge).event("startup")).await;
            let _ = timeout(STOP_GRACE, self.session.output.flush()).await;
            return refuse(error.message(), 1);
        }
        self.say_ready().await;
        let work = tokio::spawn(Arc::clone(self).work_off());
        let finish = tokio::select! {
            finish = self.take_all(&mut commands) => finish,
            () = processes::terminated() => false,
            () = processes::parent_gone() => false,
        };
        self.end(finish).await;
        work.abort();
        ExitCode::SUCCESS
    }

    async fn say_ready(&self) {
        let model = self.session.talk().model.clone();
        let able = [
            ("abort", true),
            ("approvals", true),
            ("btw", self.profile.side_question.is_some()),
            ("history", true),
            ("images", self.profile.images),
            ("models", !self.profile.models.is_empty()),
            ("questions", true),
        ];
        let llm = |(index, offered): (usize, &Model)| Llm {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            name: offered.name.clone(),
            key: None,
            display_name: offered.shown().to_owned(),
            is_current: model.as_ref() == Some(offered),
        };
        let ready = Ready {
            session_id: None,
            protocol_version: PROTOCOL_VERSION.to_owned(),
            ga_commit: None,
            ga_commit_date: None,
            ga_path: None,
            llm_name: model.as_ref().map(|model| model.name.clone()),
            cwd: env::current_dir().ok().map(|cwd| cwd.to_string_lossy().into_owned()),
            pid: Some(std::process::id()),
            available_llms: self.profile.models.iter().enumerate().map(llm).collect(),
            capabilities: Some(able.into_iter().filter(|(_, able)| *able).map(|(name, _)| name.to_owned()).collect()),
            timestamp: None,
        };
        self.session.output.write(ready).await;
    }

    /// Ends the open run, which with `finish` may end by itself first, and lets the last events out.
    async fn end(&self, finish: bool) {
        if let Some(run) = self.open_run() {
            if finish {
                // Stopped, if it does not.
                let _ = timeout(FINISH_GRACE, run.settled()).await;
            }
            run.stop();
            if timeout(STOP_GRACE, run.settled()).await.is_err() {
                let _ = timeout(STOP_GRACE, run.settle(End::Aborted)).await;
            }
        }
        // Nobody may be reading them.
        let _ = timeout(STOP_GRACE, self.session.output.flush()).await;
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<Run>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_run(&self) -> Option<Arc<Run>> {
        self.current().clone().filter(|run| !run.is_settled())
    }

    // Commands.

    /// Handles commands; whether the last asked to finish.
    async fn take_all(self: &Arc<Self>, commands: &mut mpsc::Receiver<Input>) -> bool {
        while let Some(input) = commands.recv().await {
            let command = match input {
                // Bytes that are not UTF-8 are replaced: they are in somebody's text.
                Ok(line) => Command::from_line(String::from_utf8_lossy(&line).as_bytes()).map_err(|error| match error {
                    DecodeError::UnknownCommand(_) => AgentError::new(error.to_string()).severity(Severity::Warning),
                    _ => AgentError::new(format!("not a command: {error}")),
                }),
                Err(problem) => Err(AgentError::new(problem)),
            };
            match command {
                Ok(Command::Shutdown(_)) => return true,
                Ok(command) => {
                    let kind = command.kind();
                    if let Err(error) = self.handle(command).await {
                        self.session.output.write(error.event(kind)).await;
                    }
                }
                Err(error) => self.session.output.write(error.category(Category::Bridge).retryable(false).event("stdin")).await,
            }
        }
        false
    }

    async fn handle(self: &Arc<Self>, command: Command) -> Result<(), AgentError> {
        match command {
            Command::UserMessage(message) if is_side_question(&message.text) => self.answer_aside(&message.text),
            Command::UserMessage(message) => {
                self.accept(Task { text: message.text, images: message.images.into_iter().map(Into::into).collect(), answers: false })
            }
            Command::AskUserResponse(response) => {
                let unasked = match self.open_run() {
                    Some(run) => run.answer(response.text),
                    None => Err(response.text),
                };
                unasked.or_else(|text| self.accept(Task { text, answers: true, ..Task::default() }))
            }
            Command::ApprovalResponse(response) => self.session.approvals.answer(response),
            Command::Abort(_) => {
                self.abort();
                Ok(())
            }
            Command::LoadHistory(history) => self.load_history(history).await,
            Command::SetApprovalRules(rules) => {
                self.session.approvals.set_rules(rules);
                Ok(())
            }
            Command::SetYoloMode(mode) => {
                self.session.approvals.set_automatic(mode.enabled);
                Ok(())
            }
            Command::SetLlm(choice) => self.select_model(choice.llm_index).await,
            Command::ReinjectTools(_) => Err(AgentError::refused("this agent cannot put its tool definitions into the history again")),
            Command::AttachPet(_) => Err(AgentError::refused("this agent has no desktop pet")),
            Command::DetachPet(_) => {
                self.session.output.write(PetDetached { session_id: None, timestamp: None }).await;
                Ok(())
            }
            other => Err(AgentError::refused(format!("this agent has no answer to {}", other.kind()))),
        }
    }

    fn refuse_while_running(&self, consequence: &str) -> Result<(), AgentError> {
        match self.open_run() {
            Some(_) => Err(AgentError::refused(format!("a run is open; {consequence}"))),
            None => Ok(()),
        }
    }

    fn accept(&self, task: Task) -> Result<(), AgentError> {
        self.refuse_while_running("the message was dropped")?;
        self.begun.store(true, Ordering::Relaxed);
        *self.current() = Some(Arc::new(Run::new(Arc::clone(&self.session), task)));
        self.waiting.notify_one();
        Ok(())
    }

    fn abort(&self) {
        if let Some(run) = self.open_run().filter(|run| run.stop()) {
            // Beside the commands: whatever the agent does to stop, they are read.
            tokio::spawn(async move {
                if run.step() > 0 && timeout(ABORT_GRACE, run.settled()).await.is_err() {
                    let late = AgentError::new("the agent has not stopped yet; the next message waits until it has");
                    run.late_event(late.severity(Severity::Warning).retryable(false).event("abort")).await;
                }
                run.settle(End::Aborted).await;
            });
        }
    }

    async fn load_history(&self, history: LoadHistory) -> Result<(), AgentError> {
        if self.begun.load(Ordering::Relaxed) {
            return Err(AgentError::refused("a history can only be loaded before the first message"));
        }
        let message_count = u32::try_from(history.messages.len()).unwrap_or(u32::MAX);
        self.session.talk().history = Arc::new(history.messages);
        self.session.output.write(HistoryLoaded { session_id: None, message_count, timestamp: None }).await;
        Ok(())
    }

    async fn select_model(&self, index: u32) -> Result<(), AgentError> {
        if self.profile.models.is_empty() {
            return Err(AgentError::refused("this agent has no choice of models"));
        }
        self.refuse_while_running("the model was not changed")?;
        let Some(model) = self.profile.models.get(index as usize) else {
            return Err(AgentError::refused(format!("there is no model {index}; there are {}", self.profile.models.len())));
        };
        self.session.talk().model = Some(model.clone());
        let display_name = Some(model.shown().to_owned());
        self.session.output.write(LlmChanged { session_id: None, index, name: model.name.clone(), display_name, timestamp: None }).await;
        Ok(())
    }

    fn answer_aside(self: &Arc<Self>, text: &str) -> Result<(), AgentError> {
        let Some(answer) = self.profile.side_question.clone() else {
            return Err(AgentError::refused("this agent answers no side questions"));
        };
        let Ok(permit) = Arc::clone(&self.aside).try_acquire_owned() else {
            return Err(AgentError::refused(format!("{SIDE_QUESTIONS} side questions are being answered; ask again later")));
        };
        let question = text.trim_start().strip_prefix("/btw").unwrap_or_default().trim().to_owned();
        let session = Arc::clone(&self.session);
        tokio::spawn(async move {
            let answered = tokio::spawn(answer(question)).await;
            match answered.unwrap_or_else(|error| Err(panicked(error.into_panic()))) {
                Ok(content) => {
                    session.output.write(SystemMessage { session_id: None, content, variant: SystemVariant::SideQuestion, timestamp: None }).await;
                }
                // A warning, whatever it was: the run beside it has not failed.
                Err(error) => session.output.write(error.severity(Severity::Warning).event("side_question")).await,
            }
            drop(permit);
        });
        Ok(())
    }

    // Runs.

    async fn work_off(self: Arc<Self>) {
        loop {
            self.waiting.notified().await;
            let run = self.open_run();
            if let Some(run) = run
                && run.begin().await
            {
                self.perform(run).await;
            }
        }
    }

    /// Lets the agent do a run, and ends it whatever the agent does.
    async fn perform(&self, run: Arc<Run>) {
        let agent = tokio::spawn((self.profile.agent)(run.task.clone(), Context::new(Arc::clone(&run))));
        run.performed_by(agent.abort_handle());
        let end = match agent.await {
            Ok(Ok(reply)) => End::Reply(reply),
            Ok(Err(error)) => End::Failed(error),
            Err(error) => error.try_into_panic().map_or(End::Aborted, |panic| End::Failed(panicked(panic))),
        };
        run.settle(end).await;
    }
}

/// What to report of a panic; the panic hook has said where on standard error.
fn panicked(panic: Box<dyn Any + Send>) -> AgentError {
    let words = panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
    AgentError::new(format!("the agent panicked: {}", words.unwrap_or_default()))
}
