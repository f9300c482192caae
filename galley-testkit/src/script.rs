//! The language the runner is told in.

mod arguments;

use crate::Error;
use arguments::Arguments;
use std::str::FromStr;
use std::time::Duration;

/// The table of steps: documentation, error messages and the parser's list of names in one.
const TABLE: &str = include_str!("steps.md");

/// What a runner shall do, step by step.
///
/// Steps are separated by `;` or by the end of a line; `#` begins a line of comment. A TEXT runs to
/// the end of its step; write `\;` for a semicolon in it, `\n` for a new line and `\\` for a
/// backslash, and keep its braces balanced. Names in capitals stand for arguments, those in
/// brackets may be left out.
///
#[doc = include_str!("steps.md")]
///
/// Talking steps open the step they need: `turn_start` comes by itself, the first one as soon as
/// the run begins. A script that ends while its run is open ends it with `done`. An abort ends the
/// script and the run. Settings (`ignore_abort`, `version`, `same_approval_id`, …) last until the
/// process ends.
///
/// ```
/// use galley_testkit::{Script, Step};
///
/// let script: Script = "say hello; repeat 2 { step }; exit 3".parse()?;
/// assert_eq!(script.steps().len(), 3);
/// assert_eq!(script.steps()[2], Step::Exit(3));
///
/// let error = "emit many 300".parse::<Script>().unwrap_err().to_string();
/// assert_eq!(error, "bad step `emit many 300`: N must be a whole number, not `many`; write `emit N SIZE [GAP_US]`");
/// # Ok::<(), galley_testkit::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script(Vec<Step>);

impl Script {
    /// The steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The table of all steps, as Markdown.
    pub fn table() -> &'static str {
        TABLE
    }
}

impl FromStr for Script {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut steps = Vec::new();
        let mut rest = text;
        while let Some((step, after)) = next_step(rest) {
            rest = after;
            if !step.is_empty() && !step.starts_with('#') {
                steps.push(Step::parse(step)?);
            }
        }
        Ok(Self(steps))
    }
}

/// Cuts the first step off `text`: up to `;` or a new line outside braces. Inside braces (a
/// `repeat` block, JSON) both belong to the step.
fn next_step(text: &str) -> Option<(&str, &str)> {
    if text.is_empty() {
        return None;
    }
    let comment = text.trim_start_matches([' ', '\t']).starts_with('#');
    let (mut depth, mut escaped) = (0usize, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\n' if comment || depth == 0 => return Some((text[..at].trim(), &text[at + 1..])),
            _ if comment => {}
            '\\' => escaped = true,
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => return Some((text[..at].trim(), &text[at + 1..])),
            _ => {}
        }
    }
    Some((text.trim(), ""))
}

/// One step of a [`Script`]; the table there says what each does.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the table at Script documents each step once")]
pub enum Step {
    Say(String),
    EndTurn(Option<String>),
    End { result: String, text: Option<String> },
    TurnEndOnly,
    CompleteOnly,
    DupComplete,
    Late(u64),
    NoComplete,
    NoTurnStart,
    PredictTurn,
    SelfStart,
    Emit { count: u64, size: usize, gap: Duration },
    Error { category: String, severity: String, text: String },
    PrintEnv(String),
    PrintArgs,
    PrintImages,
    Raw(String),
    Wait(Duration),
    WaitFor(&'static str),
    Silence(Option<String>),
    Repeat { times: u64, script: Script },
    Ready,
    ReadyAfter(Duration),
    Exit(i32),
    Die(i32),
    AbortSelf,
    Garbage,
    InvalidUtf8,
    Glued,
    UnknownKind,
    UnknownFields,
    EscapedKind,
    WrongSession,
    NullLists,
    BigLine(u64),
    NoNewline(u64),
    Stderr { lines: u64, size: usize },
    CloseStdout,
    ForkHoldingPipe(u64),
    SpawnSleep(u64),
    SpawnEscaped(u64),
    EchoChild(String),
    Flock(String),
    AskApproval { tool: String, risk: String },
    AskApprovals(u64),
    Ask { question: String, candidates: Vec<String>, blocking: bool },
    Set(Setting),
}

/// A step that changes how the runner behaves from then on; the table at [`Script`] says how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the table at Script documents each step once")]
pub enum Setting {
    NeverReady,
    Version(String),
    Capabilities(Vec<String>),
    Llms(u32),
    IgnoreShutdown,
    IgnoreAbort,
    IgnoreStdinEof,
    SlowAbort(Duration),
    StopReading,
    ResumeReading,
    SameApprovalId,
    SlowHistory(Duration),
    RefuseHistory,
    WarnHistory,
}

impl Step {
    fn parse(step: &str) -> Result<Self, Error> {
        let name = step.split_whitespace().next().unwrap_or_default();
        let Some(usage) = usages().find(|usage| usage.split(' ').next() == Some(name)) else {
            let known = usages().filter_map(|usage| usage.split(' ').next()).collect::<Vec<_>>().join(", ");
            return Err(Error::UnknownStep { name: name.to_owned(), known });
        };
        let mut arguments = Arguments::new(step, usage);
        let parsed = Self::with_arguments(name, &mut arguments)?;
        arguments.end()?;
        Ok(parsed)
    }

