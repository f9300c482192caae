//! A runner that is spoken to.

use super::launch::{Connection, Ended, Received, Start};
use super::order::Order;
use super::{Fault, Site};
use galley_protocol::ipc::Event;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The session every runner is started for.
pub(super) const SESSION: &str = "sess_conformance";

/// How long a runner may take to end; Galley itself waits two seconds.
pub(super) const END: Duration = Duration::from_secs(5);

/// How often a question may be answered before a task is given up.
const ROUNDS: usize = 10;

/// A started runner, and the checks that every event goes through.
pub(super) struct Dialog<'a> {
    site: &'a Site<'a>,
    pub(super) connection: Box<dyn Connection>,
    order: Order,
    /// Lines of this runner that were no event.
    pub(super) strays: Vec<String>,
    pub(super) ready: Value,
}

/// What a task came to.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pub(super) events: Vec<Value>,
}

impl Talk {
    /// The events of one kind.
    pub(super) fn of<'t>(&'t self, kind: &'t str) -> impl Iterator<Item = &'t Value> {
        self.events.iter().filter(move |event| event["kind"] == kind)
    }

    pub(super) fn has(&self, kind: &str) -> bool {
        self.of(kind).next().is_some()
    }

    /// How the run ended.
    pub(super) fn result(&self) -> &str {
        self.of("run_complete").last().and_then(|complete| complete["exitReason"]["result"].as_str()).unwrap_or_default()
    }
}

impl<'a> Dialog<'a> {
    /// Starts a runner and waits until it is ready.
    pub(super) fn start(site: &'a Site<'a>) -> Result<Self, Fault> {
        Self::start_with(site, Start { session_id: SESSION.to_owned(), ..Start::default() })
    }

    pub(super) fn start_with(site: &'a Site<'a>, start: Start) -> Result<Self, Fault> {
        let connection = site.launcher.start(&start).map_err(|error| Fault::failed(format!("the runner cannot be started: {error}")))?;
        let mut dialog = Self { site, connection, order: Order::default(), strays: Vec::new(), ready: Value::Null };
        dialog.ready = dialog.until("ready")?.events.pop().unwrap_or_default();
        Ok(dialog)
    }

    // Words to the runner.

    pub(super) fn send(&mut self, command: &Value) -> Result<(), Fault> {
        self.send_bytes(format!("{command}\n").as_bytes())
    }

