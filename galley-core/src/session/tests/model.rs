//! Any order of events: nothing is lost, nothing is done twice, nobody waits for ever.

use super::harness::{Session, Token, origin};
use super::*;
use crate::error::StartCause;
use crate::store::MessageRow;
use galley_protocol::ipc::{Decision, ReinjectTools};
use galley_protocol::socket::{ApprovalMode, ArchiveIfBusy, ErrorTag, IfBusy};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeSet;

#[derive(Debug, Clone)]
enum Action {
    Send { if_busy: IfBusy, spawn: bool, request: Option<u8>, image: bool },
    SideQuestion,
    Stop,
    End(EndReason),
    Evict,
    Kill,
    Resume,
    Archive(ArchiveIfBusy),
    Unarchive,
    EditQueue { which: usize, edit: QueueEdit },
    Retry(usize),
    SetLlm(u32),
    Mark,
    Move(bool),
    Direct,
    Respond { which: usize, decision: Decision, by_runner_id: bool },
    SetMode(Option<ApprovalMode>),
    DefaultMode(ApprovalMode),
    RulesChanged,
    Report,
    Started(bool),
    Line(&'static str),
    LateLine(&'static str),
    Exit(i32),
    ExitFirst,
    Deliver,
    Undelivered,
    HistoryEmpty,
    Partial(&'static str),
    Ring(usize),
    Wait(i64),
    Restart,
}

const LINES: &[&str] = &[
    r#"{"kind":"ready","protocolVersion":"0.1","availableLLMs":[]}"#,
    r#"{"kind":"ready","protocolVersion":"0.1","capabilities":["self_start"],"availableLLMs":[]}"#,
    r#"{"kind":"ready","protocolVersion":"0.1","capabilities":["reload_history"],"availableLLMs":[]}"#,
    r#"{"kind":"ready","protocolVersion":"9","availableLLMs":[]}"#,
    r#"{"kind":"history_loaded","messageCount":1}"#,
    r#"{"kind":"turn_start","turnIndex":1}"#,
    r#"{"kind":"turn_start","turnIndex":2}"#,
    r#"{"kind":"turn_progress","delta":"text"}"#,
    r#"{"kind":"turn_end","turnIndex":1,"responseContent":"one"}"#,
    r#"{"kind":"turn_end","turnIndex":2,"responseContent":"two","exitReason":{"result":"CURRENT_TASK_DONE"}}"#,
    r#"{"kind":"run_complete","exitReason":{"result":"CURRENT_TASK_DONE"},"finalContent":"all"}"#,
    r#"{"kind":"run_complete","exitReason":{"result":"CURRENT_TASK_DONE"}}"#,
    r#"{"kind":"run_complete","exitReason":{"result":"ABORTED"}}"#,
    r#"{"kind":"run_complete","exitReason":{"result":"EXITED"}}"#,
    r#"{"kind":"ask_user","question":"which?","candidates":[]}"#,
    r#"{"kind":"ask_user","question":"really?","candidates":[],"blocking":true}"#,
    r#"{"kind":"tool_call_pending","approvalId":"a","toolName":"code_run"}"#,
    r#"{"kind":"tool_call_pending","approvalId":"b","toolName":"code_run"}"#,
    r#"{"kind":"error","message":"401","category":"runtime","severity":"error"}"#,
    r#"{"kind":"error","message":"no","category":"business"}"#,
    r#"{"kind":"error","message":"hm","severity":"warning"}"#,
    r#"{"kind":"system_message","content":"note"}"#,
    r#"{"kind":"llm_changed","index":0,"name":"m0"}"#,
    r#"{"kind":"ready","protocolVersion":"0.1","availableLLMs":[{"index":0,"name":"m0","displayName":"Model 0","key":"k0","isCurrent":true},{"index":1,"name":"m1","displayName":"Model 1","key":"k1","isCurrent":false}]}"#,
    "noise",
];

fn action() -> impl Strategy<Value = Action> {
    let end = prop_oneof![Just(EndReason::SubprocessExited), Just(EndReason::CoreShutdown)];
    let decision =
        prop_oneof![Just(Decision::AllowOnce), Just(Decision::Deny), Just(Decision::AlwaysAllowGlobal), Just(Decision::AlwaysAllowProject)];
    let edit = prop_oneof![Just(QueueEdit::Remove), Just(QueueEdit::Jump), Just(QueueEdit::Edit("other".to_owned()))];
    let if_busy = prop_oneof![4 => Just(IfBusy::Queue), 2 => Just(IfBusy::Jump), 1 => Just(IfBusy::Reject)];
    prop_oneof![
        10 => (if_busy, prop::bool::weighted(0.8), prop::option::weighted(0.2, 0u8..3), prop::bool::weighted(0.1))
            .prop_map(|(if_busy, spawn, request, image)| Action::Send { if_busy, spawn, request, image }),
        1 => Just(Action::SideQuestion),
        4 => Just(Action::Stop),
        2 => end.prop_map(Action::End),
        1 => Just(Action::Evict),
        1 => Just(Action::Kill),
        3 => Just(Action::Resume),
        1 => prop_oneof![Just(ArchiveIfBusy::Stop), Just(ArchiveIfBusy::Reject)].prop_map(Action::Archive),
        3 => Just(Action::Unarchive),
        3 => (0usize..4, edit).prop_map(|(which, edit)| Action::EditQueue { which, edit }),
        6 => (0usize..3).prop_map(Action::Retry),
        2 => (0u32..3).prop_map(Action::SetLlm),
        1 => Just(Action::Mark),
        2 => any::<bool>().prop_map(Action::Move),
        1 => Just(Action::Direct),
        3 => (0usize..3, decision, any::<bool>()).prop_map(|(which, decision, by_runner_id)| Action::Respond { which, decision, by_runner_id }),
        1 => prop::option::of(prop_oneof![Just(ApprovalMode::Ask), Just(ApprovalMode::Auto)]).prop_map(Action::SetMode),
        1 => prop_oneof![Just(ApprovalMode::Ask), Just(ApprovalMode::Auto)].prop_map(Action::DefaultMode),
        1 => Just(Action::RulesChanged),
        1 => Just(Action::Report),
        12 => prop::bool::weighted(0.9).prop_map(Action::Started),
        // The way up, often enough that most cases have a runner.
        10 => Just(Action::Line(LINES[0])),
        6 => Just(Action::Line(LINES[4])),
        6 => Just(Action::Line(LINES[5])),
        4 => Just(Action::Line(LINES[7])),
        3 => Just(Action::Line(LINES[9])),
        24 => prop::sample::select(LINES).prop_map(Action::Line),
        1 => prop::sample::select(&LINES[5..13]).prop_map(Action::LateLine),
        3 => (0i32..2).prop_map(Action::Exit),
        1 => Just(Action::ExitFirst),
        16 => Just(Action::Deliver),
        2 => Just(Action::Undelivered),
        3 => Just(Action::HistoryEmpty),
        2 => prop::sample::select(&["", "half"][..]).prop_map(Action::Partial),
        8 => (0usize..4).prop_map(Action::Ring),
        3 => (-5_000i64..200_000).prop_map(Action::Wait),
        1 => Just(Action::Restart),
    ]
}

/// Does what is possible just now; the rest is nothing.
fn act(session: &mut Session, action: Action) {
    match action {
        Action::Send { if_busy, spawn, request, image } => {
            session.send_with("x", |message| {
                message.if_busy = if_busy;
                message.spawn = spawn;
                message.client_request_id = request.map(|request| format!("r{request}"));
                message.images = if image { vec![super::images::image("a")] } else { Vec::new() };
            });
        }
        Action::SideQuestion => {
            session.send("/btw how far?");
        }
        Action::Stop => {
            session.stop();
        }
        Action::End(reason) => {
            session.end(reason);
        }
        Action::Evict => session.apply(Input::Evict),
        Action::Kill => {
            session.kill();
        }
        Action::Resume => {
            session.resume();
        }
        Action::Archive(if_busy) => {
            session.ask(|to| Input::Archive { if_busy, origin: origin(), to });
        }
        Action::Unarchive => {
            session.unarchive();
        }
        Action::EditQueue { which, edit } => {
            let waiting = session.state.waiting.get(which).map(|waiting| waiting.row.id.clone());
            if let Some(message) = waiting.or_else(|| session.messages.first().map(|row| row.id.clone())) {
                session.ask(|to| Input::EditQueue { message, edit, to });
            }
        }
        Action::Retry(which) => {
            let settled = |row: &&MessageRow| matches!(row.state, Some(MessageState::Answered | MessageState::Failed | MessageState::Cancelled));
            let of_user = session.messages.iter().filter(|row| row.role == MessageRole::User);
            let earlier = of_user.filter(settled).nth(which).map(|row| Earlier { id: row.id.clone(), turn: row.turn_index.unwrap() });
            if earlier.is_some() {
                session.send_with("again", |message| message.retries = earlier);
            }
        }
        Action::SetLlm(index) => {
            session.set_llm(index);
        }
        Action::Mark => {
            session.ask(|to| Input::Rename { title: "other".to_owned(), to });
            session.ask(|to| Input::Pin { pinned: true, to });
            session.ask(|to| Input::MarkRead { to });
        }
        Action::Move(into) => {
            session.ask(|to| Input::Move { project: into.then(|| "proj_1".to_owned()), origin: origin(), to });
        }
        Action::Direct => {
            session.ask(|to| Input::Direct { command: ReinjectTools {}.into(), to });
        }
        Action::Respond { which, decision, by_runner_id } => {
            let rows: Vec<_> = session.approvals.values().rev().take(3).cloned().collect();
            if let Some(row) = rows.get(which) {
                session.respond(if by_runner_id { &row.approval_id } else { &row.id }, decision);
            }
        }
        Action::SetMode(mode) => {
            let to = ReplyTo(session.token());
            session.apply(Input::SetMode { mode, to });
        }
        Action::DefaultMode(mode) => session.apply(Input::DefaultMode(mode)),
        Action::RulesChanged => session.apply(Input::RulesChanged { scope: "global".to_owned() }),
        Action::Report => {
            let to = ReplyTo(session.token());
            session.apply(Input::Report { to });
        }
        Action::Started(there) => {
            if session.live.is_some() && !session.exists {
                if there { session.started() } else { session.not_started(StartCause::SpawnIo) }
            }
        }
        Action::Line(line) => {
            if session.exists {
                session.raw_line(line);
            }
        }
        Action::LateLine(line) => session.raw_line_of(session.state.generation.wrapping_sub(1), line),
        Action::Exit(code) => {
            if session.exists {
                session.exit_code(code);
            }
        }
        Action::ExitFirst => {
            if session.exists {
                session.exit_first(crate::runner::Exit::default());
            }
        }
        Action::Deliver => session.deliver(Delivered::Yes),
        Action::Undelivered => session.deliver(Delivered::No),
        Action::HistoryEmpty => {
            if matches!(session.in_flight.front(), Some((_, Purpose::History))) {
                session.deliver(Delivered::Nothing);
            }
        }
        Action::Partial(text) => {
            if session.collecting {
                session.partial(text);
            }
        }
        Action::Ring(which) => {
            let running: Vec<Timer> = session.timers.keys().copied().collect();
            if let Some(timer) = running.get(which) {
                session.ring(*timer);
            }
        }
        Action::Wait(millis) => session.wait(millis),
        Action::Restart => {
            if session.row.is_some() {
                session.restart();
            }
        }
    }
}

/// Everything comes to rest: all is delivered, every text is read back, every runner exits.
fn settle(session: &mut Session) {
    for _ in 0..1_000 {
        if session.collecting {
            session.partial("rest");
        } else if !session.in_flight.is_empty() {
            session.deliver(Delivered::Yes);
        } else if session.exists {
            session.exit_code(0);
        } else if session.live.is_some() {
            session.not_started(StartCause::SpawnIo);
        } else {
            return;
        }
    }
    panic!("it does not come to rest");
}

/// A runner that does all it is asked, until nothing waits.
fn work_off(session: &mut Session) -> Token {
    session.now += 1;
    session.unarchive();
    let last = session.send("the last");
    for step in 3..1_000u32 {
        if session.collecting {
            session.partial("rest");
        } else if !session.in_flight.is_empty() {
            session.deliver(Delivered::Yes);
        } else if session.live.is_some() && !session.exists {
            session.started();
        } else {
            match (&session.state.runner, &session.state.gate) {
                (RunnerPhase::Ending(_), _) => session.exit_code(0),
                (RunnerPhase::Starting(super::super::state::Stage::Ready), _) => session.ready(),
                (RunnerPhase::Starting(super::super::state::Stage::Llm), _) => session.line(json!({"kind":"llm_changed","index":1,"name":"m1"})),
                (RunnerPhase::Starting(_), _) => session.line(json!({"kind":"history_loaded","messageCount":1})),
                (RunnerPhase::Up, Gate::Open(_)) => {
                    session.line(json!({"kind":"turn_start","turnIndex":1}));
                    session.step(step, "done", "CURRENT_TASK_DONE");
                    session.complete("CURRENT_TASK_DONE");
                }
                _ => return last,
            }
        }
    }
    panic!("the work does not end");
}

fn at_rest(session: &Session) {
    assert!(session.owed.is_empty(), "callers wait for ever: {:?}", session.owed);
    assert!(matches!(session.state.gate, Gate::Free) && matches!(session.state.runner, RunnerPhase::Down));
    assert!(session.state.approvals.is_empty());
    assert_eq!(session.state.queued_count(), 0, "without a runner nothing is queued");
    assert_eq!(session.ups.len(), session.downs.len(), "every runner's end is told");
    assert_eq!(session.events("tool_call_pending").len(), session.events("approval_resolved").len());
    assert!(session.timers.is_empty(), "clocks run for nothing: {:?}", session.timers);
    for row in session.messages.iter().filter(|row| row.role == MessageRole::User) {
        let fate = row.state.as_ref().expect("a user message has a state");
        let done = matches!(fate, MessageState::Answered | MessageState::Failed | MessageState::Cancelled | MessageState::Superseded);
        assert!(done || session.state.waiting.iter().any(|waiting| waiting.row.id == row.id), "{} is lost as {fate}", row.id);
    }
    let turns: Vec<u32> = session.messages.iter().filter(|row| row.role == MessageRole::User).filter_map(|row| row.turn_index).collect();
    assert_eq!(turns, (0..session.row.as_ref().map_or(0, |row| row.turn_count)).collect::<Vec<_>>(), "turns are numbered at acceptance");
}

fn play(actions: Vec<Action>) -> Session {
    let mut session = Session::with(|_| {}, Limits { max_queued: 6, ..Limits::default() }, ApprovalMode::Ask);
    for action in actions {
        act(&mut session, action);
    }
    session
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_happens_it_comes_to_rest(actions in prop::collection::vec(action(), 1..120)) {
        let mut session = play(actions);
        settle(&mut session);
        if session.row.is_some() {
            at_rest(&session);
        }
    }

    #[test]
    fn whatever_happened_the_next_message_is_answered(actions in prop::collection::vec(action(), 1..120)) {
        let mut session = play(actions);
        session.make_room();
        // No runner follows Core's end, or a start that failed before the message came; a session that
        // is being put away takes nothing until it is.
        let leaves = session.state.departure.is_some();
        if leaves || matches!(&session.state.runner, RunnerPhase::Ending(ending) if ending.reason == EndReason::CoreShutdown || ending.failure.is_some()) {
            settle(&mut session);
        }
        let last = work_off(&mut session);
        prop_assert_eq!(session.state_of(last), MessageState::Answered);
        prop_assert!(session.state.waiting.is_empty(), "{:?}", session.state.waiting);
        settle(&mut session);
        at_rest(&session);
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_happened_it_can_be_deleted(before in prop::collection::vec(action(), 1..80), after in prop::collection::vec(action(), 0..20)) {
        let mut session = play(before);
        if session.row.is_none() {
            return Ok(());
        }
        let deleted = session.delete();
        for action in after {
            // Core's own death takes the wish with it.
            if !matches!(action, Action::Restart) {
                act(&mut session, action);
            }
        }
        settle(&mut session);
        prop_assert!(matches!(session.reply(deleted), Ok(Reply::Deleted)), "{:?}", session.reply(deleted));
        prop_assert!(session.deleted && session.forgotten && session.closed == Some(EndReason::Deleted));
        prop_assert!(session.owed.is_empty() && session.ups.len() == session.downs.len());
        let late = session.send("late");
        prop_assert_eq!(session.error(late).tag(), ErrorTag::NotFound);
    }
}

/// Pairs that the cases of the property must have met, so that it proves what it seems to prove.
const EXPECTED: &[(&str, &[&str])] = &[
    (
        "free",
        &[
            "send",
            "answer",
            "move",
            "delete",
            "jump",
            "reject",
            "send without spawn",
            "stop",
            "end",
            "evict",
            "line",
            "exited",
            "started",
            "delivered",
            "recover",
            "report",
            "kill",
            "resume",
            "archive",
            "restore",
            "remove",
            "put first",
            "edit",
            "retry",
            "set llm",
            "direct",
        ],
    ),
    (
        "reserved",
        &[
            "move",
            "restore",
            "restart",
            "delete",
            "kill",
            "resume",
            "archive",
            "remove",
            "put first",
            "edit",
            "retry",
            "set llm",
            "send",
            "jump",
            "reject",
            "stop",
            "end",
            "line",
            "started",
            "not started",
            "exited",
            "delivered",
            "undelivered",
            "start timer",
        ],
    ),
    (
        "open",
        &[
            "send",
            "answer",
            "move",
            "restart",
            "delete",
            "jump",
            "reject",
            "send without spawn",
            "stop",
            "end",
            "evict",
            "respond",
            "line",
            "exited",
            "delivered",
            "undelivered",
            "abort timer",
            "run_complete timer",
            "shutdown timer",
            "stall timer",
            "set mode",
            "kill",
            "resume",
            "archive",
            "remove",
            "put first",
            "edit",
            "retry",
            "set llm",
            "direct",
        ],
    ),
    (
        "closing",
        &[
            "move",
            "edit",
            "remove",
            "respond",
            "kill",
            "resume",
            "archive",
            "retry",
            "set llm",
            "send",
            "jump",
            "stop",
            "end",
            "line",
            "exited",
            "delivered",
            "partial",
        ],
    ),
];

#[test]
fn the_property_meets_every_pair_of_gate_and_input_that_matters() {
    let covered = RefCell::new(BTreeSet::new());
    let config = Config { cases: 500, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    runner
        .run(&prop::collection::vec(action(), 1..120), |actions| {
            let mut session = play(actions);
            if session.row.is_some() {
                session.delete();
            }
            covered.borrow_mut().append(&mut session.covered);
            Ok(())
        })
        .unwrap();
    let covered = covered.into_inner();
    for (gate, input) in &covered {
        println!("{gate:9} {input}");
    }
    let missing: Vec<_> =
        EXPECTED.iter().flat_map(|(gate, inputs)| inputs.iter().map(move |input| (*gate, *input))).filter(|pair| !covered.contains(pair)).collect();
    assert!(missing.is_empty(), "never met: {missing:?}");
}
