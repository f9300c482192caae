//! The Agent API, walked: every command, every flag, every exit code and every frame that it names,
//! compared with what the program prints.
//!
//! `scenarios/` holds the steps. A command of the registry, a command or flag of the program, or a
//! section of the Agent API that no step walks fails the test.

mod json;
mod pattern;
mod scenario;
mod walker;

use crate::home::Home;
use galley_client::protocol::socket::COMMANDS;
use json::Json;
use scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Mutex;
use walker::Walked;

const SHAPES: &str = include_str!("shapes.toml");

const SCENARIOS: &[(&str, &str)] = &[
    ("meta", include_str!("scenarios/meta.toml")),
    ("sessions", include_str!("scenarios/sessions.toml")),
    ("send", include_str!("scenarios/send.toml")),
    ("streams", include_str!("scenarios/streams.toml")),
    ("lifecycle", include_str!("scenarios/lifecycle.toml")),
    ("approvals", include_str!("scenarios/approvals.toml")),
    ("projects", include_str!("scenarios/projects.toml")),
    ("runtimes", include_str!("scenarios/runtimes.toml")),
    ("without_core", include_str!("scenarios/without_core.toml")),
];

/// The sections of the Agent API and the exit codes each names, but for `internal`, which nothing
/// brings about on purpose, and `not_found` of `session new`, which looks for nothing by its id.
const SECTIONS: &[(&str, &[i32])] = &[
    ("5.1", &[0]),
    ("5.2", &[0, 2]),
    ("5.3", &[0, 2]),
    ("5.4", &[0, 3]),
    ("5.5", &[0, 3]),
    ("5.5a", &[0, 2, 3, 4]),
    ("5.5b", &[0, 3, 4]),
    ("5.5c", &[0, 3, 4]),
    ("5.5d", &[0, 3, 4]),
    ("5.6", &[0]),
    ("5.7", &[0]),
    ("5.8", &[0, 2, 4, 5]),
    ("5.9", &[0, 2, 3, 4, 5]),
    ("5.10", &[0, 3, 4]),
    ("5.11", &[0, 3, 4]),
    ("5.12", &[0, 3, 4]),
    ("5.13", &[0, 2, 3, 4]),
];

/// Commands that only the socket has.
const SOCKET_ONLY: &[&str] = &["ping", "stream.cancel"];

#[test]
fn the_agent_api_is_as_it_is_described() {
    let shapes: BTreeMap<String, String> = toml_edit::de::from_str(SHAPES).unwrap();
    let shapes = shapes.into_iter().map(|(name, text)| (name, Json::parse(&text).unwrap())).collect();
    let walked = walk_all(&shapes);
    let (table, failed) = table(&walked);
    let steps: Vec<&Walked> = walked.iter().flat_map(|(_, steps)| steps).collect();
    let missing = [sections_missing(&steps), program_missing(&steps), registry_missing(&steps)].concat();
    println!("{table}");
    assert!(failed.is_empty(), "these differ:\n{failed}");
    assert!(missing.is_empty(), "no step walks:\n{}", missing.join("\n"));
}

/// Walks the scenarios, as many at once as there are processors: Core has deadlines to keep, too.
fn walk_all(shapes: &BTreeMap<String, Json>) -> Vec<(&'static str, Vec<Walked>)> {
    let left = Mutex::new(SCENARIOS.iter());
    let next = || left.lock().unwrap().next();
    let worker = || std::iter::from_fn(next).map(|(name, text)| (*name, walker::walk(&Scenario::read(name, text), shapes))).collect::<Vec<_>>();
    let workers = std::thread::available_parallelism().map_or(1, |processors| processors.get());
    std::thread::scope(|scope| {
        let walks: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        walks.into_iter().flat_map(|walk| walk.join().unwrap()).collect()
    })
}

/// What was walked, and what of it differs.
fn table(walked: &[(&str, Vec<Walked>)]) -> (String, String) {
    let (mut table, mut failed) = (String::new(), String::new());
    for (scenario, steps) in walked {
        for step in steps {
            let did = match (step.words.is_empty(), step.requests.is_empty()) {
                (false, _) => format!("galley {}", shell_words::join(&step.words)),
                (_, false) => format!("socket {}", step.requests.join(", ")),
                _ => String::new(),
            };
            let spec = step.spec.as_deref().unwrap_or("");
            let verdict = if step.outcome.is_ok() { "ok" } else { "DIFFERS" };
            let _ =
                writeln!(table, "{scenario:<12} {spec:<5} {:>3} {verdict:<7} {:>5} ms  {did}  # {}", step.code, step.took.as_millis(), step.shows);
            if let Err(why) = &step.outcome {
                let _ = writeln!(failed, "{scenario}: {did} ({}): {why}", step.shows);
            }
        }
    }
    (table, failed)
}

fn sections_missing(steps: &[&Walked]) -> Vec<String> {
    let walked: BTreeSet<(&str, i32)> = steps.iter().filter_map(|step| Some((step.spec.as_deref()?, step.code))).collect();
    let wanted = SECTIONS.iter().flat_map(|(section, codes)| codes.iter().map(move |code| (*section, *code)));
    wanted.filter(|pair| !walked.contains(pair)).map(|(section, code)| format!("section {section} with exit code {code}")).collect()
}

fn registry_missing(steps: &[&Walked]) -> Vec<String> {
    let words = |name: &str| name.replace('_', "-").split('.').map(str::to_owned).collect::<Vec<_>>();
    let walked = |name: &str| match SOCKET_ONLY.contains(&name) {
        true => steps.iter().any(|step| step.requests.contains(&format!("{name:?}"))),
        false => steps.iter().any(|step| step.words.starts_with(&words(name))),
    };
    COMMANDS.iter().filter(|command| !walked(command.name)).map(|command| format!("the command {}", command.name)).collect()
}

/// Commands and flags of the program's own help that no step uses.
fn program_missing(steps: &[&Walked]) -> Vec<String> {
    let home = Home::new();
    let mut missing = Vec::new();
    let mut nouns = vec![Vec::new()];
    while let Some(words) = nouns.pop() {
        let help = home.galley(&[&words[..], &["--help"]].concat().iter().map(|word: &&str| &**word).collect::<Vec<_>>()).stdout;
        let (commands, flags) = (commands_of(&help), flags_of(&help));
        if commands.is_empty() {
            let used: Vec<_> =
                steps.iter().filter(|step| step.words.iter().map(String::as_str).take(words.len()).eq(words.iter().copied())).collect();
            if used.is_empty() {
                missing.push(format!("galley {}", words.join(" ")));
            }
            let uses = |flag: &str| used.iter().any(|step| step.words.iter().any(|word| word == flag || word.starts_with(&format!("{flag}="))));
            missing.extend(flags.into_iter().filter(|flag| !uses(flag)).map(|flag| format!("galley {} {flag}", words.join(" "))));
        }
        nouns.extend(commands.into_iter().map(|command| [words.clone(), vec![&*command.leak()]].concat()));
    }
    missing
}

/// The commands that a help text lists.
fn commands_of(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What is further in continues a description.
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The flags that a help text lists, but for those that every command has.
fn flags_of(help: &str) -> Vec<String> {
    let flags = help.lines().skip_while(|line| *line != "Options:").map(str::trim_start).filter(|line| line.starts_with("--"));
    let flags = flags.map(|line| line.split([' ', '=', '[']).next().unwrap_or_default().to_owned());
    flags.filter(|flag| !["--db", "--socket"].contains(&flag.as_str())).collect()
}
