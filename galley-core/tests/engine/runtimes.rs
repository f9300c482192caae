//! The configuration of runtimes: edited through Core, without one, and by hand.

use crate::engine::{Engine, database};
use galley_client::Client;
use galley_core::read_only;
use galley_protocol::socket::{RuntimeAdd, SessionNew, Warning};
use serde_json::{Value, json};
use std::fs;

fn tag(error: &galley_client::Error) -> String {
    error.tag().as_str().to_owned()
}

fn process(name: &str) -> RuntimeAdd {
    let runner = galley_testkit::runner_path().unwrap();
    RuntimeAdd { name: name.into(), command: Some(format!("'{}'", runner.display())), ..RuntimeAdd::default() }
}

fn task(runtime: Option<&str>) -> SessionNew {
    SessionNew { task: "hello".into(), runtime: runtime.map(str::to_owned), ..SessionNew::default() }
}

/// What the warning says besides its sentence.
fn of(warning: Option<Warning>) -> Option<(String, Value)> {
    warning.map(|warning| (warning.id, warning.detail.unwrap().read().unwrap()))
}

#[tokio::test]
async fn writing_to_another_runtime_than_the_current_one_is_said() {
    let engine = Engine::start().await;
    let warned = Some(("non_current_runtime".to_owned(), json!({ "runtime": "testkit", "currentRuntime": "managed" })));
    let new = engine.client.call(task(Some("testkit"))).await.unwrap();
    assert_eq!(of(new.warning), warned);
    engine.idle(&new.session.id).await;
    let session = engine.client.session(&new.session.id);
    assert_eq!(of(session.send("hello").await.unwrap().warning), warned);
    engine.idle(&new.session.id).await;
    assert_eq!(of(session.retry(None).await.unwrap().warning), warned);
    engine.idle(&new.session.id).await;

    engine.client.runtimes().add(process("mine")).await.unwrap();
    let current = engine.client.runtimes().make_current("mine").await.unwrap();
    assert!(current.current && current.name == "mine");
    let new = engine.client.call(task(None)).await.unwrap();
    assert_eq!((of(new.warning), new.session.ga_runtime_id.as_deref()), (None, Some("mine")), "the current one needs no warning");
    engine.idle(&new.session.id).await;
    assert_eq!(of(engine.client.session(&new.session.id).send("hello").await.unwrap().warning), None);
    engine.idle(&new.session.id).await;
    let models = engine.client.llms().list(None).await.unwrap();
    assert_eq!(models.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["testkit/model-0", "testkit/model-1"], "as its ready told");
    let beside = Client::new(read_only(&database(&engine.dir)));
    assert_eq!(beside.llms().list(None).await.unwrap(), models, "from the file as well");
    engine.stop().await;
}

#[tokio::test]
async fn a_running_core_notices_edits_by_anybody_and_loses_none() {
    let engine = Engine::start().await;
    let path = engine.dir.path().join("config.toml");
    let without = Client::new(read_only(&database(&engine.dir)));
    let current = async |client: &Client| client.runtimes().show("current").await.map(|runtime| runtime.name);

    fs::write(&path, "# by hand\nfuture = [1, 2]\n").unwrap();
    without.runtimes().add(process("mine")).await.unwrap();
    without.runtimes().make_current("mine").await.unwrap();
    assert_eq!(current(&engine.client).await.unwrap(), "mine", "as edited without it");
    engine.client.runtimes().make_current("shell").await.unwrap();
    assert_eq!(current(&without).await.unwrap(), "shell", "as edited through it");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("# by hand\nfuture = [1, 2]\n"), "{text}");

    let broken = text.replace("[runtimes.mine]", "[runtimes.mine");
    fs::write(&path, &broken).unwrap();
    for client in [&engine.client, &without] {
        for error in [
            current(client).await.map(drop).unwrap_err(),
            client.runtimes().list().await.map(drop).unwrap_err(),
            client.runtimes().add(process("other")).await.map(drop).unwrap_err(),
            client.runtimes().make_current("managed").await.map(drop).unwrap_err(),
            client.runtimes().remove("mine").await.map(drop).unwrap_err(),
        ] {
            assert!(tag(&error) == "invalid_args" && error.to_string().contains("config.toml, line"), "{error}");
        }
    }
    assert!(engine.client.sessions().list(Default::default()).await.is_err(), "the current runtime cannot be told");
    assert_eq!(fs::read_to_string(&path).unwrap(), broken, "a broken file stays as it is");

    fs::write(&path, &text).unwrap();
    let removed = engine.client.runtimes().remove("mine").await.unwrap();
    assert_eq!((removed.removed, removed.name.as_str()), (true, "mine"));
    assert_eq!(tag(&without.runtimes().show("mine").await.unwrap_err()), "not_found");
    assert_eq!(tag(&engine.client.runtimes().remove("mine").await.unwrap_err()), "not_found");
    assert!(fs::read_to_string(&path).unwrap().starts_with("# by hand\nfuture = [1, 2]\n"));
    engine.stop().await;
}