    pub(super) fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.connection.write(bytes).map_err(|error| Fault::failed(format!("the runner takes no more commands: {error}")))
    }

    /// A message that opens a run.
    pub(super) fn message(&mut self, text: &str) -> Result<(), Fault> {
        self.order.message();
        self.send(&message(text))
    }

    /// Bytes that hold a message that opens a run.
    pub(super) fn message_bytes(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.order.message();
        self.send_bytes(bytes)
    }

    pub(super) fn decide(&mut self, pending: &Value, decision: &str) -> Result<(), Fault> {
        self.send(&json!({ "kind": "approval_response", "approvalId": pending["approvalId"], "decision": decision }))
    }

    /// Answers a question of the runner.
    pub(super) fn answer(&mut self, question: &Value) -> Result<(), Fault> {
        if question["blocking"] != true {
            self.order.message();
        }
        let candidate = question["candidates"][0].as_str().unwrap_or("yes");
        let text = self.site.options.answer.as_deref().unwrap_or(candidate);
        self.send(&json!({ "kind": "ask_user_response", "text": text }))
    }

    // Words of the runner.

    /// The next event. A line that is none is noted and passed over.
    pub(super) fn event(&mut self, waiting_for: &str) -> Result<Value, Fault> {
        let limit = self.site.options.limit;
        match self.next(limit) {
            Next::Event(event) => Ok(event),
            Next::Nothing => Err(Fault::failed(format!("no {waiting_for} within {limit:?}"))),
            Next::End => Err(Fault::failed(format!("the runner's output ended before {waiting_for}"))),
        }
    }

    fn next(&mut self, limit: Duration) -> Next {
        let deadline = Instant::now() + limit;
        loop {
            match self.connection.read(deadline.saturating_duration_since(Instant::now())) {
                Received::Nothing => return Next::Nothing,
                Received::End => return Next::End,
                Received::Line(line) => match self.read(&line) {
                    Ok(event) => {
                        self.order.event(&event);
                        let complaints = self.order.complaints();
                        self.site.order.borrow_mut().extend(complaints);
                        return Next::Event(event);
                    }
                    Err(problem) => {
                        let stray = format!("{problem}: {}", String::from_utf8_lossy(&line[..line.len().min(200)]));
                        self.site.strays.borrow_mut().push(stray.clone());
                        self.strays.push(stray);
                    }
                },
            }
        }
    }

    fn read(&self, line: &[u8]) -> Result<Value, String> {
        let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        Event::from_line(line).map_err(|error| error.to_string())?;
        let event: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match event.get("sessionId") {
            None | Some(Value::Null) => Ok(event),
            Some(session) if session == SESSION => Ok(event),
            Some(session) => Err(format!("another session's id, {session}")),
        }
    }

    /// Everything up to the first event of `kind`, which is the last returned.
    pub(super) fn until(&mut self, kind: &str) -> Result<Talk, Fault> {
        self.until_any(&[kind], &format!("`{kind}`"))
    }

    /// Everything up to the first event of one of `kinds`, which is the last returned.
    pub(super) fn until_any(&mut self, kinds: &[&str], waiting_for: &str) -> Result<Talk, Fault> {
        let mut talk = Talk::default();
        loop {
            let event = self.event(waiting_for)?;
            let found = event["kind"].as_str().is_some_and(|kind| kinds.contains(&kind));
            talk.events.push(event);
            if found {
                return Ok(talk);
            }
        }
    }

    /// Everything up to the `error` that refuses `what`.
    pub(super) fn refusal(&mut self, what: &str) -> Result<Talk, Fault> {
        self.until_any(&["error"], &format!("`error` that refuses {what}"))
    }

    /// Everything the runner says until it refuses a model that does not exist, as it must (IPC
    /// protocol §5.8). What it does at once is done by then; an answer that takes it longer may come
    /// later.
    pub(super) fn fence(&mut self) -> Result<Talk, Fault> {
        self.send(&json!({ "kind": "set_llm", "llmIndex": 999_999 }))?;
        let mut talk = Talk::default();
        loop {
            let event = self.event("`error` that refuses a model that does not exist")?;
            if event["kind"] == "error" && matches!(event["context"].as_str(), None | Some("set_llm")) {
                return Ok(talk);
            }
            talk.events.push(event);
        }
    }

    /// The rest of the output, to its end.
    pub(super) fn rest(&mut self, limit: Duration) -> Result<Talk, Fault> {
        let deadline = Instant::now() + limit;
        let mut talk = Talk::default();
        loop {
            match self.next(deadline.saturating_duration_since(Instant::now())) {
                Next::Event(event) => talk.events.push(event),
                Next::End => return Ok(talk),
                Next::Nothing => return Err(Fault::failed(format!("the runner's output did not end within {limit:?}"))),
            }
        }
    }

    // Runs.

    /// Gives the runner a task and answers what it asks, until it is done; `decision` is the answer
    /// to every approval.
    pub(super) fn run(&mut self, task: &str, decision: &str) -> Result<Talk, Fault> {
        self.message(task)?;
        self.finish(decision)
    }

    /// Answers what the runner asks until its task is done.
    pub(super) fn finish(&mut self, decision: &str) -> Result<Talk, Fault> {
        let mut talk = Talk::default();
        let (mut question, mut answered) = (None, 0);
        loop {
            let event = self.event("`run_complete`")?;
            talk.events.push(event.clone());
            match event["kind"].as_str() {
                Some("tool_call_pending") => self.decide(&event, decision)?,
                Some("ask_user") if event["blocking"] == true => self.answer(&event)?,
                Some("ask_user") => question = Some(event),
                Some("run_complete") => match question.take() {
                    Some(question) if answered < ROUNDS => {
                        answered += 1;
                        self.answer(&question)?;
                    }
                    _ => return Ok(talk),
                },
                _ => {}
            }
        }
    }

    /// Gives the runner a task and answers what it asks, up to the first event of `kind`, which is
    /// returned unanswered.
    pub(super) fn run_until(&mut self, task: &str, kind: &str) -> Result<Value, Fault> {
        self.message(task)?;
        let mut question = None;
        loop {
            let event = self.event(&format!("`{kind}`"))?;
            if event["kind"] == kind {
                return Ok(event);
            }
            match event["kind"].as_str() {
                Some("tool_call_pending") => self.decide(&event, "allow_once")?,
                Some("ask_user") if event["blocking"] == true => self.answer(&event)?,
                Some("ask_user") => question = Some(event),
                Some("run_complete") => match question.take() {
                    Some(question) => self.answer(&question)?,
                    None => return Err(Fault::failed(format!("the task {task:?} ended without `{kind}`"))),
                },
                _ => {}
            }
        }
    }

    /// Opens a run and keeps it open.
    pub(super) fn hold(&mut self) -> Result<Held, Fault> {
        let options = self.site.options;
        if let Some(task) = &options.long {
            self.send(&json!({ "kind": "set_yolo_mode", "enabled": true }))?;
            self.message(task)?;
            loop {
                let event = self.event("sign of work")?;
                match event["kind"].as_str() {
                    Some("turn_progress" | "tool_call_start") => return Ok(Held::AtWork),
                    Some("run_complete") => return Err(Fault::failed(format!("the long task {task:?} was done at once"))),
                    _ => {}
                }
            }
        }
        if let Some(task) = &options.approval {
            return Ok(Held::Approval(self.run_until(task, "tool_call_pending")?));
        }
        if let Some(task) = &options.question {
            let question = self.run_until(task, "ask_user")?;
            if question["blocking"] == true {
                return Ok(Held::Question(question));
            }
        }
        Err(Fault::skipped("none of the tasks given keeps a run open (--task-long, --task-approval)"))
    }

    // The end.

    /// Waits for the runner's end; nothing of it may be left.
    pub(super) fn end(&mut self) -> Result<(Ended, Talk), Fault> {
        let talk = self.rest(END)?;
        let ended = self.connection.ended(END).ok_or_else(|| Fault::failed(format!("the runner did not end within {END:?}")))?;
        let gone = crate::wait_until(END, "nothing is left", || self.connection.left().is_ok_and(|left| left.is_empty()));
        match (gone, self.connection.left()) {
            (Ok(()), _) => Ok((ended, talk)),
            (Err(_), Ok(left)) => Err(Fault::failed(format!("the runner ended, and left the processes {left:?} behind"))),
            // There is no process table to look at here.
            (Err(_), Err(_)) => Ok((ended, talk)),
        }
    }
}

/// What keeps a run open.
pub(super) enum Held {
    AtWork,
    Approval(Value),
    Question(Value),
}

enum Next {
    Event(Value),
    Nothing,
    End,
}

pub(super) fn message(text: &str) -> Value {
    json!({ "kind": "user_message", "text": text, "images": [] })
}
