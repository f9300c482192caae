//! What is set for a session: names, marks, project, model.

use super::*;
use galley_protocol::ipc::{Llm, ReinjectTools};
use galley_protocol::socket::{ErrorTag, LlmDispatch};

#[test]
fn marks_change_the_row_and_not_its_place_in_the_list() {
    let mut session = Session::idle();
    let active = session.row.as_ref().unwrap().last_activity_at;
    session.wait(5_000);
    assert_eq!(session.row.as_ref().unwrap().has_unread, Some(true));
    let read = session.ask(|to| Input::MarkRead { to });
    assert_eq!(session.session_told(read).has_unread, Some(false));
    let pinned = session.ask(|to| Input::Pin { pinned: true, to });
    assert_eq!(session.session_told(pinned).pinned, Some(true));
    let named = session.ask(|to| Input::Rename { title: "New".to_owned(), to });
    let row = session.row.as_ref().unwrap();
    assert_eq!((row.title.as_str(), row.last_activity_at), ("New", active));
    assert_eq!(session.session_told(named).updated_at, row.updated_at.to_string());
}

#[test]
fn a_move_pushes_the_rules_of_the_new_scope_to_a_live_runner() {
    let mut session = Session::idle();
    let into = session.ask(|to| Input::Move { project: Some("proj_1".to_owned()), origin: harness::origin(), to });
    assert_eq!(session.session_told(into).project_id.as_deref(), Some("proj_1"));
    let out = session.ask(|to| Input::Move { project: None, origin: harness::origin(), to });
    assert_eq!(session.session_told(out).project_id, None);
    session.ask(|to| Input::Move { project: None, origin: harness::origin(), to });
    assert_eq!(session.verbs(), ["rules proj_1", "rules ungrouped"]);
}

#[test]
fn a_direct_command_needs_a_runner() {
    let mut session = Session::new();
    let token = session.ask(|to| Input::Direct { command: ReinjectTools {}.into(), to });
    assert_eq!(session.error(token).tag(), ErrorTag::RunnerError);
    let mut session = Session::running();
    let token = session.ask(|to| Input::Direct { command: ReinjectTools {}.into(), to });
    session.deliver(Delivered::No);
    assert_eq!(session.error(token).tag(), ErrorTag::RunnerError);
    let token = session.ask(|to| Input::Direct { command: ReinjectTools {}.into(), to });
    session.deliver_all();
    assert!(matches!(session.reply(token), Ok(Reply::Told)));
}

#[test]
fn a_model_unknown_to_the_live_runner_changes_nothing() {
    let mut session = Session::idle_with_models();
    let token = session.set_llm(7);
    assert_eq!(session.error(token).tag(), ErrorTag::InvalidArgs);
    assert!(session.row.as_ref().unwrap().llm.is_none() && session.verbs().is_empty());
}

#[test]
fn an_idle_runner_uses_a_model_at_once() {
    let mut session = Session::idle_with_models();
    let token = session.set_llm(1);
    session.deliver_all();
    assert_eq!((session.model_dispatch(token), session.verbs()), (LlmDispatch::Dispatched, vec!["llm 1".to_owned()]));
    assert_eq!(session.row.as_ref().unwrap().llm.as_ref().unwrap().key, "k1");
}

#[test]
fn a_model_chosen_during_a_run_is_told_once_after_it_and_before_the_next_message() {
    let mut session = Session::idle_with_models();
    session.send("work");
    session.deliver_all();
    session.told.clear();
    session.send("next");
    let first = session.set_llm(0);
    let second = session.set_llm(1);
    assert_eq!((session.model_dispatch(first), session.model_dispatch(second)), (LlmDispatch::Deferred, LlmDispatch::Deferred));
    session.line(json!({"kind":"llm_changed","index":0,"name":"m0"}));
    assert_eq!(session.row.as_ref().unwrap().llm.as_ref().unwrap().key, "k1", "the wish outlives an older report");
    assert!(session.verbs().is_empty());
    session.answer("ok");
    session.deliver_all();
    assert_eq!(session.verbs(), ["llm 1", "user next"]);
    session.line(json!({"kind":"llm_changed","index":1,"name":"m1"}));
    session.answer("ok");
    assert_eq!(session.verbs(), ["llm 1", "user next"]);
    assert_eq!(session.row.as_ref().unwrap().llm_index, Some(1));
}

