//! Projects, with real runners: their workspace, their rules, and what is left when they go.

use crate::engine::Engine;
use galley_client::Client;
use galley_core::read_only;
use galley_protocol::ipc::{Decision, Event};
use galley_protocol::socket::{NewSession, ProjectBrief, ProjectCreate, ProjectUpdate, SessionNew, SessionsList};
use std::path::Path;

fn tag(error: &galley_client::Error) -> String {
    error.tag().as_str().to_owned()
}

async fn project(engine: &Engine, root: Option<&Path>) -> ProjectBrief {
    let project = ProjectCreate {
        name: " Tea ".into(),
        root_path: root.map(|root| root.to_str().unwrap().into()),
        workspace_enabled: Some(root.is_some()),
        ..ProjectCreate::default()
    };
    engine.client.projects().create(project).await.unwrap()
}

async fn session_in(engine: &Engine, project: &ProjectBrief, task: &str) -> NewSession {
    let project_id = Some(project.id.clone());
    engine.client.call(SessionNew { task: task.into(), runtime: Some("testkit".into()), project_id, ..SessionNew::default() }).await.unwrap()
}

/// The arguments that the session's runner says it was started with.
async fn arguments(engine: &Engine, id: &str) -> Vec<String> {
    engine.idle(id).await;
    let said = engine.show(id).await.pop().unwrap().content;
    serde_json::from_str(said.trim()).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[tokio::test]
async fn what_is_no_project_is_refused_and_what_is_one_comes_back() {
    let engine = Engine::start().await;
    let created = project(&engine, None).await;
    assert!(created.id.starts_with("proj_") && created.id.len() == 21, "{}", created.id);
    assert_eq!((created.name.as_str(), created.root_path.clone(), created.workspace_enabled, created.pinned), ("Tea", None, false, false));
    assert_eq!(created.last_activity_at, created.created_at);
    let wrong = [
        ProjectCreate { name: " \t".into(), ..ProjectCreate::default() },
        ProjectCreate { name: "x".into(), workspace_enabled: Some(true), ..ProjectCreate::default() },
        ProjectCreate { name: "x".into(), root_path: Some(" ".into()), workspace_enabled: Some(true), ..ProjectCreate::default() },
        ProjectCreate { name: "x".into(), root_path: Some("here/there".into()), ..ProjectCreate::default() },
    ];
    for project in wrong {
        assert_eq!(tag(&engine.client.projects().create(project.clone()).await.unwrap_err()), "invalid_args", "{project:?}");
    }
    let of_it = engine.client.project(&created.id);
    let full = ProjectUpdate {
        root_path: Some("/tea".into()),
        workspace_enabled: Some(true),
        icon: Some("🍵".into()),
        color: Some("green".into()),
        pinned: Some(true),
        ..ProjectUpdate::default()
    };
    let updated = of_it.update(full).await.unwrap();
    assert_eq!((updated.name.as_str(), updated.root_path.as_deref(), updated.pinned), ("Tea", Some("/tea"), true));
    assert_eq!(tag(&of_it.update(ProjectUpdate { root_path: Some(String::new()), ..ProjectUpdate::default() }).await.unwrap_err()), "invalid_args");
    assert_eq!(tag(&of_it.update(ProjectUpdate { name: Some(String::new()), ..ProjectUpdate::default() }).await.unwrap_err()), "invalid_args");
    assert_eq!(of_it.brief().await.unwrap().project, updated, "a refused change changes nothing");
    let cleared =
        ProjectUpdate { root_path: Some(String::new()), workspace_enabled: Some(false), icon: Some(String::new()), ..ProjectUpdate::default() };
    let cleared = of_it.update(cleared).await.unwrap();
    assert_eq!((cleared.root_path, cleared.icon, cleared.color.as_deref(), cleared.pinned), (None, None, Some("green"), true));
    let nobody = engine.client.project("proj_none");
    for error in [
        nobody.brief().await.map(drop).unwrap_err(),
        nobody.show(None).await.map(drop).unwrap_err(),
        nobody.update(ProjectUpdate::default()).await.map(drop).unwrap_err(),
        nobody.delete().await.map(drop).unwrap_err(),
    ] {
        assert_eq!(tag(&error), "not_found");
    }
    engine.stop().await;
}

#[tokio::test]
async fn a_workspace_reaches_the_runner_as_an_argument_and_never_as_its_directory() {
    let engine = Engine::start().await;
    let root = engine.dir.path().join("a wörk space");
    std::fs::create_dir(&root).unwrap();
    let project = project(&engine, Some(&root)).await;
    let id = session_in(&engine, &project, "!print_args; done").await.session.id;
    let given = arguments(&engine, &id).await;
    let at = given.iter().position(|argument| argument == "--workspace-root").expect("it is given");
    assert_eq!(given[at + 1], root.to_str().unwrap());
    #[cfg(target_os = "linux")]
    {
        let pid = engine.client.session(&id).state().await.unwrap().pid.unwrap();
        assert_ne!(std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), root);
    }

    // The next runner gets what the project is then.
    let off = ProjectUpdate { workspace_enabled: Some(false), ..ProjectUpdate::default() };
    engine.client.project(&project.id).update(off).await.unwrap();
    engine.client.session(&id).kill().await.unwrap();
    engine.client.session(&id).send("!print_args; done").await.unwrap();
    assert!(!arguments(&engine, &id).await.contains(&"--workspace-root".to_owned()));
    let ungrouped = engine.new_session("!print_args; done").await.session.id;
    assert!(!arguments(&engine, &ungrouped).await.contains(&"--workspace-root".to_owned()));
    engine.stop().await;
}

