//! Every example does what it says.

#![allow(clippy::unwrap_used)]

use std::process::Command;

fn embed(task: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_embed")).arg(task).env("GALLEY_DB_PATH", home.path().join("galley.db")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_embedded_engine_runs_what_its_rule_allows() {
    assert_eq!(embed("echo from the example"), "from the example\nended with CURRENT_TASK_DONE\n");
}

#[test]
fn and_denies_the_rest() {
    assert_eq!(embed("touch denied"), "ended with CURRENT_TASK_DONE\n");
}
