//! Starting: Core up to its first answer, and a command that reads the database without one.

use super::Effort;
use super::core_process::CoreProcess;
use super::figure::{Figure, Target};
use super::place::{Place, program, session_id};
use super::samples::Samples;
use super::wire::{Wire, request};
use anyhow::{Result, ensure};
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Sessions in the database.
const SESSIONS: usize = 10_000;

/// Times of processes that open an existing database.
pub fn run(effort: Effort) -> Result<Vec<Figure>> {
    let place = Place::new()?;
    place.configure()?;
    place.fill(SESSIONS)?;
    let (mut core, mut core_floor) = (Vec::new(), Vec::new());
    for _ in 0..effort.times(30) {
        core.push(first_answer_of_core(&place)?);
        core_floor.push(first_answer_of_floor(&place)?);
    }
    let (core, core_floor) = (Samples::from_iter(core), Samples::from_iter(core_floor));
    let start = Figure::new("start of Core to its first answer, p50", "ms", core.millis(50));
    let mut figures = vec![start.floor(core_floor.millis(50)).target(Target::AtMost(20.0))];

    let id = session_id(SESSIONS / 2);
    for (name, words) in
        [("galley sessions list --limit 25", &["sessions", "list", "--limit=25"][..]), ("galley session brief", &["session", "brief", &id])]
    {
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..effort.times(200) {
            ours.push(to_exit(galley(&place)?.args(words))?);
            floor.push(to_exit(Command::new(program("galley-bench-floor")?).arg("read").arg(place.database()))?);
        }
        let (ours, floor) = (Samples::from_iter(ours), Samples::from_iter(floor));
        let figure = Figure::new(format!("{name}, p50"), "ms", ours.millis(50));
        figures.push(figure.clone().target(Target::AtMost(10.0)));
        figures.push(figure.floor(floor.millis(50)).target(Target::RatioAtMost(2.0)));
    }
    Ok(figures)
}

fn first_answer_of_core(place: &Place) -> Result<Duration> {
    let begun = Instant::now();
    let core = CoreProcess::start(place)?;
    core.connect()?.call("status", &json!({}))?;
    Ok(begun.elapsed())
}

fn first_answer_of_floor(place: &Place) -> Result<Duration> {
    let begun = Instant::now();
    let mut child =
        Command::new(program("galley-bench-floor")?).arg("answer").args([place.socket(), place.database()]).stdin(Stdio::null()).spawn()?;
    let answered = Wire::connect(&place.socket()).and_then(|mut wire| wire.exchange(&request("status", &json!({}))).map(drop));
    let elapsed = begun.elapsed();
    if answered.is_err() {
        child.kill()?;
    }
    child.wait()?;
    answered.map(|()| elapsed)
}

/// `galley` without a Core to ask.
fn galley(place: &Place) -> Result<Command> {
    let mut command = Command::new(program("galley")?);
    command.arg("--db").arg(place.database()).arg("--socket").arg(place.file("nobody.sock"));
    Ok(command)
}

/// From a process's start to its end.
fn to_exit(command: &mut Command) -> Result<Duration> {
    let begun = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let elapsed = begun.elapsed();
    ensure!(output.status.success() && !output.stdout.is_empty(), "{command:?}: {}", String::from_utf8_lossy(&output.stdout));
    Ok(elapsed)
}
