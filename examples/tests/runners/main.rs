//! The runner SDK in its three languages: the suite for authors of runners, what the SDKs promise
//! beyond it, and the examples through a real engine.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod engine;
mod parity;
mod suite;

use galley_testkit::conformance::Program;
use std::path::{Path, PathBuf};

/// A file of the examples' folder.
fn file(path: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    path.to_str().expect("the checkout's path is UTF-8").to_owned()
}

/// The commands of one agent in Rust, Python and JavaScript; the latter two are at `path` with the
/// language's ending.
fn in_three_languages(rust: &str, path: &str) -> [Vec<String>; 3] {
    let command = |words: [&str; 2]| words.map(str::to_owned).to_vec();
    let (python, javascript) = (file(&format!("{path}.py")), file(&format!("{path}.mjs")));
    [vec![rust.to_owned()], command(["python3", &python]), command(["node", &javascript])]
}

fn probes() -> [Program; 3] {
    in_three_languages(env!("CARGO_BIN_EXE_probe"), "tests/agents/probe").map(Program::new)
}

/// The commands of the word count.
fn word_counts() -> [Vec<String>; 3] {
    in_three_languages(env!("CARGO_BIN_EXE_runner"), "runner")
}