#[test]
fn without_a_runner_the_next_one_starts_with_the_model() {
    let mut session = Session::idle_with_models();
    session.exit_code(0);
    let token = session.set_llm(1);
    assert_eq!(session.model_dispatch(token), LlmDispatch::PersistedOnly);
    session.send("x");
    session.started();
    session.told.clear();
    session.line(json!({"kind":"ready","protocolVersion":"0.1","availableLLMs":[harness::model(0), harness::model(1)]}));
    assert_eq!(session.verbs(), ["rules ungrouped", "llm 1"]);
}

#[test]
fn a_model_chosen_while_the_runner_starts_is_used_from_the_first_message_on() {
    let mut session = Session::new();
    session.send("x");
    session.started();
    let token = session.set_llm(1);
    assert_eq!(session.model_dispatch(token), LlmDispatch::Deferred);
    session.line(json!({"kind":"ready","protocolVersion":"0.1","availableLLMs":[harness::model(0), harness::model(1)]}));
    let token = session.set_llm(0);
    assert_eq!(session.model_dispatch(token), LlmDispatch::Deferred);
    session.line(json!({"kind":"llm_changed","index":1,"name":"m1"}));
    assert_eq!(session.verbs(), ["rules ungrouped", "llm 1", "llm 0", "user x"]);
}

#[test]
fn a_choice_is_the_model_s_key_whatever_its_place_in_the_next_list() {
    let mut session = Session::idle_with_models();
    session.set_llm(1);
    session.deliver_all();
    session.line(json!({"kind":"llm_changed","index":1,"name":"m1"}));
    session.restart();
    session.send("x");
    session.started();
    let moved = [Llm { index: 0, is_current: false, ..harness::model(1) }, Llm { index: 1, is_current: true, ..harness::model(0) }];
    session.line(json!({"kind":"ready","protocolVersion":"0.1","availableLLMs":moved}));
    assert_eq!(session.verbs(), ["rules ungrouped", "llm 0"]);
    session.line(json!({"kind":"llm_changed","index":0,"name":"m1"}));
    let row = session.row.as_ref().unwrap();
    assert_eq!((row.llm.as_ref().unwrap().key.as_str(), row.llm_index), ("k1", Some(0)));
}

#[test]
fn a_choice_that_was_put_off_outlives_eviction_crash_and_restart() {
    for end in ["evict", "crash", "restart"] {
        let mut session = Session::idle_with_models();
        session.send("work");
        session.deliver_all();
        let token = session.set_llm(1);
        assert_eq!(session.model_dispatch(token), LlmDispatch::Deferred);
        match end {
            "evict" => {
                session.answer("ok");
                session.refuse_all();
                session.apply(Input::Evict);
                session.exit_code(0);
            }
            "crash" => session.signalled(),
            _ => {
                session.restart();
                session.partial("");
            }
        }
        session.send("next");
        session.started();
        session.told.clear();
        session.line(json!({"kind":"ready","protocolVersion":"0.1","availableLLMs":[harness::model(0), harness::model(1)]}));
        assert_eq!(session.verbs(), ["rules ungrouped", "llm 1"], "after {end}");
    }
}

#[test]
fn an_older_report_does_not_undo_a_choice_that_was_just_told() {
    let mut session = Session::idle_with_models();
    let [first, second] = [1, 0].map(|index| session.set_llm(index));
    assert!(!session.replies.contains_key(&first) && !session.replies.contains_key(&second), "not before the hand-over");
    session.deliver_all();
    session.line(json!({"kind":"llm_changed","index":1,"name":"m1"}));
    assert_eq!(session.row.as_ref().unwrap().llm.as_ref().unwrap().key, "k0");
    session.line(json!({"kind":"llm_changed","index":0,"name":"m0"}));
    assert_eq!(session.row.as_ref().unwrap().llm.as_ref().unwrap().key, "k0");
}
