//! `project.follow`: the events of all sessions of a project, each session's in order.

use crate::engine::{Engine, database};
use crate::second_process::signal;
use crate::wire::LIMIT;
use galley_client::{Client, FollowProject};
use galley_core::read_only;
use galley_protocol::socket::{
    EndReason, ProjectCreate, ProjectDelete, ProjectFollow, ProjectFrame, ProjectShow, ProjectTranscripts, SessionNew, WaitPhase,
};
use rustix::process::Signal;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
struct Told {
    snapshots: Vec<(WaitPhase, ProjectTranscripts)>,
    events: BTreeMap<String, Vec<String>>,
    /// Whose events came, in order.
    turns: Vec<String>,
    ends: Vec<(String, EndReason)>,
    end: Option<EndReason>,
}

impl Told {
    async fn read(&mut self, follow: &mut FollowProject, done: impl Fn(&Self) -> bool) {
        while self.end.is_none() && !done(self) {
            let frame = tokio::time::timeout(LIMIT, follow.next()).await.unwrap_or_else(|_| panic!("in time; {:?}", self.ends));
            match frame.expect("it goes on").unwrap() {
                ProjectFrame::Snapshot { phase, project, .. } => self.snapshots.push((phase, *project)),
                ProjectFrame::Event { session_id, data, .. } => {
                    self.turns.push(session_id.clone());
                    self.events.entry(session_id).or_default().push(data.as_str().to_owned());
                }
                ProjectFrame::SessionEnd { session_id, reason, .. } => self.ends.push((session_id, reason)),
                ProjectFrame::End { reason, .. } => self.end = Some(reason),
                frame => panic!("{frame:?}"),
            }
        }
    }

    fn has(&self, session: &str, text: &str) -> bool {
        self.events.get(session).is_some_and(|lines| lines.iter().any(|line| line.contains(text)))
    }

    fn has_ended(&self, session: &str) -> Option<EndReason> {
        self.ends.iter().find(|(id, _)| id == session).map(|(_, reason)| reason.clone())
    }
}

async fn project(engine: &Engine, name: &str) -> String {
    engine.client.call(ProjectCreate { name: name.into(), ..ProjectCreate::default() }).await.unwrap().project.id
}

async fn session_in(engine: &Engine, project: &str, task: &str) -> String {
    let new = SessionNew { task: task.into(), runtime: Some("testkit".into()), project_id: Some(project.into()), ..SessionNew::default() };
    engine.client.call(new).await.unwrap().session.id
}

fn follow(client: &Client, project: &str, until_idle: bool) -> FollowProject {
    client.project(project).follow(ProjectFollow { until_idle: Some(until_idle), ..ProjectFollow::default() })
}

