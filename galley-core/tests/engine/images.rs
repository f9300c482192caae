//! Images of messages, with real files and real runners.

use crate::engine::{Engine, database};
use galley_protocol::socket::{Dispatch, MessageBrief, MessageState, SessionNew, SessionSend, Submitted};
use std::fs;
use std::path::{Path, PathBuf};

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

fn file(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

async fn send(engine: &Engine, id: &str, text: &str, images: &[&str]) -> Result<Submitted, galley_client::Error> {
    let images = images.iter().map(|path| (*path).to_owned()).collect();
    engine.client.call(SessionSend { session_id: id.into(), content: text.into(), images: Some(images), ..SessionSend::default() }).await
}

fn copies(engine: &Engine, id: &str) -> Vec<PathBuf> {
    let folder = engine.dir.path().join("attachments").join(id);
    fs::read_dir(folder).map(|files| files.map(|file| file.unwrap().path()).collect()).unwrap_or_default()
}

fn paths(message: &MessageBrief) -> Vec<PathBuf> {
    message.attachments.iter().flatten().map(|image| image.path.clone().into()).collect()
}

#[tokio::test]
async fn an_image_is_copied_queued_sent_shown_sent_again_and_goes_with_its_session() {
    let engine = Engine::start().await;
    let source = file(engine.dir.path(), "a.png", PNG);
    let id = engine.new_session("!say working; no_complete").await.session.id;
    let sent = send(&engine, &id, "!print_images", &[&source]).await.unwrap();
    assert_eq!(sent.dispatch, Dispatch::Queued);
    let message = sent.message.unwrap();
    let image = &message.attachments.as_ref().unwrap()[0];
    assert_eq!((image.mime_type.as_str(), image.byte_size, image.width, image.height), ("image/png", PNG.len() as u64, Some(1), Some(1)));
    assert_eq!((&image.message_id, &image.session_id), (&message.id, &id));
    fs::remove_file(&source).unwrap();

    let dir = engine.stop().await;
    let engine = Engine::start_in(dir).await;
    engine.client.session(&id).resume().await.unwrap();
    engine.idle(&id).await;
    let rows = engine.show(&id).await;
    let stored = rows.iter().find(|row| row.id == message.id).unwrap();
    assert_eq!((&stored.attachments, &stored.state), (&message.attachments, &Some(MessageState::Answered)));
    let told: Vec<PathBuf> = serde_json::from_str(rows.last().unwrap().final_answer.as_deref().unwrap()).unwrap();
    assert_eq!((&told, &paths(stored)), (&copies(&engine, &id), &told));
    assert_eq!(fs::read(&told[0]).unwrap(), PNG);
    assert!(told[0].is_absolute());
    let read = galley_client::Client::new(galley_core::read_only(&database(&engine.dir))).session(&id).show(None).await.unwrap();
    assert!(read.iter().any(|row| row.attachments == message.attachments), "from the file alone, too");

    let again = engine.client.session(&id).retry(Some(message.id.clone())).await.unwrap().message.unwrap();
    assert_eq!(paths(&again), told);
    engine.idle(&id).await;
    assert!(engine.show(&id).await.last().unwrap().final_answer.as_deref().unwrap().contains(told[0].to_str().unwrap()));

    engine.client.session(&id).delete().await.unwrap();
    assert!(!told[0].exists() && copies(&engine, &id).is_empty());
    engine.stop().await;
}

#[tokio::test]
async fn what_is_no_image_is_refused_by_name_and_leaves_nothing() {
    let engine = Engine::start().await;
    let id = engine.new_session("hello").await.session.id;
    engine.idle(&id).await;
    let before = (engine.brief(&id).await, engine.show(&id).await);
    let folder = engine.dir.path();
    let good = file(folder, "a.png", PNG);
    let text = file(folder, "notes.png", b"no picture");
    let large = folder.join("large.png");
    fs::File::create(&large).unwrap().set_len(21 << 20).unwrap();
    let missing = folder.join("missing.png");
    for (bad, why) in [
        (text.as_str(), "no PNG"),
        (large.to_str().unwrap(), "larger than 20 MiB"),
        (missing.to_str().unwrap(), "missing.png"),
        (folder.to_str().unwrap(), "no file"),
        ("a.png", "not absolute"),
    ] {
        let error = send(&engine, &id, "look", &[&good, bad]).await.unwrap_err();
        assert_eq!(error.tag().as_str(), "invalid_args");
        assert!(error.to_string().contains(why) && error.to_string().contains(bad), "{error}");
    }
    let many = vec![good.as_str(); 17];
    assert_eq!(send(&engine, &id, "look", &many).await.unwrap_err().tag().as_str(), "invalid_args");
    assert_eq!((engine.brief(&id).await, engine.show(&id).await), before);
    assert!(copies(&engine, &id).is_empty());
    engine.stop().await;
}

#[tokio::test]
async fn a_runtime_that_takes_no_images_refuses_them_whether_it_is_up_or_not() {
    let engine = Engine::start().await;
    let good = file(engine.dir.path(), "a.png", PNG);
    let new = SessionNew { task: "true".into(), approval_mode: Some(galley_protocol::socket::ApprovalMode::Auto), ..SessionNew::default() };
    let id = engine.client.call(new).await.unwrap().session.id;
    engine.idle(&id).await;
    let before = engine.show(&id).await;
    for up in [true, false] {
        assert_eq!(engine.client.session(&id).state().await.unwrap().runner_alive, up);
        assert_eq!(send(&engine, &id, "look", &[&good]).await.unwrap_err().tag().as_str(), "invalid_args");
        engine.client.session(&id).kill().await.unwrap();
    }
    assert_eq!(engine.show(&id).await, before);
    assert!(copies(&engine, &id).is_empty());
    engine.stop().await;
}
