//! The actor of a session: it feeds the state machine, commits what comes out, then performs the
//! effects in order. Nothing is visible to anybody before it is committed.

use super::event::admit;
use super::input::{Delivered, Input};
use super::output::{Effect, Order, Output, Purpose, Reply, ReplyTo, Timer};
use super::state::SessionState;
use crate::error::Error;
use crate::event_log::EventLog;
use crate::runner::{Delivery, Exit, Runner};
use crate::store::{Change, LogChunk, SessionStore};
use crate::time::Timestamp;
use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use galley_protocol::ipc::{Abort, Command, Event, LoadHistory, SetApprovalRules};
use galley_protocol::socket::{ApprovalMode, EndReason};
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Inputs taken into one batch.
const BATCH: usize = 512;
/// Calls that may wait in a session's mailbox.
const MAILBOX: usize = 256;
/// How long a caller waits for a database that cannot be written.
const DB_PATIENCE: Duration = Duration::from_secs(10);
/// A commit that takes longer than this keeps nobody from being stopped.
const SLOW_COMMIT: Duration = Duration::from_millis(250);
/// A runner that has closed its output may take this long to exit.
const MUTE: Duration = Duration::from_secs(2);
/// Between two attempts to commit.
const COMMIT_RETRY: Duration = Duration::from_millis(50);
/// A session with nothing in hand is put away after this long.
const IDLE: Duration = Duration::from_secs(60);
/// The most text kept of a run that was cut off.
const PARTIAL_BYTES: usize = 1024 * 1024;
/// How much of the log is read at once for it.
const PARTIAL_PAGE: usize = 256 * 1024;

/// What an actor needs of its Core.
#[async_trait]
pub trait Host: Send + Sync {
    /// Starts a runner for a session.
    async fn start_runner(
        &self,
        session_id: &str,
        runtime: &str,
        llm_no: Option<u32>,
        cwd: Option<&str>,
        project: Option<&str>,
    ) -> Result<Runner, Error>;
    /// The app's default approval mode: ask or auto.
    fn default_mode(&self) -> ApprovalMode;
    /// Tells every live session that the rules of this scope changed.
    fn rules_changed(&self, scope: &str);
    /// Takes the session out of the registry unless somebody is about to speak to it; `true` when
    /// it is gone and the actor may end.
    fn put_away(&self, session_id: &str) -> bool;
    /// The session was deleted: takes it out of the registry, and removes what is kept of it outside
    /// the store.
    async fn forget(&self, session_id: &str);
}

/// A call to a session.
pub struct Call {
    input: Box<dyn FnOnce(ReplyTo) -> Input + Send>,
    reply: Option<oneshot::Sender<Result<Reply, Error>>>,
}

/// What other tasks may know of a session without asking it.
#[derive(Debug, Default)]
pub struct Gauges {
    /// A runner is alive.
    pub alive: AtomicBool,
    /// It is a process, and counts as one; a built-in runtime does not.
    pub process: AtomicBool,
    /// It is a process that may be ended to make room.
    pub evictable: AtomicBool,
    /// A run is reserved or open, or messages are queued.
    pub busy: AtomicBool,
    /// Messages in the queue.
    pub queued: AtomicU32,
    /// When the runner was last used, in milliseconds.
    pub used_at: AtomicI64,
}

/// The door to a session's actor.
#[derive(Debug)]
pub struct SessionHandle {
    /// The session.
    pub id: String,
    /// Its runtime, by name.
    pub runtime: String,
    /// Its log.
    pub log: Arc<EventLog>,
    /// What may be known without asking.
    pub gauges: Arc<Gauges>,
    calls: mpsc::Sender<Call>,
}

impl SessionHandle {
    /// Asks the session and waits for its answer. `None` when the actor has just been put away:
    /// get a new handle and ask again.
    pub async fn ask(&self, input: impl FnOnce(ReplyTo) -> Input + Send + 'static) -> Option<Result<Reply, Error>> {
        let (reply, answer) = oneshot::channel();
        self.calls.send(Call { input: Box::new(input), reply: Some(reply) }).await.ok()?;
        answer.await.ok()
    }

