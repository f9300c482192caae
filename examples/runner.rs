//! An agent for Galley: counts the words of a text file and offers to save the result beside it.
//!
//! ```sh
//! cargo build -p galley-examples
//! galley runtime add words --command "$PWD/target/debug/runner"
//! galley run --runtime words README.md
//! ```

use galley_client::runner::{self, AgentError, Context, RiskLevel, Task};
use serde_json::json;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;
use tokio::fs;

async fn words(task: Task, ctx: Context) -> Result<(), AgentError> {
    let path = PathBuf::from(task.text.trim());
    let call = ctx.tool("file_read", json!({ "path": path })).await;
    let text =
        fs::read_to_string(&path).await.map_err(|error| AgentError::new(format!("cannot read {}: {error}", path.display())).retryable(false))?;
    call.succeed(format!("{} characters", text.chars().count())).await;

    let how_many = ctx.ask("How many of the most frequent words?", &["3", "10"]).await;
    let mut counts = HashMap::<String, usize>::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    let mut common: Vec<_> = counts.into_iter().collect();
    common.sort_by(|(a, m), (b, n)| n.cmp(m).then(a.cmp(b)));
    common.truncate(how_many.trim().parse().unwrap_or(3));
    let report: Vec<_> = common.iter().map(|(word, times)| format!("- {word}: {times}")).collect();
    let report = report.join("\n");
    let name = path.file_name().unwrap_or(OsStr::new("The text")).display();
    ctx.progress(format!("{name} has {} words.\n\n{report}\n", text.split_whitespace().count())).await;

    let target = PathBuf::from(format!("{}.words", path.display()));
    let args = json!({ "path": target, "content": report });
    if ctx.approve("file_write", &args, RiskLevel::Medium, "Writes a file next to the one it read").await {
        let call = ctx.tool("file_write", args).await;
        fs::write(&target, format!("{report}\n")).await?;
        call.succeed(format!("{} characters written", report.chars().count())).await;
        ctx.progress(format!("\nSaved as {name}.words.")).await;
    } else {
        ctx.progress("\nNot saved.").await;
    }
    Ok(())
}

fn main() -> ExitCode {
    runner::run(words)
}
