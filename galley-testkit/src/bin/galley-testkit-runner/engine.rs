//! The runner's life: start, runs, history, shutdown.

use crate::arguments::Arguments;
use crate::input::llm_name;
use crate::output::now;
use crate::shared::{Heard, Question, Shared, Stop, Work};
use galley_protocol::RawJson;
use galley_protocol::ipc::{
    ExitReason, HistoryLoaded, Llm, PROTOCOL_VERSION, Ready, RunComplete, ToolCall, ToolResult, TurnEnd, TurnProgress, TurnStart,
};
use galley_testkit::{Script, Step};
use std::fs::File;
use std::sync::Arc;
use std::{env, process};

/// How much of what a step said is kept for its `turn_end`.
const MAX_SAID: usize = 64 * 1024;

/// Plays scripts, one after the other.
pub struct Engine {
    pub(crate) arguments: Arguments,
    pub(crate) shared: Arc<Shared>,
    /// The run whose script plays.
    pub(crate) run: Option<u64>,
    /// The step within the run, from 1.
    pub(crate) turn: u32,
    pub(crate) turn_open: bool,
    /// What the current step said so far.
    said: String,
    pub(crate) tool_calls: Vec<RawJson>,
    pub(crate) tool_results: Vec<RawJson>,
    /// Commands that `wait_for` has already taken.
    pub(crate) heard: Heard,
    pub(crate) ready_sent: bool,
    /// Locks held until the process ends.
    pub(crate) locks: Vec<File>,
    pub(crate) next_seq: u64,
    pub(crate) next_id: u64,
}

impl Engine {
    pub fn new(arguments: Arguments, shared: Arc<Shared>) -> Self {
        Self {
            arguments,
            shared,
            run: None,
            turn: 0,
            turn_open: false,
            said: String::new(),
            tool_calls: Vec::new(),
            tool_results: Vec::new(),
            heard: Heard::default(),
            ready_sent: false,
            locks: Vec::new(),
            next_seq: 0,
            next_id: 0,
        }
    }

    /// Lives until shutdown or the end of stdin.
    pub fn run(mut self) {
        if let Some(script) = self.arguments.scenario.start.take() {
            self.occasion(&script, "start");
        }
        if !self.ready_sent && !self.shared.state().settings.never_ready {
            self.ready();
        }
        loop {
            match self.shared.next_work() {
                Work::Message { run, text, heard } => self.message(run, &text, heard),
                Work::History(count) => self.history(count),
                Work::IdleAbort => {
                    if let Some(script) = self.arguments.scenario.abort.clone() {
                        self.occasion(&script, "abort");
                    }
                }
                Work::RunAbort => self.aborted(),
                Work::Shutdown => {
                    if let Some(script) = self.arguments.scenario.shutdown.clone() {
                        self.occasion(&script, "shutdown");
                    }
                    return;
                }
                Work::Closed => return,
            }
        }
    }

    /// Plays a script that answers no message. It may open a run of its own.
    fn occasion(&mut self, script: &Script, context: &str) {
        let left_open = {
            let state = self.shared.state();
            self.heard = state.heard;
            state.left_open
        };
        if !left_open {
            self.run = None;
        }
        let played = self.play(script);
        self.settle(played, context);
    }

    fn message(&mut self, run: u64, text: &str, heard: Heard) {
        // Again, in case the script before opened a run of its own while this one waited.
        self.shared.change(|state| state.open_run = Some(run));
        self.begin_run(run);
        self.heard = heard;
        let script = match text.strip_prefix('!') {
            Some(script) => script.parse().map(Some).map_err(|error: galley_testkit::Error| Stop::Failed(error.to_string())),
            None => Ok(self.arguments.scenario.message.clone()),
        };
        let played = script.and_then(|script| match script {
            Some(script) => {
                if script.steps().first() != Some(&Step::NoTurnStart) {
                    self.open_turn();
                }
                self.play(&script)
            }
            None => {
                self.shared.check(self.run)?;
                self.say(&format!("echo: {text}"));
                Ok(())
            }
        });
        self.settle(played, "user_message");
    }

    /// Makes `run` the run that plays.
    pub(crate) fn begin_run(&mut self, run: u64) {
        self.run = Some(run);
        self.turn = 0;
        self.turn_open = false;
        self.forget_turn();
    }

    pub(crate) fn play(&mut self, script: &Script) -> Result<(), Stop> {
        for step in script.steps() {
            self.shared.check(self.run)?;
            self.step(step)?;
            if self.shared.output.broken() && !self.shared.state().settings.ignore_stdin_eof {
                return Err(Stop::Closed);
            }
        }
        Ok(())
    }

    /// Ends what a script left: its run, or the process.
    fn settle(&mut self, played: Result<(), Stop>, context: &str) {
        match played {
            Ok(()) => {
                let state = self.shared.state();
                let mine = self.run.is_some() && state.open_run == self.run && !state.left_open;
                drop(state);
                if mine {
                    self.end_run("CURRENT_TASK_DONE", None);
                }
            }
            Err(Stop::Aborted) => self.aborted(),
            Err(Stop::Closed) => process::exit(0),
            Err(Stop::Failed(problem)) => {
                self.shared.output.error("bridge", "error", context, &problem);
                if self.run.is_some() {
                    self.end_run("EXITED", None);
                }
            }
        }
    }