    /// Tells the session something, unless its mailbox is full.
    pub fn tell(&self, input: Input) {
        // What is told is a hint (evict, rules changed): the next start applies it in any case.
        let _ = self.calls.try_send(Call { input: Box::new(|_| input), reply: None });
    }

    /// Tells the session something, once its mailbox has room.
    pub async fn inform(&self, input: Input) {
        // A session that has just been put away has no runner to act upon.
        let _ = self.calls.send(Call { input: Box::new(|_| input), reply: None }).await;
    }

    /// Whether calls wait in the mailbox.
    pub fn has_calls(&self) -> bool {
        self.calls.capacity() < self.calls.max_capacity()
    }
}

struct LiveRunner {
    generation: u64,
    runner: Runner,
    lines_closed: bool,
}

/// A call that waits for a commit.
struct Deferred {
    to: ReplyTo,
    input: Input,
    since: Instant,
}

/// What a call ends, which a database that stands still must not put off.
#[derive(Clone, Copy)]
enum End {
    Run,
    Runner,
}

impl End {
    fn of(input: &Input) -> Option<Self> {
        match input {
            Input::Stop { .. } => Some(Self::Run),
            Input::EndRunner { .. } | Input::Kill { .. } | Input::Archive { .. } | Input::Delete { .. } => Some(Self::Runner),
            _ => None,
        }
    }
}

type Starting = BoxFuture<'static, (u64, Result<Runner, Error>)>;

/// The actor.
pub struct Actor {
    state: SessionState,
    store: Arc<dyn SessionStore>,
    host: Weak<dyn Host>,
    log: Arc<EventLog>,
    gauges: Arc<Gauges>,
    calls: mpsc::Receiver<Call>,
    /// Calls that arrived while a commit was under way.
    deferred: Vec<Deferred>,
    /// What calls of the commit under way, or behind it, end and the runner has not been told of.
    ends: Vec<End>,
    runner: Option<LiveRunner>,
    starting: Option<Starting>,
    deliveries: FuturesUnordered<BoxFuture<'static, Input>>,
    timers: BTreeMap<Timer, Instant>,
    replies: HashMap<ReplyTo, oneshot::Sender<Result<Reply, Error>>>,
    next_reply: u64,
    lines: Vec<Bytes>,
}

/// One batch of inputs; those of callers can be taken back.
#[derive(Default)]
struct Batch {
    calls: Vec<(ReplyTo, Input)>,
    inputs: Vec<Input>,
    since: Option<Instant>,
}

impl Actor {
    /// The actor of `state` and the door to it. The caller runs [`run`](Self::run) as a task.
    pub fn new(state: SessionState, store: Arc<dyn SessionStore>, host: Weak<dyn Host>) -> (Self, SessionHandle) {
        let (sender, calls) = mpsc::channel(MAILBOX);
        let log = Arc::new(EventLog::new(state.id().to_owned(), state.last_index(), state.last_run().1));
        if state.is_archived() {
            log.close(EndReason::Archived);
        }
        let gauges = Arc::new(Gauges::default());
        let handle =
            SessionHandle { id: state.id().to_owned(), runtime: state.runtime().to_owned(), log: log.clone(), gauges: gauges.clone(), calls: sender };
        let actor = Self {
            state,
            store,
            host,
            log,
            gauges,
            calls,
            deferred: Vec::new(),
            ends: Vec::new(),
            runner: None,
            starting: None,
            deliveries: FuturesUnordered::new(),
            timers: BTreeMap::new(),
            replies: HashMap::new(),
            next_reply: 0,
            lines: Vec::with_capacity(BATCH),
        };
        (actor, handle)
    }

    /// Serves until Core lets go of the session, or until nothing has been in hand for a while.
    pub async fn run(mut self) {
        while let Some(batch) = self.collect().await {
            self.step(batch).await;
        }
    }

