//! `sessions.watch`: a list that is kept by the feed alone is the list.

use crate::engine::{Engine, database, socket};
use crate::wire::{LIMIT, Wire};
use galley_client::{Client, Feed, FeedItem, FeedOptions, Reconnect};
use galley_core::read_only;
use galley_protocol::ipc::{Decision, Event};
use galley_protocol::socket::{
    Approval, ApprovalList, ApprovalState, Change, EndReason, FeedEvent, MessageBrief, SessionBrief, SessionStatus, SessionsList,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What a client keeps of a feed.
#[derive(Debug, Default)]
struct Sidebar {
    sessions: BTreeMap<String, SessionBrief>,
    messages: BTreeMap<String, MessageBrief>,
    approvals: BTreeMap<String, Approval>,
    snapshots: usize,
    revision: u64,
    partial: bool,
}

impl Sidebar {
    fn take(&mut self, event: FeedEvent) {
        assert!(event.revision > self.revision || matches!(event.change, Change::Snapshot(_)), "{} then {event:?}", self.revision);
        assert!(event.revision >= self.revision && event.revision < 1 << 53);
        self.revision = event.revision;
        match event.change {
            Change::Snapshot(part) => {
                if !std::mem::replace(&mut self.partial, part.more) {
                    self.snapshots += 1;
                    self.sessions.clear();
                    self.approvals.clear();
                }
                self.sessions.extend(part.sessions.into_iter().map(|row| (row.id.clone(), row)));
                self.approvals.extend(part.approvals.into_iter().map(|row| (row.id.clone(), row)));
            }
            Change::SessionChanged(row) => drop(self.sessions.insert(row.id.clone(), *row)),
            Change::SessionDeleted(gone) => drop(self.sessions.remove(&gone.session_id)),
            Change::MessageAdded(row) => drop(self.messages.insert(row.id.clone(), *row)),
            Change::ApprovalChanged(row) => drop(self.approvals.insert(row.id.clone(), *row)),
            change => panic!("{change:?}"),
        }
    }

    /// Reads until `done`.
    async fn read(&mut self, feed: &mut Feed, done: impl Fn(&Self) -> bool) {
        while !done(self) {
            match tokio::time::timeout(LIMIT, feed.next()).await.unwrap_or_else(|_| panic!("in time; {self:?}")).expect("it goes on").unwrap() {
                FeedItem::Event(event) => self.take(event),
                FeedItem::Start { .. } => {}
                item => panic!("{item:?}"),
            }
        }
    }

    fn active(&self) -> Vec<&SessionBrief> {
        self.sessions.values().filter(|row| row.status != SessionStatus::Archived).collect()
    }
}

fn feed(client: &Client, since: Option<u64>) -> Feed {
    client.sessions().watch(&FeedOptions { since, reconnect: Reconnect::Never })
}

async fn list(client: &Client) -> Vec<SessionBrief> {
    let mut rows = client.sessions().list(SessionsList { runtime: Some("all".into()), ..SessionsList::default() }).await.unwrap().items;
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    rows
}

/// A row without what changes with every event of a log.
fn settled(row: &SessionBrief) -> Value {
    let mut row = serde_json::to_value(row).unwrap();
    row.as_object_mut().unwrap().remove("lastIndex");
    row
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_kept_by_the_feed_is_the_list() {
    let engine = Engine::start().await;
    let before = engine.new_session("before").await.session.id;
    engine.idle(&before).await;
    let asking = engine.new_session("!ask_approval rm; done").await.session.id;
    engine.event(&asking, |event| matches!(event, Event::ToolCallPending(_))).await;

    let mut stream = feed(&engine.over_socket(), None);
    let mut sidebar = Sidebar::default();
    sidebar.read(&mut stream, |sidebar| sidebar.snapshots > 0).await;
    assert!(sidebar.sessions.contains_key(&before) && sidebar.sessions.contains_key(&asking));
    assert_eq!(sidebar.approvals.len(), 1);

    let approval = engine.client.call(ApprovalList::default()).await.unwrap().remove(0).id;
    engine.client.approvals().respond(&approval, Decision::AllowOnce).await.unwrap();
    engine.idle(&asking).await;
    let doomed = engine.new_session("doomed").await.session.id;
    engine.idle(&doomed).await;
    engine.client.session(&doomed).delete().await.unwrap();
    engine.client.session(&before).rename("after").await.unwrap();
    let put_away = engine.new_session("put away").await.session.id;
    engine.client.session(&put_away).archive().await.unwrap();
    let last = engine.new_session("!step one; step two; done three").await.session.id;
    engine.idle(&last).await;

    let expected = list(&engine.client).await;
    let rows = |sidebar: &Sidebar| sidebar.active().into_iter().map(settled).collect::<Vec<_>>();
    let listed: Vec<Value> = expected.iter().map(settled).collect();
    let shown = engine.show(&last).await;
    let all = |sidebar: &Sidebar| rows(sidebar) == listed && shown.iter().all(|message| sidebar.messages.contains_key(&message.id));
    sidebar.read(&mut stream, all).await;
    assert_eq!(sidebar.approvals[&approval].state, ApprovalState::Allowed);
    for message in shown {
        assert_eq!(sidebar.messages[&message.id].content, message.content);
    }
    assert_eq!(sidebar.snapshots, 1);
    engine.core.shutdown().await;
    let mut end = None;
    while let Some(item) = stream.next().await {
        end = Some(item.unwrap());
    }
    assert_eq!(end, Some(FeedItem::End(EndReason::CoreShutdown)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_feed_resumes_behind_a_revision_and_starts_over_in_another_life() {
    let engine = Engine::start().await;
    let id = engine.new_session("one").await.session.id;
    engine.idle(&id).await;
    let mut sidebar = Sidebar::default();
    let mut first = feed(&engine.client, None);
    sidebar.read(&mut first, |sidebar| sidebar.snapshots > 0).await;
    let revision = first.revision().unwrap();
    drop(first);
    engine.client.session(&id).rename("two").await.unwrap();

    let mut resumed = feed(&engine.client, Some(revision));
    assert_eq!(resumed.next().await.unwrap().unwrap(), FeedItem::Start { revision });
    sidebar.read(&mut resumed, |sidebar| sidebar.sessions[&id].title == "two").await;
    assert_eq!(sidebar.snapshots, 1);
    let revision = resumed.revision().unwrap();
    drop(resumed);

    // Nothing has changed since: the start frame comes all the same, and at once.
    let mut quiet = feed(&engine.over_socket(), Some(revision));
    assert_eq!(quiet.next().await.unwrap().unwrap(), FeedItem::Start { revision });
    drop(quiet);
    // A revision that has not been yet is of no life of this Core.
    let mut wrong = feed(&engine.client, Some(revision + 1_000_000));
    let FeedItem::Event(FeedEvent { change: Change::Snapshot(_), .. }) = wrong.next().await.unwrap().unwrap() else { panic!("a snapshot") };
    drop(wrong);

    let engine = Engine::start_in(engine.stop().await).await;
    let mut after = feed(&engine.client, Some(revision));
    sidebar.read(&mut after, |sidebar| sidebar.snapshots == 2).await;
    assert!(sidebar.revision > revision, "revisions grow across restarts");
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_of_the_feed_catches_up_and_delays_nobody() {
    let engine = Engine::start().await;
    let mut slow = Wire::connect(&socket(&engine.dir)).await;
    slow.line(&json!({ "command": "sessions.watch" }).to_string()).await;
    let first = slow.next().await.unwrap();
    assert_eq!((&first["data"]["kind"], &first["data"]["more"]), (&json!("snapshot"), &json!(false)));
    let id = engine.new_session("!repeat 3000 { step x }; done").await.session.id;
    let mut other = feed(&engine.client, None);
    let mut sidebar = Sidebar::default();
    sidebar.read(&mut other, |sidebar| sidebar.sessions.get(&id).is_some_and(|row| row.status == SessionStatus::Completed)).await;
    engine.idle(&id).await;
    let mut revision = 0;
    loop {
        let frame = slow.next().await.unwrap();
        assert!(frame["data"]["revision"].as_u64().unwrap() > revision);
        revision = frame["data"]["revision"].as_u64().unwrap();
        if frame["data"]["kind"] == "session_changed" && frame["data"]["status"] == "completed" {
            break;
        }
    }
    engine.stop().await;
}

#[tokio::test]
async fn frames_have_the_form_of_the_golden_samples() {
    let engine = Engine::start().await;
    let mut wire = Wire::connect(&socket(&engine.dir)).await;
    wire.line(&json!({ "command": "sessions.watch", "requestId": "r-6" }).to_string()).await;
    let mut seen = BTreeMap::new();
    let snapshot = wire.next().await.unwrap();
    seen.insert("snapshot".to_owned(), snapshot);
    let id = engine.new_session("!ask_approval rm; done").await.session.id;
    engine.event(&id, |event| matches!(event, Event::ToolCallPending(_))).await;
    engine.client.session(&id).delete().await.unwrap();
    while !seen.contains_key("session_deleted") {
        let frame = wire.next().await.unwrap();
        seen.insert(frame["data"]["kind"].as_str().unwrap().to_owned(), frame);
    }
    assert_eq!(seen["session_deleted"]["data"]["sessionId"], json!(id));
    for (kind, frame) in seen {
        let path = format!("{}/../schema/golden/socket/frames/sessions.watch-{kind}.json", env!("CARGO_MANIFEST_DIR"));
        let golden: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(fields(&frame), fields(&golden), "{kind}");
        assert_eq!(fields(&frame["data"]), fields(&golden["data"]), "{kind}");
        assert_eq!(frame["requestId"], "r-6");
    }
    engine.stop().await;
}

#[tokio::test]
async fn the_feed_needs_a_core() {
    let engine = Engine::start().await;
    let dir = engine.stop().await;
    let file = Client::new(read_only(&database(&dir)));
    assert_eq!(feed(&file, None).next().await.unwrap().unwrap_err().tag().as_str(), "db_unavailable");
}

#[tokio::test]
async fn a_connection_takes_only_so_many_streams() {
    let engine = Engine::start().await;
    let mut wire = Wire::connect(&socket(&engine.dir)).await;
    let mut refused = None;
    for number in 0..300 {
        wire.line(&json!({ "command": "sessions.watch", "requestId": number.to_string() }).to_string()).await;
        let frame = wire.next().await.unwrap();
        if frame["stream"] != "event" {
            refused = Some((number, frame));
            break;
        }
    }
    let (number, frame) = refused.expect("one too many");
    assert_eq!((number, &frame["error"]), (256, &json!("queue_full")), "{frame}");
    wire.line(&json!({ "command": "stream.cancel", "requestId": "c", "args": { "requestId": "7" } }).to_string()).await;
    let mut answers = [wire.next().await.unwrap(), wire.next().await.unwrap()];
    answers.sort_by_key(|answer| answer["requestId"].to_string());
    assert_eq!(answers[0], json!({ "stream": "end", "requestId": "7", "reason": "cancelled" }));
    wire.line(&json!({ "command": "sessions.watch", "requestId": "again" }).to_string()).await;
    assert_eq!(wire.next().await.unwrap()["stream"], "event", "there is room again");
    engine.stop().await;
}