    fn with_arguments(name: &str, arguments: &mut Arguments<'_>) -> Result<Self, Error> {
        Ok(match name {
            "say" => Self::Say(arguments.text("TEXT")?),
            "step" => Self::EndTurn(arguments.optional_text()),
            "done" => Self::End { result: "CURRENT_TASK_DONE".to_owned(), text: arguments.optional_text() },
            "end" => Self::End { result: arguments.word("RESULT")?.to_owned(), text: arguments.optional_text() },
            "turn_end_only" => Self::TurnEndOnly,
            "complete_only" => Self::CompleteOnly,
            "dup_complete" => Self::DupComplete,
            "late" => Self::Late(arguments.number("N")?),
            "no_complete" => Self::NoComplete,
            "no_turn_start" => Self::NoTurnStart,
            "predict_turn" => Self::PredictTurn,
            "self_start" => Self::SelfStart,
            "emit" => Self::Emit {
                count: arguments.number("N")?,
                size: arguments.size("SIZE")?,
                gap: Duration::from_micros(arguments.optional_number("GAP_US")?.unwrap_or(0)),
            },
            "error" => Self::Error {
                category: arguments.word("CATEGORY")?.to_owned(),
                severity: arguments.word("SEVERITY")?.to_owned(),
                text: arguments.text("TEXT")?,
            },
            "print_env" => Self::PrintEnv(arguments.word("NAME")?.to_owned()),
            "print_args" => Self::PrintArgs,
            "print_images" => Self::PrintImages,
            "raw" => Self::Raw(arguments.text("LINE")?),
            "wait" => Self::Wait(arguments.duration("DURATION")?),
            "wait_for" => Self::WaitFor(arguments.command_kind("KIND")?),
            "silence" => Self::Silence(arguments.optional_text()),
            "repeat" => Self::Repeat { times: arguments.number("N")?, script: arguments.block()?.parse()? },
            "ready" => Self::Ready,
            "ready_after" => Self::ReadyAfter(arguments.duration("DURATION")?),
            "never_ready" => Self::Set(Setting::NeverReady),
            "version" => Self::Set(Setting::Version(arguments.word("V")?.to_owned())),
            "capabilities" => Self::Set(Setting::Capabilities(arguments.list(','))),
            "llms" => Self::Set(Setting::Llms(arguments.number("N")?)),
            "exit" => Self::Exit(arguments.number("CODE")?),
            "die" => Self::Die(arguments.signal("SIGNAL")?),
            "abort_self" => Self::AbortSelf,
            "ignore_shutdown" => Self::Set(Setting::IgnoreShutdown),
            "ignore_abort" => Self::Set(Setting::IgnoreAbort),
            "ignore_stdin_eof" => Self::Set(Setting::IgnoreStdinEof),
            "slow_abort" => Self::Set(Setting::SlowAbort(arguments.duration("DURATION")?)),
            "garbage" => Self::Garbage,
            "invalid_utf8" => Self::InvalidUtf8,
            "glued" => Self::Glued,
            "unknown_kind" => Self::UnknownKind,
            "unknown_fields" => Self::UnknownFields,
            "escaped_kind" => Self::EscapedKind,
            "wrong_session" => Self::WrongSession,
            "null_lists" => Self::NullLists,
            "big_line" => Self::BigLine(arguments.size("BYTES")?),
            "no_newline" => Self::NoNewline(arguments.size("BYTES")?),
            "stderr" => Self::Stderr { lines: arguments.number("N")?, size: arguments.optional_size("SIZE")?.unwrap_or(80) },
            "close_stdout" => Self::CloseStdout,
            "stop_reading" => Self::Set(Setting::StopReading),
            "resume_reading" => Self::Set(Setting::ResumeReading),
            "fork_holding_pipe" => Self::ForkHoldingPipe(arguments.optional_number("SECONDS")?.unwrap_or(600)),
            "spawn_sleep" => Self::SpawnSleep(arguments.number("SECONDS")?),
            "spawn_escaped" => Self::SpawnEscaped(arguments.number("SECONDS")?),
            "echo_child" => Self::EchoChild(arguments.text("TEXT")?),
            "flock" => Self::Flock(arguments.text("PATH")?),
            "ask_approval" => {
                Self::AskApproval { tool: arguments.word("TOOL")?.to_owned(), risk: arguments.optional_word().unwrap_or("high").to_owned() }
            }
            "ask_approvals" => Self::AskApprovals(arguments.number("N")?),
            "same_approval_id" => Self::Set(Setting::SameApprovalId),
            "ask" | "ask_blocking" => {
                let mut parts = arguments.list('|').into_iter();
                let question = parts.next().ok_or_else(|| arguments.problem("QUESTION is missing"))?;
                Self::Ask { question, candidates: parts.collect(), blocking: name == "ask_blocking" }
            }
            "slow_history" => Self::Set(Setting::SlowHistory(arguments.duration("DURATION")?)),
            "refuse_history" => Self::Set(Setting::RefuseHistory),
            "warn_history" => Self::Set(Setting::WarnHistory),
            _ => return Err(arguments.problem("the table has it, and nothing here reads it")),
        })
    }
}

/// How each step is written, from the table: `emit N SIZE [GAP_US]`, …
fn usages() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter_map(|row| row.strip_prefix("| `")?.split('`').next())
}

