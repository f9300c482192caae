//! A request over the socket, one at a time on one connection.

use super::Effort;
use super::core_process::CoreProcess;
use super::figure::{Figure, Target};
use super::place::{Place, program, session_id};
use super::samples::Samples;
use super::wire::{Wire, request};
use anyhow::{Context, Result};
use galley_client::protocol::socket::Ping;
use galley_client::{Client, SocketTransport};
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Requests in a row to one side before it is the other's turn, so that both see the same machine.
const TURN: usize = 500;
/// Sessions in the database.
const SESSIONS: usize = 10_000;

/// Round trips of cheap requests.
pub fn run(effort: Effort) -> Result<Vec<Figure>> {
    let place = Place::new()?;
    place.configure()?;
    place.fill(SESSIONS)?;
    let core = CoreProcess::start(&place)?;
    let mut ours = core.connect()?;
    let mut echo = Command::new(program("galley-bench-floor")?)
        .arg("echo")
        .arg(place.file("echo.sock"))
        .stdin(Stdio::null())
        .spawn()
        .context("cannot start the floor")?;
    let measured = Wire::connect(&place.file("echo.sock")).and_then(|mut floor| pings(effort, &core, &mut ours, &mut floor));
    echo.kill()?;
    echo.wait()?;
    let mut figures = measured?;

    let brief = request("session.brief", &json!({ "sessionId": session_id(SESSIONS / 2) }));
    let list = request("sessions.list", &json!({ "runtime": "all", "limit": 25 }));
    for (name, line) in [("session.brief", brief), ("sessions.list of 25 among 10,000", list)] {
        let samples = Samples::from_iter(round_trips(&mut ours, &line, effort.times(5_000))?);
        figures.push(Figure::new(format!("{name}, p50"), "µs", samples.micros(50)));
        figures.push(Figure::new(format!("{name}, p99"), "µs", samples.micros(99)));
    }
    Ok(figures)
}

fn pings(effort: Effort, core: &CoreProcess, ours: &mut Wire, floor: &mut Wire) -> Result<Vec<Figure>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let client = Client::new(SocketTransport::new(core.socket()));
    let line = request("ping", &json!({}));
    // The first exchanges open connections and warm caches.
    round_trips(ours, &line, TURN)?;
    round_trips(floor, &line, TURN)?;
    runtime.block_on(client_round_trips(&client, TURN))?;
    let (mut of_ours, mut of_floor, mut of_client) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.times(40) {
        of_ours.extend(round_trips(ours, &line, TURN)?);
        of_floor.extend(round_trips(floor, &line, TURN)?);
        of_client.extend(runtime.block_on(client_round_trips(&client, TURN))?);
    }
    let (ours, floor, client) = (Samples::from_iter(of_ours), Samples::from_iter(of_floor), Samples::from_iter(of_client));
    Ok(vec![
        Figure::new("ping over the socket, p50", "µs", ours.micros(50)).floor(floor.micros(50)).target(Target::RatioAtMost(1.5)),
        Figure::new("ping over the socket, p99", "µs", ours.micros(99)).floor(floor.micros(99)),
        Figure::new("ping with galley-client, p50", "µs", client.micros(50)).floor(floor.micros(50)),
        Figure::new("ping with galley-client, p99", "µs", client.micros(99)).floor(floor.micros(99)),
    ])
}

fn round_trips(wire: &mut Wire, line: &[u8], count: usize) -> Result<Vec<Duration>> {
    (0..count)
        .map(|_| {
            let begun = Instant::now();
            wire.exchange(line)?;
            Ok(begun.elapsed())
        })
        .collect()
}

async fn client_round_trips(client: &Client, count: usize) -> Result<Vec<Duration>> {
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        client.call(Ping {}).await?;
        samples.push(begun.elapsed());
    }
    Ok(samples)
}
