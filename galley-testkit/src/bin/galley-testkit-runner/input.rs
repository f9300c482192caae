//! Stdin: read, recorded, and answered where the answer cannot wait for a script.

use crate::output::now;
use crate::shared::{Question, Shared, Work};
use galley_protocol::framing::{Line, LineDecoder};
use galley_protocol::ipc::{
    Command, Decision, EventLine, LlmChanged, PetAttached, PetDetached, SystemMessage, SystemVariant, ToolsReinjected, is_side_question,
};
use galley_testkit::process_gone;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;
use std::{env, process, thread};

/// How much is read at once: what a runner that stopped reading may already have taken.
const READ: usize = 4 * 1024;

/// How often the parent is looked at.
const PARENT_POLL: Duration = Duration::from_secs(1);

/// Blocks a runner that really did it would have added.
const TOOL_BLOCKS: u32 = 12;

pub fn open_record(path: &Path) -> io::Result<File> {
    let open = File::options().create(true).append(true).open(path);
    open.map_err(|error| io::Error::new(error.kind(), format!("cannot record to {}: {error}", path.display())))
}

/// Reads stdin to its end, then ends the process unless it was told to live on.
pub fn read(shared: &Shared, mut record: Option<File>) {
    let mut decoder = LineDecoder::new();
    let mut stdin = io::stdin().lock();
    loop {
        wait_while_stopped(shared);
        let room = decoder.spare(READ);
        let read = match stdin.read(&mut room[..READ]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        wait_while_stopped(shared);
        decoder.advance(read);
        while let Some(line) = decoder.next_line() {
            match line {
                Line::Complete(line) => {
                    if let Some(record) = &mut record {
                        // Recorded before it is acted on, so that a test that sees the effect finds the line.
                        let _ = record.write_all(&[line, b"\n"].concat());
                    }
                    take(shared, line);
                }
                Line::Oversize { bytes, .. } => {
                    shared.output.error("bridge", "error", "stdin", &format!("a command of {bytes} bytes is too long"));
                }
            }
        }
    }
    let finishing = shared.change(|state| {
        state.closed = !state.settings.ignore_stdin_eof;
        state.shutdown || !state.closed
    });
    if !finishing {
        process::exit(0);
    }
}

/// Ends the process when the one that `GALLEY_CORE_PID` names has ended, unless it was told to live
/// on without its input.
pub fn watch_parent(shared: &Shared) {
    let Some(parent) = env::var("GALLEY_CORE_PID").ok().and_then(|pid| pid.parse().ok()) else { return };
    loop {
        thread::sleep(PARENT_POLL);
        if process_gone(parent) && !shared.state().settings.ignore_stdin_eof {
            process::exit(0);
        }
    }
}

fn wait_while_stopped(shared: &Shared) {
    // Never stopped by a run: `None`. The end of everything ends this wait as well.
    let _ = shared.wait(None, None, |state| (!state.settings.stop_reading).then_some(()));
}

fn take(shared: &Shared, line: &[u8]) {
    let command = match Command::from_line(line) {
        Ok(command) => command,
        Err(error) => return shared.output.error("bridge", "error", "stdin", &format!("not a command: {error}")),
    };
    let kind = EventLine::peek(line).ok().and_then(|line| Command::KINDS.iter().position(|kind| *kind == line.kind));
    let silent = shared.change(|state| {
        if let Some(kind) = kind {
            state.heard[kind] += 1;
        }
        state.answering = true;
        state.silent
    });
    if !silent {
        answer(shared, command);
    }
    shared.change(|state| state.answering = false);
}

fn answer(shared: &Shared, command: Command) {
    let output = &shared.output;
    let busy = || shared.state().open_run.is_some();
    let refuse = |context: &str, message: &str| output.error("business", "error", context, message);
    match command {
        Command::UserMessage(message) if is_side_question(&message.text) => {
            let question = message.text.trim_start().strip_prefix("/btw").unwrap_or_default().trim();
            let running = if busy() { "a run is open" } else { "nothing runs" };
            output.event(SystemMessage {
                session_id: output.session(),
                content: format!("> /btw {question}\n\n{running}"),
                variant: SystemVariant::SideQuestion,
                timestamp: now(),
            });
        }
        Command::UserMessage(_) if busy() => refuse("user_message", "a run is open; the message was dropped"),
        Command::UserMessage(message) => {
            shared.change(|state| state.images = message.images);
            open_run(shared, message.text);
        }
        Command::AskUserResponse(answer) => {
            let blocked = shared.change(|state| {
                let open = state.question == Question::Open;
                if open {
                    state.question = Question::Answered(answer.text.clone());
                }
                open
            });
            match blocked {
                true => {}
                false if busy() => refuse("ask_user_response", "a run is open and asks nothing; the answer was dropped"),
                false => {
                    shared.change(|state| state.images.clear());
                    open_run(shared, answer.text);
                }
            }
        }
        Command::ApprovalResponse(response) if !response.decision.is_known() => {
            refuse("approval_response", &format!("{} is no decision", response.decision));
        }
        Command::ApprovalResponse(response) => {
            let known = shared.change(|state| {
                let waiting = state.approvals.iter_mut().find(|approval| approval.id == response.approval_id && approval.decision.is_none());
                let Some(approval) = waiting else { return false };
                if matches!(response.decision, Decision::AlwaysAllowProject | Decision::AlwaysAllowGlobal) {
                    state.allowed.push(approval.tool.clone());
                }
                approval.decision = Some(response.decision.clone());
                true
            });
            if !known {
                refuse("approval_response", &format!("no approval {} is open", response.approval_id));
            }
        }
        Command::Abort(_) => abort(shared),
        Command::LoadHistory(history) => {
            shared.add_work(|_| Work::History(u32::try_from(history.messages.len()).unwrap_or(u32::MAX)));
        }
        Command::SetApprovalRules(rules) => {
            shared.change(|state| state.allowed = [rules.always_allow_global, rules.always_allow_project].concat());
        }
        Command::SetYoloMode(mode) => shared.change(|state| state.auto = mode.enabled),
        Command::SetLlm(_) if busy() => refuse("set_llm", "a run is open; the model was not changed"),
        Command::SetLlm(choice) => {
            let llms = shared.state().settings.llms();
            if choice.llm_index >= llms {
                return refuse("set_llm", &format!("there is no model {}; there are {llms}", choice.llm_index));
            }
            shared.change(|state| state.llm = choice.llm_index);
            let name = llm_name(choice.llm_index);
            output.event(LlmChanged {
                session_id: output.session(),
                index: choice.llm_index,
                display_name: Some(name.clone()),
                name,
                timestamp: now(),
            });
        }
        Command::Shutdown(_) => {
            if !shared.state().settings.ignore_shutdown {
                shared.add_work(|state| {
                    state.shutdown = true;
                    Work::Shutdown
                });
            }
        }
        Command::ReinjectTools(_) => output.event(ToolsReinjected { session_id: output.session(), blocks_added: TOOL_BLOCKS, timestamp: now() }),
        Command::AttachPet(pet) => output.event(PetAttached { session_id: output.session(), port: pet.port, timestamp: now() }),
        Command::DetachPet(_) => output.event(PetDetached { session_id: output.session(), timestamp: now() }),
        _ => refuse("stdin", "a command this runner has no answer for"),
    }
}

/// The raw name of a model.
pub fn llm_name(index: u32) -> String {
    format!("testkit/model-{index}")
}

/// The run is open from here on, not only from when the engine gets to it.
fn open_run(shared: &Shared, text: String) {
    shared.add_work(|state| Work::Message { run: state.open_run(), text, heard: state.heard });
}

fn abort(shared: &Shared) {
    let idle = shared.change(|state| {
        if state.settings.ignore_abort {
            return false;
        }
        state.abort = state.open_run;
        state.open_run.is_none()
    });
    if idle {
        shared.add_work(|_| Work::IdleAbort);
    }
}