    /// Brings what an earlier Core left in the middle of something to its end, before anybody can
    /// speak to the session.
    pub async fn recover(&mut self) {
        self.step(Batch { inputs: vec![Input::Recover], ..Batch::default() }).await;
    }

    /// Waits for inputs and takes what is there: calls first, then what the runner did.
    async fn collect(&mut self) -> Option<Batch> {
        let mut batch = Batch::default();
        for deferred in self.deferred.drain(..) {
            batch.since.get_or_insert(deferred.since);
            batch.calls.push((deferred.to, deferred.input));
        }
        if batch.calls.is_empty() && batch.inputs.is_empty() {
            self.wait(&mut batch).await?;
        }
        while batch.calls.len() + batch.inputs.len() < BATCH {
            let Ok(call) = self.calls.try_recv() else { break };
            self.take_call(call, &mut batch);
        }
        while let Some(Some(input)) = self.deliveries.next().now_or_never() {
            batch.inputs.push(input);
        }
        self.take_lines(&mut batch);
        Some(batch)
    }

    async fn wait(&mut self, batch: &mut Batch) -> Option<()> {
        loop {
            let alarm = self.timers.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (*timer, *at));
            let far = Instant::now() + IDLE;
            let dormant = self.state.is_dormant() && self.starting.is_none();
            let (lines, exit) = match &mut self.runner {
                Some(live) if !live.lines_closed => (Some(&mut live.runner.lines), None),
                Some(live) => (None, Some((live.generation, &mut live.runner.exit))),
                None => (None, None),
            };
            tokio::select! {
                biased;
                call = self.calls.recv() => {
                    self.take_call(call?, batch);
                    return Some(());
                }
                Some(input) = self.deliveries.next() => {
                    batch.inputs.push(input);
                    return Some(());
                }
                Some((generation, result)) = maybe(&mut self.starting) => {
                    self.starting = None;
                    let result = result.map(|runner| {
                        let pid = runner.pid;
                        self.runner = Some(LiveRunner { generation, runner, lines_closed: false });
                        pid
                    });
                    batch.inputs.push(Input::Started { generation, result });
                    return Some(());
                }
                count = async { match lines { Some(lines) => lines.recv_many(&mut self.lines, BATCH).await, None => std::future::pending().await } } => {
                    if count > 0 {
                        return Some(());
                    }
                    if let Some(live) = &mut self.runner {
                        live.lines_closed = true;
                        // It cannot say any more how its run ends. Killing one that is gone is harmless.
                        let control = live.runner.control.clone();
                        tokio::spawn(async move {
                            tokio::time::sleep(MUTE).await;
                            control.kill();
                        });
                    }
                }
                (generation, exit) = async { match exit { Some((generation, exit)) => (generation, exit.await), None => std::future::pending().await } } => {
                    self.runner = None;
                    batch.inputs.push(Input::Exited { generation, exit: exit.unwrap_or_else(|_| Exit::default()) });
                    return Some(());
                }
                () = tokio::time::sleep_until(alarm.map_or(far, |(_, at)| at)), if alarm.is_some() => {
                    if let Some((timer, _)) = alarm {
                        self.timers.remove(&timer);
                        batch.inputs.push(Input::Timer(timer));
                    }
                    return Some(());
                }
                () = tokio::time::sleep_until(far), if dormant => {
                    self.log.rest();
                    if self.log.readers() == 0 && self.host.upgrade().is_none_or(|host| host.put_away(self.state.id())) {
                        return None;
                    }
                }
            }
        }
    }

    fn take_call(&mut self, call: Call, batch: &mut Batch) {
        batch.since.get_or_insert_with(Instant::now);
        batch.calls.push(self.open(call));
    }

    fn open(&mut self, call: Call) -> (ReplyTo, Input) {
        let to = ReplyTo(self.next_reply);
        self.next_reply += 1;
        if let Some(reply) = call.reply {
            self.replies.insert(to, reply);
        }
        (to, (call.input)(to))
    }

    fn take_lines(&mut self, batch: &mut Batch) {
        let Some(live) = &mut self.runner else {
            self.lines.clear();
            return;
        };
        while self.lines.len() < BATCH {
            let Ok(line) = live.runner.lines.try_recv() else { break };
            self.lines.push(line);
        }
        let (generation, id) = (live.generation, self.state.id());
        batch.inputs.extend(self.lines.drain(..).map(|line| Input::Line { generation, line: admit(id, line) }));
    }

    /// Applies a batch, commits it, publishes it, performs its effects.
    async fn step(&mut self, mut batch: Batch) {
        let before = (!batch.calls.is_empty()).then(|| self.state.clone());
        self.ends = batch.calls.iter().filter_map(|(_, input)| End::of(input)).collect();
        let callers: Vec<ReplyTo> = batch.calls.iter().map(|(to, _)| *to).collect();
        let events = before.as_ref().map(|_| batch.inputs.clone());
        let now = Timestamp::now();
        let mut out = Output::default();
        for input in batch.calls.drain(..).map(|(_, input)| input).chain(batch.inputs.drain(..)) {
            self.state.apply(now, input, &mut out);
        }
        let (changes, mut chunks, mut effects) = self.finish(now, out).await;
        let mut decided = changes.iter().any(Change::is_decision);
        let patience = batch.since.map(|since| since + DB_PATIENCE);
        if let Err(error) = self.commit(changes, patience).await {
            // Nothing of the batch was written: the callers are told, and it never happened.
            for to in callers {
                if let Some(reply) = self.replies.remove(&to) {
                    let _ = reply.send(Err(error.clone()));
                }
            }
            if let Some(before) = before {
                self.state = before;
            }
            let mut out = Output::default();
            for input in events.unwrap_or_default() {
                self.state.apply(now, input, &mut out);
            }
            let changes;
            (changes, chunks, effects) = self.finish(now, out).await;
            decided = changes.iter().any(Change::is_decision);
            // Without callers there is nobody to give up for: this returns once it is written.
            let _ = self.commit(changes, None).await;
        }
        self.log.publish(chunks, self.state.last_run().1);
        if decided {
            self.log.decided();
        }
        for effect in effects {
            self.perform(effect).await;
        }
        self.update_gauges(now);
    }

    /// Ends a batch. A run that was cut off is settled in the same commit as its last event: its text
    /// is read back from what is committed and from the batch itself.
    async fn finish(&mut self, now: Timestamp, out: Output) -> (Vec<Change>, Vec<LogChunk>, Vec<Effect>) {
        let (mut changes, mut chunks, mut effects) = self.state.finish(now, out);
        let cut_off = effects.iter().find_map(|effect| if let Effect::CollectPartial { from } = effect { Some(*from) } else { None });
        if let Some(from) = cut_off {
            let text = partial_text(&self.log, self.store.as_ref(), from, &chunks).await;
            let mut out = Output::default();
            self.state.apply(now, Input::Partial { text }, &mut out);
            let (settled, more, then) = self.state.finish(now, out);
            changes.extend(settled);
            chunks.extend(more);
            effects.extend(then);
        }
        (changes, chunks, effects)
    }

    /// Commits, trying again while the database is busy, full or failing; until `patience` ends
    /// when callers wait. Meanwhile the runner's pipe back-pressures, and a stop still reaches it.
    async fn commit(&mut self, changes: Vec<Change>, patience: Option<Instant>) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        let slow = tokio::time::sleep(SLOW_COMMIT);
        tokio::pin!(slow);
        loop {
            let (store, copy) = (self.store.clone(), changes.clone());
            let result = self.meanwhile(slow.as_mut(), async move { store.commit(copy).await }).await;
            let Err(error) = result else { return Ok(()) };
            let retryable = matches!(error, Error::DbBusy(_) | Error::DbUnavailable(_));
            if patience.is_some_and(|patience| !retryable || Instant::now() >= patience) {
                return Err(error);
            }
            tracing::warn!(session = self.state.id(), %error, "commit failed, trying again");
            self.meanwhile(slow.as_mut(), tokio::time::sleep(COMMIT_RETRY)).await;
        }
    }

    /// Waits for `work` and keeps the mailbox moving; once `slow` has passed, stops are urged.
    async fn meanwhile<T>(&mut self, mut slow: Pin<&mut tokio::time::Sleep>, work: impl Future<Output = T>) -> T {
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                result = &mut work => return result,
                Some(call) = self.calls.recv(), if self.deferred.len() < MAILBOX => self.defer(call),
                () = &mut slow, if !slow.is_elapsed() => {}
            }
            if slow.is_elapsed() {
                self.urge();
            }
        }
    }

    /// Keeps a call for the next batch.
    fn defer(&mut self, call: Call) {
        let (to, input) = self.open(call);
        self.ends.extend(End::of(&input));
        self.deferred.push(Deferred { to, input, since: Instant::now() });
    }

    /// The database stands still: what is to be ended is told so without it.
    fn urge(&mut self) {
        let Some(live) = &self.runner else { return };
        for end in self.ends.drain(..) {
            match end {
                End::Run => {
                    let (done, _) = oneshot::channel();
                    let _ = live.runner.commands.try_send(Delivery { command: Command::Abort(Abort {}), done });
                }
                End::Runner => live.runner.control.kill(),
            }
        }
    }

    async fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::StartRunner { generation, llm_no, project } => {
                let host = self.host.clone();
                let (id, runtime, cwd) = (self.state.id().to_owned(), self.state.runtime().to_owned(), self.state.cwd().map(ToOwned::to_owned));
                self.starting = Some(
                    async move {
                        let result = match host.upgrade() {
                            Some(host) => host.start_runner(&id, &runtime, llm_no, cwd.as_deref(), project.as_deref()).await,
                            None => Err(Error::DbUnavailable("this Galley Core has ended".to_owned())),
                        };
                        (generation, result)
                    }
                    .boxed(),
                );
            }
            Effect::Tell { generation, order } => self.tell(generation, order).await,
            Effect::KillRunner { generation } => {
                if let Some(live) = self.runner.as_ref().filter(|live| live.generation == generation) {
                    live.runner.control.kill();
                }
            }
            // Performed before the commit, so that a run's end and its outcome are one.
            Effect::CollectPartial { .. } => {}
            Effect::Reply { to, result } => {
                if let Some(reply) = self.replies.remove(&to) {
                    // A caller that has gone away needs no answer.
                    let _ = reply.send(result);
                }
            }
            Effect::SetTimer { timer, after } => {
                self.timers.insert(timer, Instant::now() + after);
            }
            Effect::ClearTimer(timer) => {
                self.timers.remove(&timer);
            }
            Effect::RunnerUp { generation } => self.log.runner_up(generation),
            Effect::RunnerDown { generation, reason } => self.log.runner_down(generation, reason),
            Effect::CloseStreams { reason } => self.log.close(reason),
            Effect::OpenStreams => self.log.reopen(),
            Effect::Forget => {
                if let Some(host) = self.host.upgrade() {
                    host.forget(self.state.id()).await;
                }
            }
            Effect::RulesChanged { scope } => {
                if let Some(host) = self.host.upgrade() {
                    host.rules_changed(&scope);
                }
            }
        }
    }

    async fn tell(&mut self, generation: u64, order: Order) {
        let (command, purpose) = match order {
            Order::Command { command, purpose } => (Ok(Some(command)), purpose),
            Order::Rules { scope } => (rules(self.store.clone(), &scope).await.map(Some), Purpose::None),
            Order::History { exclude } => (history(self.store.clone(), self.state.id(), exclude.as_deref()).await, Purpose::History),
        };
        let command = match command {
            Ok(Some(command)) => command,
            Ok(None) => return self.report(generation, purpose, Delivered::Nothing),
            Err(error) => {
                tracing::warn!(session = self.state.id(), %error, "could not read what the runner is to be told");
                return self.report(generation, purpose, Delivered::No);
            }
        };
        let (done, delivered) = oneshot::channel();
        let taken = self
            .runner
            .as_ref()
            .filter(|live| live.generation == generation)
            .is_some_and(|live| live.runner.commands.try_send(Delivery { command, done }).is_ok());
        if !taken {
            return self.report(generation, purpose, Delivered::No);
        }
        if purpose != Purpose::None {
            self.deliveries.push(
                async move {
                    let outcome = if matches!(delivered.await, Ok(Ok(()))) { Delivered::Yes } else { Delivered::No };
                    Input::Delivered { generation, purpose, outcome }
                }
                .boxed(),
            );
        }
    }

    fn report(&self, generation: u64, purpose: Purpose, outcome: Delivered) {
        self.deliveries.push(async move { Input::Delivered { generation, purpose, outcome } }.boxed());
    }

    fn update_gauges(&self, now: Timestamp) {
        let busy = self.state.is_busy();
        let process = self.runner.as_ref().is_some_and(|live| live.runner.pid.is_some());
        self.gauges.alive.store(self.state.is_runner_alive(), Ordering::Relaxed);
        self.gauges.process.store(process && self.state.is_runner_alive(), Ordering::Relaxed);
        self.gauges.evictable.store(process && self.state.is_evictable(), Ordering::Relaxed);
        self.gauges.queued.store(self.state.queued_count(), Ordering::Relaxed);
        self.gauges.busy.store(busy, Ordering::Relaxed);
        if busy {
            self.gauges.used_at.store(now.as_millis(), Ordering::Relaxed);
        }
    }
}

