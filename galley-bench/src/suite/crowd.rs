//! Many sessions with a runner each.

use super::Effort;
use super::core_process::CoreProcess;
use super::event_path::{receive, script};
use super::figure::{Figure, Target};
use super::place::Place;
use super::samples::Samples;
use super::wire::request;
use anyhow::{Result, anyhow};
use memchr::memmem;
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two events of one session of a crowd.
const GAP: Duration = Duration::from_millis(200);
/// Runners of the Core that is shut down.
const RUNNERS: usize = 20;

/// Time from a runner's write to the watcher's read when very many stream at once.
pub fn streams(effort: Effort) -> Result<Vec<Figure>> {
    let (sessions, events) = (effort.times(500), 50);
    let place = Place::new()?;
    place.configure()?;
    let core = CoreProcess::start(&place)?;
    let mut requests = core.connect()?;
    let mut watchers = Vec::new();
    for _ in 0..sessions {
        let session = core.session()?;
        let mut watch = core.connect()?;
        watch.send(&request("session.watch", &json!({ "sessionId": session, "from": "now" })))?;
        watch.line()?;
        watchers.push((session, watch));
    }
    let mut receiving = Vec::new();
    for (session, mut watch) in watchers {
        requests.call("session.send", &json!({ "sessionId": session, "content": script(events, GAP) }))?;
        receiving.push(thread::spawn(move || receive(&mut watch, events)));
    }
    let mut delays = Vec::new();
    for received in receiving {
        delays.extend(received.join().map_err(|_| anyhow!("a watcher panicked"))??.delays());
    }
    let delays = Samples::from_iter(delays);
    let name = |percent| format!("{sessions} sessions stream at once, p{percent}");
    Ok(vec![Figure::new(name(50), "ms", delays.millis(50)), Figure::new(name(99), "ms", delays.millis(99)).target(Target::AtMost(50.0))])
}

/// Time from the request to shut down to the end of the process.
pub fn shutdown(_: Effort) -> Result<Vec<Figure>> {
    let place = Place::new()?;
    place.configure()?;
    let core = CoreProcess::start(&place)?;
    for _ in 1..RUNNERS {
        core.session()?;
    }
    let wedged = core.session()?;
    let mut watch = core.connect()?;
    watch.send(&request("session.watch", &json!({ "sessionId": wedged, "from": "now" })))?;
    core.connect()?.call("session.send", &json!({ "sessionId": wedged, "content": "!ignore_stdin_eof; silence wedged" }))?;
    while memmem::find(watch.line()?, b"wedged").is_none() {}
    let begun = Instant::now();
    core.end()?;
    Ok(vec![Figure::new("shutdown with 20 runners, one wedged", "s", begun.elapsed().as_secs_f64()).target(Target::AtMost(2.5))])
}