#[tokio::test]
async fn a_deleted_project_lets_its_sessions_go_and_takes_its_rules_along() {
    const ASK: &str = "!ask_approval rm; done";
    let engine = Engine::start().await;
    let project = project(&engine, None).await;
    let id = session_in(&engine, &project, ASK).await.session.id;
    let session = engine.client.session(&id);
    let asked = engine.event(&id, |event| matches!(event, Event::ToolCallPending(_))).await;
    engine.client.approvals().respond(asked.approval.unwrap(), Decision::AlwaysAllowProject).await.unwrap();
    engine.idle(&id).await;
    let rules = engine.client.approvals().rules(Some(project.id.clone())).await.unwrap();
    assert_eq!(rules.iter().map(|rule| rule.tool.as_str()).collect::<Vec<_>>(), ["rm"]);
    session.send(ASK).await.unwrap();
    engine.idle(&id).await;
    assert!(engine.client.approvals().list().await.unwrap().is_empty(), "the rule allows it");

    // One more member that has no actor, and one that is put away.
    let archived = session_in(&engine, &project, "hello").await.session.id;
    engine.idle(&archived).await;
    engine.client.session(&archived).archive().await.unwrap();
    let deleted = engine.client.project(&project.id).delete().await.unwrap();
    let mut members = vec![id.clone(), archived.clone()];
    members.sort();
    let mut detached = deleted.detached_session_ids;
    detached.sort();
    assert_eq!((deleted.deleted, deleted.project_id.as_str(), deleted.detached_sessions, detached), (true, project.id.as_str(), 2, members));
    assert!(engine.client.approvals().rules(None).await.unwrap().is_empty());
    assert_eq!(tag(&engine.client.approvals().rules(Some(project.id.clone())).await.unwrap_err()), "not_found");
    let list = SessionsList { project_id: Some(project.id.clone()), ..SessionsList::default() };
    assert_eq!(tag(&engine.client.sessions().list(list).await.unwrap_err()), "not_found");

    // Its live runner has heard of it, and its row can still be written.
    let last = engine.brief(&id).await.last_index.unwrap();
    session.send(ASK).await.unwrap();
    let asked = engine
        .client
        .watch(&id, galley_client::WatchOptions { from: Some(galley_protocol::socket::WatchFrom::Index(last + 1)), ..Default::default() });
    let asked = next_approval(asked).await;
    engine.client.approvals().respond(asked, Decision::AllowOnce).await.unwrap();
    assert_eq!(engine.idle(&id).await.project_id, None);
    let database = crate::engine::database(&engine.dir);
    let beside = Client::new(read_only(&database));
    assert_eq!(beside.session(&archived).brief().await.unwrap().project_id, None);
    assert!(beside.projects().list().await.unwrap().is_empty());
    engine.stop().await;
}

/// The next approval the watch tells of.
async fn next_approval(mut watch: galley_client::Watch) -> String {
    let asked = async {
        loop {
            if let galley_client::WatchItem::Event(event) = watch.next().await.expect("the stream stays").unwrap()
                && let Some(approval) = event.approval
            {
                return approval;
            }
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), asked).await.expect("the runner asks again")
}