/// The scripts of a runner, each for an occasion.
///
/// ```text
/// # A runner that starts slowly and dies on the first message.
/// [start]
/// ready_after 200ms
/// [message]
/// emit 50 300
/// die KILL
/// ```
///
/// The steps of `[start]` come before `ready`, those of `[history]` before the answer to
/// `load_history`, those of `[abort]` before an aborted run's end, those of `[shutdown]` before the
/// exit. `[message]` is the answer to messages that bring no script of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scenario {
    /// `[start]`: before `ready`.
    pub start: Option<Script>,
    /// `[message]`: the run of a message that brings no script.
    pub message: Option<Script>,
    /// `[history]`: before `load_history` is answered.
    pub history: Option<Script>,
    /// `[abort]`: before an aborted run ends; also when nothing runs.
    pub abort: Option<Script>,
    /// `[shutdown]`: before the exit that `shutdown` asks for.
    pub shutdown: Option<Script>,
}

impl FromStr for Scenario {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut sections: Vec<(&str, String)> = Vec::new();
        for line in text.lines() {
            let trimmed = line.trim();
            if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                sections.push((name, String::new()));
            } else if let Some((_, body)) = sections.last_mut() {
                body.push_str(line);
                body.push('\n');
            } else if !trimmed.is_empty() && !trimmed.starts_with('#') {
                return Err(Error::NoSection { line: trimmed.to_owned() });
            }
        }
        let mut scenario = Self::default();
        for (name, body) in sections {
            let script = Some(body.parse()?);
            match name {
                "start" => scenario.start = script,
                "message" => scenario.message = script,
                "history" => scenario.history = script,
                "abort" => scenario.abort = script,
                "shutdown" => scenario.shutdown = script,
                other => return Err(Error::UnknownSection { name: format!("[{other}]") }),
            }
        }
        Ok(scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<Step> {
        text.parse::<Script>().unwrap().0
    }

    fn error(text: &str) -> String {
        text.parse::<Script>().unwrap_err().to_string()
    }

    #[test]
    fn every_step_of_the_table_can_be_written_as_it_says() {
        for usage in usages() {
            let example = usage
                .replace(['[', ']'], "")
                .replace("CANDIDATES", "| one | two")
                .replace("{ STEPS }", "{ silence; done }")
                .replace("KIND", "abort")
                .replace("SIGNAL", "KILL")
                .replace("DURATION", "5ms")
                .replace("GAP_US", "7")
                .replace("SIZE", "64KiB")
                .replace("BYTES", "100MB")
                .replace("SECONDS", "9")
                .replace("CODE", "1")
                .replace(" N", " 3");
            assert_eq!(parse(&example).len(), 1, "{example}");
        }
    }

    #[test]
    fn steps_end_at_semicolons_and_lines_but_not_inside_braces() {
        let steps = parse("say a\\; b\\nc\n# a comment; not { a step\nrepeat 2 { say x; repeat 3 {\n done } };;\nraw {\"a\":{\"b\":1}}");
        let inner = Script(vec![
            Step::Say("x".into()),
            Step::Repeat { times: 3, script: Script(vec![Step::End { result: "CURRENT_TASK_DONE".into(), text: None }]) },
        ]);
        let expected = [Step::Say("a; b\nc".into()), Step::Repeat { times: 2, script: inner }, Step::Raw("{\"a\":{\"b\":1}}".into())];
        assert_eq!(steps, expected);
    }

    #[test]
    fn arguments_have_units() {
        assert_eq!(parse("wait 1m; wait 300us"), [Step::Wait(Duration::from_secs(60)), Step::Wait(Duration::from_micros(300))]);
        assert_eq!(
            parse("big_line 100MB; big_line 1_000; no_newline 2KiB"),
            [Step::BigLine(100_000_000), Step::BigLine(1000), Step::NoNewline(2048)]
        );
        assert_eq!(parse("die SEGV; die sigkill; die 15"), [Step::Die(11), Step::Die(9), Step::Die(15)]);
        assert_eq!(
            parse("ask Which? | red | blue"),
            [Step::Ask { question: "Which?".into(), candidates: vec!["red".into(), "blue".into()], blocking: false }]
        );
    }

    #[test]
    fn mistakes_name_the_step_and_what_would_be_right() {
        assert!(error("jump 3").starts_with("unknown step `jump`; the steps are: say, step, done, "));
        assert_eq!(error("wait soon"), "bad step `wait soon`: DURATION must be a number with us, ms, s or m, not `soon`; write `wait DURATION`");
        assert_eq!(error("late"), "bad step `late`: N is missing; write `late N`");
        assert_eq!(error("done; garbage 3"), "bad step `garbage 3`: `3` is too much; write `garbage`");
        assert!(error("wait_for tea").contains("KIND must be one of user_message, "));
        assert!(error("die HARD").contains("SIGNAL must be"));
        assert!(error("repeat 2 { jump }").starts_with("unknown step `jump`"));
        assert!(error("repeat 2 done").contains("STEPS must stand in braces"));
    }

    #[test]
    fn a_scenario_has_a_script_for_each_occasion() {
        let scenario: Scenario = "# slow\n[start]\nready_after 5ms\n[abort]\nignore_abort; silence\n".parse().unwrap();
        assert_eq!(scenario.start.unwrap().steps(), [Step::ReadyAfter(Duration::from_millis(5))]);
        assert_eq!(scenario.abort.unwrap().steps().len(), 2);
        assert_eq!((scenario.message, scenario.shutdown), (None, None));
        assert!("[stop]\n".parse::<Scenario>().unwrap_err().to_string().contains("[shutdown]"));
        assert!("done\n".parse::<Scenario>().unwrap_err().to_string().contains("before the first section"));
    }
}
