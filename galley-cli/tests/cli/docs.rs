//! The guides: every command line in them is carried out, in order.

use crate::home::{Done, Home};
use serde_json::Value;
use std::collections::BTreeMap;

const SUPERVISING: &str = include_str!("../../../docs/supervising.md");
const CONFIG: &str = include_str!("../../../docs/config.md");

/// The command lines of a guide, each with the heading it stands below.
fn commands(guide: &str) -> Vec<(&str, &str)> {
    let (mut heading, mut within, mut found) = ("", false, Vec::new());
    for line in guide.lines() {
        match line {
            "```sh" => within = true,
            "```" => within = false,
            _ if within => found.push((heading, line)),
            _ => heading = line.strip_prefix("## ").unwrap_or(heading),
        }
    }
    found
}

/// The code blocks of a language.
fn blocks<'a>(guide: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    guide.split(&*open).skip(1).filter_map(|rest| rest.split("```\n").next()).collect()
}

fn run(home: &Home, line: &str) -> Done {
    let words = shell_words::split(line).unwrap();
    assert_eq!(words[0], "galley", "{line}");
    home.galley(&words[1..].iter().map(String::as_str).collect::<Vec<_>>())
}

/// Keeps the ids that an answer tells.
fn learn(ids: &mut BTreeMap<&str, String>, rows: &[Value]) {
    for (name, path) in [("SESSION_ID", "/session/id"), ("MESSAGE_ID", "/message/id"), ("PROJECT_ID", "/project/id")] {
        if let Some(id) = rows.first().and_then(|row| row.pointer(path)).and_then(Value::as_str) {
            ids.insert(name, id.to_owned());
        }
    }
    if let Some(approval) = rows.first().filter(|row| row.get("approvalId").is_some()) {
        ids.insert("APPROVAL_ID", approval["id"].as_str().unwrap().to_owned());
    }
}

#[test]
fn the_supervisors_guide_works_as_it_is_written() {
    let home = Home::serving_testkit();
    let mut ids = BTreeMap::new();
    let mut below = "";
    for (heading, line) in commands(SUPERVISING) {
        let new_heading = std::mem::replace(&mut below, heading) != heading;
        // What the agent does before the guide says how to answer.
        let occasion = match heading {
            "Answer approvals" => Some(("!ask_approval code_run; done yes", "waiting_approval")),
            "Answer questions" => Some(("!ask Which colour? | red | blue", "idle")),
            "Stop and clean up" => Some(("!say working; wait 3s; done finished", "running")),
            _ => None,
        };
        if let Some((message, status)) = occasion.filter(|_| new_heading) {
            let session: &String = &ids["SESSION_ID"];
            let sent = home.galley(&["session", "send", session, message]).row();
            home.until(&["session", "brief", session], |row| row["status"] == status && sent["dispatch"] == "dispatched");
        }
        let line = ids.iter().fold(line.to_owned(), |line, (name, id)| line.replace(name, id));
        let rows = run(&home, &line).rows();
        learn(&mut ids, &rows);
        if line.contains(" wait ") {
            assert_eq!(rows.last().unwrap()["stream"], "end", "{line}: {rows:?}");
            assert_eq!(rows[1]["status"], "completed", "{line}: {rows:?}");
        }
    }
    assert_eq!(ids.len(), 4);
}

#[test]
fn the_supervisors_guide_can_be_installed_as_a_skill() {
    let front = SUPERVISING.strip_prefix("---\n").unwrap().split("\n---\n").next().unwrap();
    let fields: Vec<_> = front.lines().map(|line| line.split_once(": ").unwrap()).collect();
    assert_eq!(fields[0], ("name", "galley"));
    assert!(fields[1].0 == "description" && fields[1].1.len() < 1024 && fields.len() == 2);
}

#[test]
fn the_configuration_guide_is_true() {
    let home = Home::new();
    for (_, line) in commands(CONFIG) {
        run(&home, line).rows();
    }
    let [config] = blocks(CONFIG, "toml")[..] else { panic!("one example is expected") };
    std::fs::write(home.directory().join("config.toml"), config).unwrap();
    let rows = home.galley(&["runtime", "list"]).rows();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["managed", "shell", "mine", "external"]);
    assert_eq!(rows[2]["current"], true);
    assert_eq!(rows[2]["command"], serde_json::json!(["python3", "/opt/mine/agent.py"]));
    assert_eq!(rows[3]["gaPath"], "/home/mira/GenericAgent");
}
