//! The actor of a session: it feeds the state machine, commits what comes out, then performs the
//! effects in order. Nothing is visible to anybody before it is committed.

mod committing;
mod mailbox;
mod partial;
mod performing;

pub use mailbox::{Gauges, SessionHandle};

use super::event::admit;
use super::input::{Input, Interruption};
use super::output::{Effect, Output, Reply, ReplyTo, Timer};
use super::state::SessionState;
use crate::error::Error;
use crate::event_log::EventLog;
use crate::feed::{Touched, touched};
use crate::runner::{Exit, Runner};
use crate::store::{LogChunk, SessionStore};
use crate::time::Timestamp;
use async_trait::async_trait;
use bytes::Bytes;
use committing::{Deferred, End};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use galley_protocol::socket::ApprovalMode;
use mailbox::Call;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Inputs taken into one batch.
const BATCH: usize = 512;
/// How long a caller waits for a database that cannot be written.
const DB_PATIENCE: Duration = Duration::from_secs(10);
/// A runner that has closed its output may take this long to exit.
const MUTE: Duration = Duration::from_secs(2);
/// A session with nothing in hand is put away after this long.
const IDLE: Duration = Duration::from_secs(60);

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
    /// Takes note of what a commit touched, for those who watch all sessions. It does no I/O.
    fn touched(&self, touched: Vec<Touched>);
    /// Tells every live session that the rules of this scope changed.
    fn rules_changed(&self, scope: &str);
    /// Takes the session out of the registry unless somebody is about to speak to it; `true` when
    /// it is gone and the actor may end.
    fn put_away(&self, session_id: &str) -> bool;
    /// The session was deleted: takes it out of the registry, and removes what is kept of it outside
    /// the store.
    async fn forget(&self, session_id: &str);
}

struct LiveRunner {
    generation: u64,
    runner: Runner,
    lines_closed: bool,
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
        let log = Arc::new(EventLog::new(state.id().to_owned(), state.last_index(), state.last_run().1));
        let gauges = Arc::new(Gauges::default());
        let (handle, calls) = SessionHandle::new(state.id().to_owned(), state.runtime().to_owned(), log.clone(), gauges.clone());
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
        self.step(Batch { inputs: vec![Input::Recover(Interruption::Restart)], ..Batch::default() }).await;
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
        let (changes, mut chunks, mut effects) = self.finish(now, out, true).await;
        let mut news = touched(self.state.id(), &changes);
        let patience = batch.since.map(|since| since + DB_PATIENCE);
        if let Err(error) = self.commit(changes, patience).await {
            let Some(before) = before else { return self.start_over(&error).await };
            // Nothing of the batch was written: the callers are told, and it never happened.
            for to in callers {
                if let Some(reply) = self.replies.remove(&to) {
                    let _ = reply.send(Err(error.clone()));
                }
            }
            self.state = before;
            let mut out = Output::default();
            for input in events.unwrap_or_default() {
                self.state.apply(now, input, &mut out);
            }
            let changes;
            (changes, chunks, effects) = self.finish(now, out, true).await;
            news = touched(self.state.id(), &changes);
            // Without callers there is nobody to give up for.
            if let Err(error) = self.commit(changes, None).await {
                return self.start_over(&error).await;
            }
        }
        self.publish(now, news, chunks, effects).await;
    }

    /// What was committed becomes readable, then what follows from it is done.
    async fn publish(&mut self, now: Timestamp, news: Vec<Touched>, chunks: Vec<LogChunk>, effects: Vec<Effect>) {
        self.log.publish(chunks, self.state.last_run().1);
        if !news.is_empty() {
            self.log.decided();
            if let Some(host) = self.host.upgrade() {
                host.touched(news);
            }
        }
        for effect in effects {
            self.perform(effect).await;
        }
        self.update_gauges(now);
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

/// Waits for a future that may not be there.
async fn maybe<T>(future: &mut Option<BoxFuture<'static, T>>) -> Option<T> {
    match future {
        Some(future) => Some(future.await),
        None => None,
    }
}