    /// The reaction to `abort` of an open run.
    fn aborted(&mut self) {
        let (run, delay) = self.shared.change(|state| {
            state.question = Question::None;
            state.approvals.clear();
            (state.abort.take(), state.settings.slow_abort)
        });
        self.heard = self.shared.state().heard;
        let reaction = self.shared.sleep(None, delay).and_then(|()| {
            let script = self.arguments.scenario.abort.clone().unwrap_or_default();
            self.play(&script)
        });
        match reaction {
            Err(Stop::Closed) => process::exit(0),
            Err(Stop::Failed(problem)) => self.shared.output.error("bridge", "error", "abort", &problem),
            Ok(()) | Err(Stop::Aborted) => {}
        }
        if self.shared.state().open_run == run {
            self.complete("ABORTED", None);
        }
    }

    fn history(&mut self, count: u32) {
        if let Some(script) = self.arguments.scenario.history.clone() {
            self.occasion(&script, "history");
        }
        let settings = self.shared.state().settings.clone();
        if self.shared.sleep(None, settings.slow_history).is_err() {
            return;
        }
        let output = &self.shared.output;
        let refusal = match (settings.refuse_history, self.shared.state().conversing) {
            (true, _) => Some("told to refuse the history"),
            (_, true) => Some("the history can only be loaded before the first message"),
            _ => None,
        };
        if let Some(refusal) = refusal {
            return output.error("business", "error", "load_history", refusal);
        }
        if settings.warn_history {
            output.error("business", "warning", "load_history", "the history's shape was not validated for this model");
        }
        output.event(HistoryLoaded { session_id: output.session(), message_count: count, timestamp: now() });
    }

    pub(crate) fn ready(&mut self) {
        let (settings, current) = {
            let state = self.shared.state();
            (state.settings.clone(), state.llm)
        };
        let llm = |index| Llm { index, name: llm_name(index), key: None, display_name: llm_name(index), is_current: index == current };
        let output = &self.shared.output;
        output.event(Ready {
            session_id: output.session(),
            protocol_version: settings.version.clone().unwrap_or_else(|| PROTOCOL_VERSION.to_owned()),
            ga_commit: Some("unknown".to_owned()),
            ga_commit_date: Some("unknown".to_owned()),
            ga_path: self.arguments.ga_path.clone(),
            llm_name: Some(llm_name(current)),
            cwd: env::current_dir().ok().map(|cwd| cwd.display().to_string()),
            pid: Some(process::id()),
            available_llms: (0..settings.llms()).map(llm).collect(),
            capabilities: settings.capabilities,
            timestamp: now(),
        });
        self.ready_sent = true;
    }

    /// Opens the next step of an open run unless one is open.
    pub(crate) fn open_turn(&mut self) {
        let running = self.run.is_some() && self.shared.state().open_run == self.run;
        if running && !self.turn_open {
            self.turn += 1;
            self.turn_open = true;
            self.turn_start();
        }
    }

    pub(crate) fn turn_start(&self) {
        let output = &self.shared.output;
        output.event(TurnStart { session_id: output.session(), turn_index: self.turn, timestamp: now() });
    }

    /// Says `text` in the current step, a piece for each word.
    pub(crate) fn say(&mut self, text: &str) {
        self.open_turn();
        for piece in text.split_inclusive(' ') {
            self.progress(piece);
        }
        if self.said.len() + text.len() <= MAX_SAID {
            self.said.push_str(text);
        }
    }

    pub(crate) fn progress(&self, delta: &str) {
        let output = &self.shared.output;
        output.event(TurnProgress { session_id: output.session(), delta: delta.to_owned(), source: Some("workbench".to_owned()), timestamp: now() });
    }

    /// Ends the current step; with a result word it is the run's last.
    pub(crate) fn end_turn(&mut self, result: Option<&str>, text: Option<&str>) {
        self.open_turn();
        let content = text.unwrap_or(&self.said).to_owned();
        let output = &self.shared.output;
        output.event(TurnEnd {
            session_id: output.session(),
            turn_index: self.turn,
            summary: Some(content.chars().take(100).collect()),
            tool_calls: std::mem::take(&mut self.tool_calls),
            tool_results: std::mem::take(&mut self.tool_results),
            exit_reason: result.map(exit_reason),
            response_content: Some(content),
            telemetry: None,
            timestamp: now(),
        });
        self.turn_open = false;
    }

    /// Ends the run as a well-behaved runner does.
    pub(crate) fn end_run(&mut self, result: &str, text: Option<&str>) {
        let content = text.unwrap_or(&self.said).to_owned();
        self.end_turn(Some(result), Some(&content));
        self.complete(result, Some(content));
    }

    /// Writes `run_complete`. The run is over before the line is out: what answers it may come at once.
    pub(crate) fn complete(&mut self, result: &str, content: Option<String>) {
        self.close_run();
        let output = &self.shared.output;
        output.event(RunComplete {
            session_id: output.session(),
            exit_reason: exit_reason(result),
            final_content: content,
            total_turns: Some(self.turn),
            timestamp: now(),
        });
    }

    /// From here on the run takes no abort, and the next message is welcome.
    pub(crate) fn close_run(&mut self) {
        self.shared.change(|state| {
            if state.open_run == self.run {
                state.open_run = None;
                state.left_open = false;
            }
            if state.abort == self.run {
                state.abort = None;
            }
        });
    }

    pub(crate) fn forget_turn(&mut self) {
        self.said.clear();
        self.tool_calls.clear();
        self.tool_results.clear();
    }

    /// Notes a tool call for the step's `turn_end`.
    pub(crate) fn note_tool(&mut self, tool: &str, id: &str, args: &RawJson, result: &str) {
        let call = ToolCall { tool_name: tool.to_owned(), args: Some(args.clone()) };
        let result = ToolResult { tool_use_id: Some(id.to_owned()), content: RawJson::new(&result).ok() };
        self.tool_calls.extend(RawJson::new(&call));
        self.tool_results.extend(RawJson::new(&result));
    }
}

fn exit_reason(result: &str) -> ExitReason {
    ExitReason { result: result.into(), data: None }
}
