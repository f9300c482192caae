//! Messages with images.

use super::*;
use crate::store::Attachment;
use crate::time::Timestamp;
use galley_protocol::ipc::Command;
use galley_protocol::socket::{AttachmentKind, ErrorTag};
use harness::Token;

pub fn image(name: &str) -> Attachment {
    Attachment {
        id: format!("att_{name}"),
        kind: AttachmentKind::Image,
        path: format!("/data/{name}.png"),
        mime_type: "image/png".to_owned(),
        byte_size: 3,
        width: None,
        height: None,
        created_at: Timestamp::from_millis(1_000),
    }
}

fn send_image(session: &mut Session, name: &str) -> Token {
    session.send_with("look", |message| message.images = vec![image(name)])
}

/// The images of every `user_message` that was told.
fn told_images(session: &Session) -> Vec<Vec<String>> {
    let images = session.told.iter().filter_map(|(_, order)| match order {
        Order::Command { command: Command::UserMessage(message), .. } => Some(message.images.clone()),
        _ => None,
    });
    images.collect()
}

/// A runner with these capabilities comes up.
fn up_with(session: &mut Session, capabilities: &[&str]) {
    session.started();
    session.line(json!({"kind":"ready","protocolVersion":"0.1","capabilities":capabilities,"availableLLMs":[]}));
    session.deliver_all();
}

#[test]
fn images_wait_with_their_message_and_survive_a_restart() {
    let mut session = Session::running();
    let queued = send_image(&mut session, "a");
    assert_eq!(session.submitted(queued).message.as_ref().unwrap().attachments.as_ref().unwrap()[0].path, "/data/a.png");
    session.restart();
    session.partial("");
    session.resume();
    session.up();
    assert_eq!(told_images(&session), [["/data/a.png".to_owned()]]);
    assert_eq!(session.settings["capabilities:mock"].as_deref(), Some("null"), "a runner that lists nothing");
}

#[test]
fn a_runner_without_the_capability_is_sent_none_and_nothing_happens() {
    let mut session = Session::new();
    session.send("first");
    up_with(&mut session, &["history"]);
    let (rows, turns) = (session.messages.len(), session.row.as_ref().unwrap().turn_count);
    let refused = send_image(&mut session, "a");
    assert_eq!(session.error(refused).tag(), ErrorTag::InvalidArgs);
    assert_eq!((session.messages.len(), session.row.as_ref().unwrap().turn_count), (rows, turns));
    let aside = session.send_with("/btw look", |message| message.images = vec![image("a")]);
    assert_eq!(session.error(aside).tag(), ErrorTag::InvalidArgs);
}

#[test]
fn a_message_is_not_sent_without_its_images_when_another_runner_comes_up_than_was_thought() {
    let mut session = Session::new();
    let [looked, next] = [send_image(&mut session, "a"), session.send("next")];
    up_with(&mut session, &["history"]);
    assert_eq!((session.dispatch(looked), session.state_of(looked)), (Dispatch::PersistedOnly, MessageState::Failed));
    assert_eq!(session.submitted(looked).warning.as_ref().unwrap().id, "images");
    let error = session.events("error").pop().unwrap();
    assert_eq!((error["category"].as_str(), error["context"].as_str()), (Some("business"), Some("images")));
    assert_eq!(session.state_of(next), MessageState::Dispatched, "the line goes on");
}

#[test]
fn an_answer_with_images_is_a_message_and_a_blocking_question_takes_none() {
    let mut session = Session::running();
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[]}));
    session.complete("EXITED");
    session.told.clear();
    send_image(&mut session, "a");
    assert_eq!((session.verbs(), told_images(&session)), (vec!["user look".to_owned()], vec![vec!["/data/a.png".to_owned()]]));

    let mut session = Session::running();
    session.line(json!({"kind":"ask_user","question":"which?","candidates":[],"blocking":true}));
    let refused = send_image(&mut session, "a");
    assert_eq!(session.error(refused).tag(), ErrorTag::InvalidArgs);
    assert!(session.row.as_ref().unwrap().ask.is_some() && session.verbs().is_empty());
}