/// What was told of a session is the end of its log.
async fn assert_no_gap(engine: &Engine, told: &Told, session: &str, behind: u64) {
    let log: Vec<String> = engine
        .log(session)
        .await
        .into_iter()
        .filter(|event| event.index > behind)
        .map(|event| String::from_utf8(event.raw.to_vec()).unwrap())
        .collect();
    assert_eq!(told.events.get(session).cloned().unwrap_or_default(), log, "{session}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follow_until_idle_tells_everything_of_all_sessions_and_takes_turns() {
    let engine = Engine::start().await;
    let project = project(&engine, "farm").await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(session_in(&engine, &project, "!emit 1500 100 300; done").await);
    }
    let outside = engine.new_session("!emit 10 100; done").await.session.id;
    let options = ProjectFollow { until_idle: Some(true), final_show: Some(true), tail: Some(1), ..ProjectFollow::default() };
    let mut stream = engine.over_socket().project(&project).follow(options);
    let mut told = Told::default();
    told.read(&mut stream, |told| !told.snapshots.is_empty()).await;
    // One more joins.
    let joined = session_in(&engine, &project, "!emit 100 100; done").await;
    told.read(&mut stream, |_| false).await;
    assert_eq!(told.end, Some(EndReason::ProjectIdle));
    assert_eq!(told.snapshots.iter().map(|(phase, _)| phase.clone()).collect::<Vec<_>>(), [WaitPhase::Initial, WaitPhase::Final]);
    for one in &told.snapshots[0].1.sessions {
        assert_no_gap(&engine, &told, &one.session.id, one.session.last_index.unwrap()).await;
        assert!(one.messages.len() <= 1);
    }
    assert_no_gap(&engine, &told, &joined, 0).await;
    assert!(!told.events.contains_key(&outside));
    let shown = engine.client.call(ProjectShow { project_id: project.clone(), tail: Some(1), all: None }).await.unwrap();
    assert_eq!(told.snapshots[1].1, shown);
    // No session has to wait until another has told all it has.
    let first_end = sessions.iter().map(|id| told.turns.iter().rposition(|turn| turn == id).unwrap()).min().unwrap();
    assert!(sessions.iter().all(|id| told.turns.iter().position(|turn| turn == id).unwrap() < first_end));
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_leave_a_follow_each_for_its_reason() {
    let engine = Engine::start().await;
    let (home, away) = (project(&engine, "home").await, project(&engine, "away").await);
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(session_in(&engine, &home, "!say here; no_complete").await);
    }
    let mut stream = follow(&engine.client, &home, false);
    let mut told = Told::default();
    told.read(&mut stream, |told| !told.snapshots.is_empty()).await;
    let [killed, archived, deleted, moved, stays] = &ids[..] else { panic!() };
    signal(engine.client.session(killed).state().await.unwrap().pid.unwrap(), Signal::KILL);
    engine.client.session(archived).archive().await.unwrap();
    engine.client.session(deleted).delete().await.unwrap();
    engine.client.session(moved).move_to(Some(away.clone())).await.unwrap();
    told.read(&mut stream, |told| told.ends.len() == 4).await;
    assert_eq!(told.has_ended(killed), Some(EndReason::SubprocessError));
    assert_eq!(told.has_ended(archived), Some(EndReason::Archived));
    assert_eq!(told.has_ended(deleted), Some(EndReason::Deleted));
    assert_eq!(told.has_ended(moved), Some(EndReason::Moved));
    // A session that was moved here is told of from now on, one whose runner died again when it has one.
    engine.client.session(moved).move_to(Some(home.clone())).await.unwrap();
    engine.client.session(killed).send("!say back; no_complete").await.unwrap();
    told.read(&mut stream, |told| told.has(killed, "back")).await;
    for id in [killed, moved, stays] {
        engine.client.session(id).kill().await.unwrap();
    }
    told.read(&mut stream, |_| false).await;
    assert_eq!(told.end, Some(EndReason::AllLiveSessionsEnded));
    assert_eq!(told.has_ended(stays), Some(EndReason::SubprocessExited));
    assert_eq!(told.snapshots.len(), 1, "the last snapshot is only shown to who asks for it");

    let mut told = Told::default();
    told.read(&mut follow(&engine.client, &away, false), |_| false).await;
    assert_eq!(told.end, Some(EndReason::NoLiveSessions));
    engine.stop().await;
}

#[tokio::test]
async fn a_deleted_project_and_a_core_that_ends_end_a_follow() {
    let engine = Engine::start().await;
    let project = project(&engine, "farm").await;
    let id = session_in(&engine, &project, "!say here; no_complete").await;
    let mut stream = follow(&engine.client, &project, true);
    let mut told = Told::default();
    told.read(&mut stream, |told| !told.snapshots.is_empty()).await;
    engine.client.call(ProjectDelete { project_id: project.clone(), ..ProjectDelete::default() }).await.unwrap();
    told.read(&mut stream, |_| false).await;
    assert_eq!((told.end, told.ends), (Some(EndReason::Deleted), vec![(id.clone(), EndReason::Moved)]));
    let nobody = follow(&engine.client, &project, true).next().await.unwrap().unwrap_err();
    assert_eq!(nobody.tag().as_str(), "not_found");

    let project = self::project(&engine, "again").await;
    session_in(&engine, &project, "!say here; no_complete").await;
    let mut stream = follow(&engine.over_socket(), &project, true);
    let mut told = Told::default();
    told.read(&mut stream, |told| !told.snapshots.is_empty()).await;
    let reading = tokio::spawn(async move {
        told.read(&mut stream, |_| false).await;
        told
    });
    engine.stop().await;
    assert_eq!(reading.await.unwrap().end, Some(EndReason::CoreShutdown));
}

#[tokio::test]
async fn without_a_core_a_project_is_idle() {
    let engine = Engine::start().await;
    let project = project(&engine, "farm").await;
    let id = session_in(&engine, &project, "hello").await;
    engine.idle(&id).await;
    let file = Client::new(read_only(&database(&engine.dir)));
    // Beside a Core: through the file.
    engine.client.session(&id).send("!emit 500 100 200; done").await.unwrap();
    let mut told = Told::default();
    told.read(&mut follow(&file, &project, true), |_| false).await;
    assert_eq!(told.end, Some(EndReason::ProjectIdle));
    assert_no_gap(&engine, &told, &id, told.snapshots[0].1.sessions[0].session.last_index.unwrap()).await;
    engine.stop().await;
    for (until_idle, end) in [(true, EndReason::ProjectIdle), (false, EndReason::NoLiveSessions)] {
        let mut told = Told::default();
        told.read(&mut follow(&file, &project, until_idle), |_| false).await;
        assert_eq!((told.snapshots.len(), told.end), (1, Some(end)));
    }
}
