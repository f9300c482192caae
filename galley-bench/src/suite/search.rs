//! Search: any term, rare or in every message, among very many messages.

use super::Effort;
use super::core_process::CoreProcess;
use super::figure::{Figure, Target};
use super::place::{Place, message, session, session_id};
use super::samples::Samples;
use super::wire::request;
use anyhow::{Result, ensure};
use galley_core::Timestamp;
use galley_protocol::socket::MessageRole;
use serde_json::json;
use std::time::Instant;

/// Words that messages are made of, each about once in a few messages.
const WORDS: [&str; 12] =
    ["ndjson", "pipeline", "supervise", "测试", "报告", "figure", "migrate", "runner", "socket", "approval", "transcript", "résumé"];
/// Messages between two that hold the rare word.
const RARE: usize = 50_000;
/// What is searched for, and why.
const TERMS: [(&str, &str); 6] = [
    ("message", "in every message"),
    ("pipeline", "common"),
    ("zebra", "rare"),
    ("nowhere", "in none"),
    ("报告", "of two characters"),
    ("龍虎", "of two, in none"),
];

/// Times of searches.
pub fn run(effort: Effort) -> Result<Vec<Figure>> {
    let messages = effort.times(1_000_000);
    let place = Place::new()?;
    place.configure()?;
    place.write([session(0)])?;
    let item = |number: usize| {
        let word = |step| WORDS[(number / step + number) % WORDS.len()];
        let rare = if number.is_multiple_of(RARE) { "zebra" } else { "horse" };
        let text = format!("message {number}: {} {} {} {rare}", word(1), word(7), word(31));
        [message(&session_id(0), &format!("msg_found_{number}"), Timestamp::from_millis(number as i64), MessageRole::User, &text)]
    };
    place.write((0..messages).map(item))?;
    let core = CoreProcess::start(&place)?;
    let mut wire = core.connect()?;
    let mut figures = Vec::new();
    for (term, why) in TERMS {
        let line = request("sessions.search", &json!({ "query": term, "runtime": "all", "all": true }));
        let mut samples = Vec::new();
        for _ in 0..effort.times(200) {
            let begun = Instant::now();
            let answer = wire.exchange(&line)?;
            ensure!(answer.starts_with(b"{\"ok\":true"), "{}", String::from_utf8_lossy(answer));
            samples.push(begun.elapsed());
        }
        let name = format!("search of {messages} messages, {why}, p99");
        figures.push(Figure::new(name, "ms", Samples::from_iter(samples).millis(99)).target(Target::AtMost(20.0)));
    }
    Ok(figures)
}
