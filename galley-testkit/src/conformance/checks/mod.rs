//! The checks, in the order they are run.

mod abort;
mod approvals;
mod commands;
mod end;
mod lines;
mod runs;

use super::{Fault, Site};

/// One check.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) run: fn(&Site<'_>) -> Result<(), Fault>,
}

/// The check that all others build on.
pub(super) const FIRST: &str = "ready";

const fn check(name: &'static str, what: &'static str, run: fn(&Site<'_>) -> Result<(), Fault>) -> Check {
    Check { name, what, run }
}

/// Every check.
pub(super) const ALL: &[Check] = &[
    check(FIRST, "`ready` comes in time and says what it must", runs::ready),
    check("arguments", "arguments nobody knows are no reason to fail", runs::unknown_arguments),
    check("run", "a message is one run: steps, an end, `run_complete` last and once", runs::one),
    check("run.again", "the same process does the next run", runs::again),
    check("run.text", "any text is taken: other scripts, separators, control characters", runs::any_text),
    check("run.busy", "a message in the middle of a run is refused and disturbs nothing", runs::busy),
    check("stdout", "what the agent prints does not reach the protocol", runs::prints),
    check("approval.allow", "an allowed tool runs", approvals::allow),
    check("approval.deny", "a denied tool does not run, and the run goes on", approvals::deny),
    check("approval.always", "`always_allow_project` allows the tool, now and from then on", approvals::always),
    check("approval.rules", "`set_approval_rules` decides what is asked about", approvals::rules),
    check("approval.auto", "in automatic mode nothing is asked, and after it all is again", approvals::automatic),
    check("approval.bad-answer", "an answer that is none uses nothing up and never means yes", approvals::bad_answer),
    check("question", "a question is answered and the task goes on", approvals::question),
    check("abort.idle", "an abort when nothing runs ends nothing", abort::idle),
    check("abort.at-once", "an abort right behind a message ends it once", abort::at_once),
    check("abort.work", "an abort ends an agent at work", abort::work),
    check("abort.approval", "an abort ends a run that waits for approval; a late yes runs nothing", abort::approval),
    check("abort.question", "an abort ends a run that waits for an answer", abort::question),
    check("history", "`load_history` is answered with the number of messages", commands::history),
    check("history.late", "`load_history` after the first message is answered, and disturbs nothing", commands::late_history),
    check("models", "`set_llm` changes to a model of the list, and to no other", commands::models),
    check("models.busy", "`set_llm` in the middle of a run is refused", commands::models_busy),
    check("side-question", "`/btw` is answered and opens no run", commands::side_question),
    check("commands", "every other command is answered", commands::others),
    check("lines.unknown", "a command nobody knows is answered by an error", lines::unknown),
    check("lines.malformed", "a line that is no command is answered by an error", lines::malformed),
    check("lines.fields", "fields nobody knows, nulls, empty lines and CRLF are no reason to fail", lines::tolerated),
    check("lines.long", "a line over 16 MiB is answered by an error, and the next one is read", lines::too_long),
    check("lines.utf8", "bytes that are not UTF-8 do not end the runner", lines::not_utf8),
    check("end.shutdown", "`shutdown` ends an idle runner with code 0, and nothing is left", end::shutdown),
    check("end.shutdown-busy", "`shutdown` in the middle of a run, and the end of its input after it, end a runner", end::shutdown_busy),
    check("end.tail", "what is said before the end is delivered", end::tail),
    check("end.input", "the end of its input ends a runner, and nothing is left", end::input),
    check("end.input-busy", "the end of its input ends a runner in the middle of a run", end::input_busy),
    check("end.parent", "the end of the process that started it ends a runner", end::parent),
    check("events", "every line of every runner was an event of the protocol", runs::events),
    check("order", "every event of every runner came in its order", runs::order),
];
