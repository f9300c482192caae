//! What the shell says: its events as lines, and their texts.

use crate::time::Timestamp;
use bytes::Bytes;
use galley_protocol::RawJson;
use galley_protocol::ipc::{
    Category, ErrorEvent, Event, ExitReason, ExitResult, HistoryLoaded, PROTOCOL_VERSION, Ready, RiskLevel, RunComplete, Severity, SystemMessage,
    SystemVariant, ToolCallEnd, ToolCallPending, ToolCallStart, ToolStatus, TurnEnd, TurnProgress, TurnStart,
};
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// The one tool of the shell, by which approval rules know it.
pub(super) const TOOL: &str = "code_run";

/// What the shell can do, for `ready`.
const CAPABILITIES: [&str; 5] = ["abort", "approvals", "btw", "history", "reload_history"];

/// What came of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It ended. Neither is known of a shell whose host ignores SIGCHLD and that left no report.
    Ended {
        /// The exit code.
        code: Option<i32>,
        /// The signal that ended the shell.
        signal: Option<i32>,
    },
    /// It was not allowed.
    Denied,
    /// The user stopped it.
    Aborted,
}

/// One command, as the events of its run name it.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The id of the tool call.
    pub(super) id: String,
    /// The command line.
    pub(super) text: String,
}

impl Verdict {
    fn status(self) -> ToolStatus {
        match self {
            Self::Ended { code: Some(0), .. } => ToolStatus::Success,
            Self::Ended { .. } => ToolStatus::Failed,
            Self::Denied => ToolStatus::Denied,
            Self::Aborted => ToolStatus::Cancelled,
        }
    }

    /// A command that failed is a run that was done.
    fn exit_reason(self) -> ExitReason {
        let (result, data) = match self {
            Self::Ended { signal: Some(signal), .. } => (ExitResult::CurrentTaskDone, json!({ "signal": signal })),
            Self::Ended { code, .. } => (ExitResult::CurrentTaskDone, json!({ "exitCode": code })),
            Self::Denied => (ExitResult::CurrentTaskDone, json!({ "denied": true })),
            Self::Aborted => (ExitResult::Aborted, Value::Null),
        };
        ExitReason { result, data: if data.is_null() { None } else { raw(&data) } }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { signal: Some(signal), .. } => write!(f, "ended by signal {signal}"),
            Self::Ended { code: Some(code), .. } => write!(f, "exit code {code}"),
            Self::Ended { .. } => f.write_str("exit code unknown"),
            Self::Denied => f.write_str("not run: denied"),
            Self::Aborted => f.write_str("stopped"),
        }
    }
}

/// Turns events into the lines of one session.
#[derive(Debug, Clone)]
pub(super) struct Voice {
    session: String,
}

impl Voice {
    pub(super) fn new(session: &str) -> Self {
        Self { session: session.to_owned() }
    }

    fn session(&self) -> Option<String> {
        Some(self.session.clone())
    }

    pub(super) fn ready(&self, directory: &Path) -> Bytes {
        line(Ready {
            session_id: self.session(),
            protocol_version: PROTOCOL_VERSION.into(),
            ga_commit: None,
            ga_commit_date: None,
            ga_path: None,
            llm_name: None,
            cwd: Some(directory.to_string_lossy().into_owned()),
            pid: None,
            available_llms: Vec::new(),
            capabilities: Some(CAPABILITIES.map(str::to_owned).into()),
            timestamp: now(),
        })
    }

    pub(super) fn turn_start(&self) -> Bytes {
        line(TurnStart { session_id: self.session(), turn_index: 1, timestamp: now() })
    }

    pub(super) fn pending(&self, call: &Call, approval: &str) -> Bytes {
        line(ToolCallPending {
            session_id: self.session(),
            approval_id: approval.to_owned(),
            turn_index: Some(1),
            tool_name: TOOL.into(),
            args: raw(&call.args()),
            args_preview: Some(head(&call.text, 200)),
            risk_level: Some(RiskLevel::High),
            reason: Some("A command line can do everything that you can".into()),
            timestamp: now(),
        })
    }

    pub(super) fn tool_start(&self, call: &Call) -> Bytes {
        line(ToolCallStart {
            session_id: self.session(),
            tool_call_id: call.id.clone(),
            turn_index: Some(1),
            tool_name: TOOL.into(),
            args: raw(&call.args()),
            args_preview: Some(head(&call.text, 200)),
            timestamp: now(),
        })
    }

    pub(super) fn progress(&self, delta: String) -> Bytes {
        line(TurnProgress { session_id: self.session(), delta, source: Some("shell".into()), timestamp: now() })
    }

    pub(super) fn tool_end(&self, call: &Call, verdict: Verdict, output: &str, elapsed: Duration) -> Bytes {
        line(ToolCallEnd {
            session_id: self.session(),
            tool_call_id: call.id.clone(),
            status: verdict.status(),
            result_preview: Some(result_preview(verdict, output)),
            elapsed_ms: Some(millis(elapsed)),
            timestamp: now(),
        })
    }

    pub(super) fn turn_end(&self, call: &Call, verdict: Verdict, output: &str, elapsed: Duration) -> Bytes {
        line(TurnEnd {
            session_id: self.session(),
            turn_index: 1,
            summary: Some(format!("{} ({verdict})", call.title(60))),
            tool_calls: raw(&json!({ "toolName": TOOL, "args": call.args() })).into_iter().collect(),
            tool_results: raw(&json!({ "toolUseId": call.id, "content": result_preview(verdict, output) })).into_iter().collect(),
            exit_reason: Some(verdict.exit_reason()),
            response_content: (!output.is_empty()).then(|| output.to_owned()),
            telemetry: raw(&json!({ "elapsedMs": millis(elapsed) })),
            timestamp: now(),
        })
    }

