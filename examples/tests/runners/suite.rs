//! The suite for authors of runners.

use crate::{probes, word_counts};
use galley_testkit::conformance::{Options, Program, check};
use std::fs;

fn task(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn every_sdk_passes_every_check() {
    for probe in probes() {
        let options = Options {
            task: "hello".into(),
            approval: task("approval"),
            question: task("question"),
            long: task("long"),
            print: task("print"),
            ..Options::default()
        };
        let report = check(&probe, &options);
        assert!(report.passed() && report.skipped().count() == 0, "{probe:?}\n{report}");
    }
}

#[test]
fn the_examples_pass() {
    for command in word_counts() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        fs::write(&text, "to be or not to be").unwrap();
        let text = text.to_str().unwrap();
        let options = Options { task: text.to_owned(), approval: task(text), question: task(text), ..Options::default() };
        let report = check(&Program::new(command.clone()), &options);
        assert!(report.passed(), "{command:?}\n{report}");
        assert_eq!(report.skipped().collect::<Vec<_>>(), ["stdout", "abort.work", "models", "models.busy"], "{command:?}\n{report}");
    }
}
