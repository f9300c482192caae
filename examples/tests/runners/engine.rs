//! The examples, supervised by an engine.

use crate::word_counts;
use galley_client::{WatchItem, WatchOptions};
use galley_core::{Core, Runtime};
use galley_protocol::ipc::{Decision, Event};
use galley_protocol::socket::{Dispatch, SessionNew, WatchFrom};
use std::fs;

#[tokio::test]
async fn a_word_count_asks_and_writes() {
    for command in word_counts() {
        let home = tempfile::tempdir().unwrap();
        let text = home.path().join("text.txt");
        fs::write(&text, "to be or not to be").unwrap();
        let builder = Core::builder().database(home.path().join("galley.db")).socket(home.path().join("galley.sock"));
        let core = builder.runtime(Runtime::process("words", command.clone())).start().await.unwrap();
        let client = core.client();
        let new = SessionNew { task: text.to_str().unwrap().to_owned(), runtime: Some("words".into()), ..SessionNew::default() };
        let session = client.session(client.sessions().create(new).await.unwrap().session.id);
        let mut watch = session.watch(WatchOptions { from: Some(WatchFrom::Start), ..WatchOptions::default() });
        let answer = loop {
            let WatchItem::Event(event) = watch.next().await.expect("the run goes on").unwrap() else { continue };
            match event.decode().unwrap() {
                Event::AskUser(_) => {
                    let sent = session.send("2").await.unwrap();
                    assert_eq!(sent.dispatch, Dispatch::Dispatched);
                }
                Event::ToolCallPending(call) => {
                    assert_eq!(call.tool_name, "file_write");
                    client.approvals().respond(event.approval.unwrap_or_default(), Decision::AllowOnce).await.unwrap();
                }
                Event::RunComplete(complete) => break complete.final_content.unwrap_or_default(),
                Event::Error(error) => panic!("{}", error.message),
                _ => {}
            }
        };
        assert!(
            answer.starts_with("text.txt has 6 words.\n\n- to: 2\n- be: 2\n") || answer.starts_with("text.txt has 6 words.\n\n- be: 2\n- to: 2\n"),
            "{answer}"
        );
        let saved = fs::read_to_string(home.path().join("text.txt.words")).unwrap();
        assert!(answer.contains(saved.trim_end()) && answer.contains("Saved as text.txt.words."), "{answer}");
        core.shutdown().await;
    }
}