    pub(super) fn run_complete(&self, verdict: Verdict, output: &str) -> Bytes {
        line(RunComplete {
            session_id: self.session(),
            exit_reason: verdict.exit_reason(),
            // What a stopped command had said is kept from the stream.
            final_content: (verdict != Verdict::Aborted).then(|| answer(verdict, output)),
            total_turns: Some(1),
            timestamp: now(),
        })
    }

    pub(super) fn side_answer(&self, content: String) -> Bytes {
        line(SystemMessage { session_id: self.session(), content, variant: SystemVariant::SideQuestion, timestamp: now() })
    }

    pub(super) fn history_loaded(&self, count: usize) -> Bytes {
        line(HistoryLoaded { session_id: self.session(), message_count: u32::try_from(count).unwrap_or(u32::MAX), timestamp: now() })
    }

    /// A command of Core that cannot be done; it fails no run.
    pub(super) fn refuse(&self, context: &str, message: impl Into<String>) -> Bytes {
        line(ErrorEvent {
            session_id: self.session(),
            message: message.into(),
            category: Category::Business,
            severity: Severity::Error,
            retryable: false,
            hint: None,
            context: Some(context.to_owned()),
            traceback: None,
            source: None,
            exit_code: None,
            signal: None,
            stderr_tail: None,
            timestamp: now(),
        })
    }
}

impl Call {
    fn args(&self) -> Value {
        json!({ "type": "shell", "code": self.text })
    }

    /// The command on one line of at most `limit` characters.
    pub(super) fn title(&self, limit: usize) -> String {
        let mut lines = self.text.trim().lines();
        let first = lines.next().unwrap_or_default();
        if lines.next().is_some() { head(&format!("{first} …"), limit) } else { head(first, limit) }
    }
}

/// The run's answer, Markdown.
fn answer(verdict: Verdict, output: &str) -> String {
    let words = match verdict {
        Verdict::Denied => return "The command was not run: it was denied.".into(),
        Verdict::Ended { code: Some(0), .. } if output.is_empty() => return "Done, without output.".into(),
        Verdict::Ended { code: Some(0), .. } => String::new(),
        Verdict::Ended { .. } | Verdict::Aborted => {
            let words = verdict.to_string();
            format!("{}{}.", words[..1].to_uppercase(), &words[1..])
        }
    };
    if output.is_empty() {
        return words;
    }
    let fence = "`".repeat(longest_run(output, '`').max(2) + 1);
    let newline = if output.ends_with('\n') { "" } else { "\n" };
    let block = format!("{fence}\n{output}{newline}{fence}");
    if words.is_empty() { block } else { format!("{block}\n\n{words}") }
}

/// The output in at most 500 characters, its beginning and its end; what became of it, if there is
/// none.
fn result_preview(verdict: Verdict, output: &str) -> String {
    const LIMIT: usize = 500;
    const HEAD: usize = 150;
    let output = output.trim_end();
    if output.is_empty() {
        return verdict.to_string();
    }
    if output.chars().count() <= LIMIT {
        return output.to_owned();
    }
    let start = output.char_indices().rev().nth(LIMIT - HEAD - 4).map_or(0, |(at, _)| at);
    format!("{} … {}", output.chars().take(HEAD).collect::<String>(), &output[start..])
}

/// At most `limit` characters of `text`, marked when cut.
fn head(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit - 1).chain(['…']).collect(),
    }
}

fn longest_run(text: &str, of: char) -> usize {
    text.split(|c| c != of).map(str::len).max().unwrap_or(0)
}

/// A duration as people say it.
pub(super) fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn now() -> Option<String> {
    Some(Timestamp::now().to_string())
}

/// Text and numbers always have a JSON form.
fn raw(value: &Value) -> Option<RawJson> {
    RawJson::new(value).ok()
}

fn line(event: impl Into<Event>) -> Bytes {
    // As above: an event of text and numbers is never refused.
    event.into().to_line().unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Verdict = Verdict::Ended { code: Some(0), signal: None };

    #[test]
    fn an_answer_is_fenced_beyond_what_the_output_has() {
        assert_eq!(answer(OK, "a\n"), "```\na\n```");
        assert_eq!(answer(OK, "x ```` y"), "`````\nx ```` y\n`````");
        assert_eq!(answer(OK, ""), "Done, without output.");
        assert_eq!(answer(Verdict::Ended { code: Some(3), signal: None }, "a"), "```\na\n```\n\nExit code 3.");
        assert_eq!(answer(Verdict::Ended { code: None, signal: Some(9) }, ""), "Ended by signal 9.");
        assert_eq!(answer(Verdict::Ended { code: None, signal: None }, ""), "Exit code unknown.");
    }

    #[test]
    fn previews_are_within_their_limits() {
        let text = "é".repeat(3000);
        assert_eq!(head(&text, 200).chars().count(), 200);
        assert_eq!(head("é", 200), "é");
        assert_eq!(result_preview(OK, &text).chars().count(), 500);
        assert_eq!(result_preview(OK, &"x".repeat(500)), "x".repeat(500));
        let long = format!("begin{}end\n", "-".repeat(1000));
        let preview = result_preview(OK, &long);
        assert!(preview.starts_with("begin") && preview.ends_with("end"), "{preview}");
        assert_eq!(result_preview(OK, " \n"), "exit code 0");
    }

    #[test]
    fn a_title_is_one_line() {
        let call = |text: &str| Call { id: "c".into(), text: text.into() };
        assert_eq!(call("\n a b\n").title(60), "a b");
        assert_eq!(call("a\nb").title(60), "a …");
        assert_eq!(call(&"a".repeat(100)).title(60).chars().count(), 60);
    }
}