async fn rules(store: Arc<dyn SessionStore>, scope: &str) -> Result<Command, Error> {
    let tools = |rules: Vec<crate::store::Rule>| rules.into_iter().map(|rule| rule.tool).collect();
    Ok(Command::SetApprovalRules(SetApprovalRules {
        always_allow_global: tools(store.rules("global").await?),
        always_allow_project: tools(store.rules(scope).await?),
    }))
}

async fn history(store: Arc<dyn SessionStore>, session_id: &str, exclude: Option<&str>) -> Result<Option<Command>, Error> {
    let messages = store.history(session_id, exclude).await?;
    Ok((!messages.is_empty()).then_some(Command::LoadHistory(LoadHistory { messages })))
}

/// Waits for a future that may not be there.
async fn maybe<T>(future: &mut Option<BoxFuture<'static, T>>) -> Option<T> {
    match future {
        Some(future) => Some(future.await),
        None => None,
    }
}

/// The run's streamed text after its last step; its end when it is very long. The committed part of
/// the log goes up to `batch`.
async fn partial_text(log: &EventLog, store: &dyn SessionStore, from: u64, batch: &[LogChunk]) -> String {
    let mut text = String::new();
    let last = log.last();
    let mut next = from.max(1);
    while next <= last {
        let page = match log.page(store, next, PARTIAL_PAGE).await {
            Ok(page) if !page.is_empty() => page,
            Ok(_) => break,
            Err(error) => {
                tracing::warn!(%error, "could not read the text of a run that was cut off");
                break;
            }
        };
        for chunk in &page {
            next = chunk.last + 1;
            add_text(&mut text, chunk, from);
        }
    }
    for chunk in batch {
        add_text(&mut text, chunk, from);
    }
    keep_end(&mut text);
    text
}

/// Adds the text of a chunk's events from index `from` on.
fn add_text(text: &mut String, chunk: &LogChunk, from: u64) {
    let skip = usize::try_from(from.saturating_sub(chunk.first)).unwrap_or(usize::MAX);
    for line in chunk.lines.iter().flat_map(|lines| lines.split(|byte| *byte == b'\n')).skip(skip) {
        match Event::from_line(line) {
            Ok(Event::TurnProgress(progress)) => text.push_str(&progress.delta),
            Ok(Event::TurnEnd(_)) => text.clear(),
            _ => {}
        }
    }
    if text.len() > 2 * PARTIAL_BYTES {
        keep_end(text);
    }
}

fn keep_end(text: &mut String) {
    let mut cut = text.len().saturating_sub(PARTIAL_BYTES);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.drain(..cut);
}
