//! What each step does.

use crate::children;
use crate::engine::Engine;
use crate::faults;
use crate::output::now;
use crate::shared::{Approval, Question, Stop};
use galley_protocol::RawJson;
use galley_protocol::ipc::{AskUser, Command, Decision, ToolCallEnd, ToolCallPending, ToolCallStart, ToolStatus};
use galley_testkit::Step;
use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, process};

/// Unspaced `emit` looks for an abort this often, in events.
const ABORT_CHECK: u64 = 256;

impl Engine {
    pub(crate) fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match step {
            Step::Say(text) => self.say(text),
            Step::EndTurn(text) => {
                if let Some(text) = text {
                    self.say(text);
                }
                self.end_turn(None, None);
                self.forget_turn();
            }
            Step::End { result, text } => self.end_run(result, text.as_deref()),
            Step::TurnEndOnly => {
                self.open_turn();
                self.close_run();
                self.end_turn(Some("CURRENT_TASK_DONE"), None);
            }
            Step::CompleteOnly => self.complete("CURRENT_TASK_DONE", None),
            Step::DupComplete => {
                self.end_run("CURRENT_TASK_DONE", None);
                self.complete("CURRENT_TASK_DONE", None);
            }
            Step::Late(count) => {
                for number in 1..=*count {
                    self.progress(&format!("late {number} "));
                }
            }
            Step::NoComplete => self.shared.change(|state| state.left_open = state.open_run.is_some()),
            Step::NoTurnStart => self.turn_without_start(),
            Step::PredictTurn => {
                self.turn += 1;
                self.turn_open = true;
                self.turn_start();
                self.turn_start();
            }
            Step::SelfStart => {
                let run = self.shared.change(|state| state.open_run());
                self.begin_run(run);
                self.open_turn();
            }
            Step::Emit { count, size, gap } => self.emit(*count, *size, *gap)?,
            Step::Error { category, severity, text } => self.shared.output.error(category, severity, "script", text),
            Step::PrintEnv(name) => {
                let value = env::var_os(name).map(|value| format!("{name}={}", value.to_string_lossy()));
                self.say(&value.unwrap_or_else(|| format!("{name} is not set")));
            }
            Step::PrintArgs => {
                let arguments = RawJson::new(&self.arguments.all).map_err(io::Error::from)?;
                self.say(arguments.as_str());
            }
            Step::PrintImages => {
                let images = RawJson::new(&self.shared.state().images).map_err(io::Error::from)?;
                self.say(images.as_str());
            }
            Step::Raw(line) => self.shared.output.line(line.as_bytes()),
            Step::Wait(time) => self.shared.sleep(self.run, *time)?,
            Step::WaitFor(kind) => self.wait_for(kind)?,
            Step::Silence(text) => {
                self.shared.change(|state| state.silent = true);
                if let Some(text) = text {
                    self.say(text);
                }
                self.shared.wait(None, None, |_| None::<()>)?;
            }
            Step::Repeat { times, script } => {
                for _ in 0..*times {
                    self.play(script)?;
                }
            }
            Step::Ready => self.ready(),
            Step::ReadyAfter(time) => {
                self.shared.sleep(self.run, *time)?;
                self.ready();
            }
            Step::Exit(code) => process::exit(*code),
            Step::Die(signal) => die(*signal)?,
            Step::AbortSelf => process::abort(),
            Step::Stderr { lines, size } => stderr(*lines, *size),
            Step::CloseStdout => self.shared.output.close()?,
            Step::ForkHoldingPipe(seconds) => {
                let pid = children::sleep(*seconds, true)?;
                self.say_child(pid);
            }
            Step::SpawnSleep(seconds) => {
                let pid = children::sleep(*seconds, false)?;
                self.say_child(pid);
            }
            Step::SpawnEscaped(seconds) => {
                let pid = children::escape(*seconds)?;
                self.say_child(pid);
            }
            Step::EchoChild(text) => children::echo(text)?,
            Step::Flock(path) => {
                let lock = File::options().create(true).append(true).open(path)?;
                lock.try_lock().map_err(|error| Stop::Failed(format!("flock {path}: {error}")))?;
                self.locks.push(lock);
            }
            Step::AskApproval { tool, risk } => self.ask_approvals(std::slice::from_ref(tool), risk)?,
            Step::AskApprovals(count) => {
                let tools: Vec<String> = (1..=*count).map(|number| format!("tool_{number}")).collect();
                self.ask_approvals(&tools, "high")?;
            }
            Step::Ask { question, candidates, blocking } => self.ask(question, candidates, *blocking)?,
            Step::Set(setting) => self.shared.set(setting)?,
            fault => {
                self.open_turn();
                if !faults::write(&self.shared.output, self.turn, fault) {
                    return Err(Stop::Failed(format!("the runner does not know the step {fault:?}")));
                }
                // A `turn_end` is among them.
                self.turn_open &= *fault != Step::NullLists;
            }
        }
        Ok(())
    }

    /// The run's first step is open although no `turn_start` said so.
    fn turn_without_start(&mut self) {
        if !self.turn_open {
            self.turn += 1;
            self.turn_open = true;
        }
    }

    /// Says a child's pid as text that a test can read: `child 4711`.
    fn say_child(&mut self, pid: u32) {
        self.open_turn();
        self.progress(&format!("child {pid}"));
    }

    fn wait_for(&mut self, kind: &str) -> Result<(), Stop> {
        let Some(kind) = Command::KINDS.iter().position(|known| *known == kind) else { return Ok(()) };
        let taken = self.heard[kind];
        self.shared.wait(self.run, None, |state| (state.heard[kind] > taken && !state.answering).then_some(()))?;
        self.heard[kind] += 1;
        Ok(())
    }

    /// The one fast step: lines are put together by hand, in a buffer written 64 KiB at a time.
    fn emit(&mut self, count: u64, size: usize, gap: Duration) -> Result<(), Stop> {
        self.open_turn();
        let output = &self.shared.output;
        let session = RawJson::new(&output.session()).map_err(io::Error::from)?;
        let head = format!("{{\"kind\":\"turn_progress\",\"sessionId\":{},\"delta\":\"", session.as_str());
        let tail = format!("\",\"source\":\"workbench\",\"timestamp\":\"{}\",\"seq\":", now().unwrap_or_default());
        // The numbers after `tail` take about 45 bytes.
        let text = "galley ".repeat(size / 7 + 1);
        let prefix = [head.as_bytes(), &text.as_bytes()[..size.saturating_sub(head.len() + tail.len() + 45)], tail.as_bytes()].concat();
        let start = Instant::now();
        let mut pipe = output.lock();
        for number in 0..count {
            if !gap.is_zero() && number > 0 {
                pipe.flush();
                drop(pipe);
                // Against the schedule, not the last event: lateness does not add up.
                let due = gap.saturating_mul(u32::try_from(number).unwrap_or(u32::MAX));
                self.shared.sleep(self.run, due.saturating_sub(start.elapsed()))?;
                pipe = output.lock();
            } else if number % ABORT_CHECK == 0 {
                self.shared.check(self.run).inspect_err(|_| pipe.flush())?;
                if pipe.broken() {
                    return Ok(());
                }
            }
            let sent = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
            pipe.add(&prefix);
            pipe.number(self.next_seq.into());
            pipe.add(b",\"sentNs\":");
            pipe.number(sent);
            pipe.add(b"}\n");
            self.next_seq += 1;
        }
        pipe.flush();
        Ok(())
    }

    fn id(&mut self, prefix: &str) -> String {
        self.next_id += 1;
        format!("{prefix}_{}", self.next_id)
    }

    /// Asks for all `tools` that need it at once, then runs or denies them in order.
    fn ask_approvals(&mut self, tools: &[String], risk: &str) -> Result<(), Stop> {
        self.open_turn();
        let args = RawJson::new(&serde_json::json!({ "type": "testkit", "code": "true" })).map_err(io::Error::from)?;
        let mut waiting = Vec::new();
        for tool in tools {
            let needs_answer = {
                let state = self.shared.state();
                !state.auto && !state.allowed.contains(tool)
            };
            if needs_answer {
                let same = self.shared.state().settings.same_approval_id;
                let id = if same { "appr_same".to_owned() } else { self.id("appr") };
                self.shared.change(|state| state.approvals.push(Approval { id: id.clone(), tool: tool.clone(), decision: None }));
                self.pending(tool, risk, &id, &args);
            }
            waiting.push((tool, needs_answer));
        }
        for (tool, needs_answer) in waiting {
            let allowed = !needs_answer || self.next_decision()?.allows();
            self.use_tool(tool, &args, allowed);
        }
        Ok(())
    }

    /// The decision of the approval asked for first.
    fn next_decision(&self) -> Result<Decision, Stop> {
        let decision = self.shared.wait(self.run, None, |state| {
            let decision = state.approvals.first()?.decision.clone()?;
            state.approvals.remove(0);
            Some(decision)
        })?;
        decision.ok_or(Stop::Closed)
    }

    fn pending(&self, tool: &str, risk: &str, id: &str, args: &RawJson) {
        let output = &self.shared.output;
        output.event(ToolCallPending {
            session_id: output.session(),
            approval_id: id.to_owned(),
            turn_index: Some(self.turn),
            tool_name: tool.to_owned(),
            args: Some(args.clone()),
            args_preview: Some("type=testkit, code=true".to_owned()),
            risk_level: Some(risk.into()),
            reason: Some("the script asks for it".to_owned()),
            timestamp: now(),
        });
    }

    fn use_tool(&mut self, tool: &str, args: &RawJson, allowed: bool) {
        let id = self.id("tc");
        let (status, result) = if allowed { (ToolStatus::Success, "ok") } else { (ToolStatus::Denied, "User denied this action") };
        let output = &self.shared.output;
        if allowed {
            output.event(ToolCallStart {
                session_id: output.session(),
                tool_call_id: id.clone(),
                turn_index: Some(self.turn),
                tool_name: tool.to_owned(),
                args: Some(args.clone()),
                args_preview: None,
                timestamp: now(),
            });
        }
        output.event(ToolCallEnd {
            session_id: output.session(),
            tool_call_id: id.clone(),
            status,
            result_preview: Some(result.to_owned()),
            elapsed_ms: Some(0),
            timestamp: now(),
        });
        self.note_tool(tool, &id, args, result);
    }

    fn ask(&mut self, question: &str, candidates: &[String], blocking: bool) -> Result<(), Stop> {
        self.open_turn();
        if blocking {
            self.shared.change(|state| state.question = Question::Open);
        }
        let output = &self.shared.output;
        output.event(AskUser {
            session_id: output.session(),
            question: question.to_owned(),
            candidates: candidates.to_vec(),
            blocking: blocking.then_some(true),
            timestamp: now(),
        });
        if !blocking {
            self.end_run("EXITED", None);
            return Ok(());
        }
        let answer = self.shared.wait(self.run, None, |state| match std::mem::take(&mut state.question) {
            Question::Answered(text) => Some(text),
            waiting => {
                state.question = waiting;
                None
            }
        })?;
        self.say(&format!("answer: {}", answer.unwrap_or_default()));
        Ok(())
    }
}

/// Lines of `size` bytes on stderr, as fast as it takes them.
fn stderr(lines: u64, size: usize) {
    let mut stderr = io::BufWriter::new(io::stderr());
    for number in 1..=lines {
        let line = format!("{:<size$}\n", format!("stderr line {number}"));
        // Nobody listening is no fault of the script.
        if stderr.write_all(line.as_bytes()).is_err() {
            return;
        }
    }
    let _ = stderr.flush();
}

/// Ends this process by `signal`.
#[cfg(unix)]
fn die(signal: i32) -> Result<(), Stop> {
    use rustix::process::{Signal, getpid, kill_process};
    let named = Signal::from_named_raw(signal).ok_or_else(|| Stop::Failed(format!("there is no signal {signal} here")))?;
    // Twice: Rust's own handler of SIGSEGV and SIGBUS takes the first and steps aside.
    for _ in 0..2 {
        kill_process(getpid(), named).map_err(io::Error::from)?;
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(Stop::Failed(format!("signal {signal} does not end a process")))
}

#[cfg(windows)]
fn die(_signal: i32) -> Result<(), Stop> {
    Err(Stop::Failed("there are no signals on Windows; use `exit`".to_owned()))
}
