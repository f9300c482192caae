//! An agent that does what the conformance suite asks for: its task's first word says what.

use galley_client::runner::{AgentError, Context, Model, RiskLevel, Runner, Task};
use serde_json::json;
use std::io::Write;
use std::process::{Command, ExitCode};
use std::time::Duration;

async fn probe(task: Task, ctx: Context) -> Result<String, AgentError> {
    match task.text.trim() {
        "approval" => {
            let args = json!({ "what": "paper" });
            if !ctx.approve("burn", &args, RiskLevel::High, "It is gone then").await {
                return Ok("kept".to_owned());
            }
            ctx.tool("burn", args).await.succeed("burnt").await;
        }
        "question" => return Ok(ctx.ask("Which?", &["red", "blue"]).await),
        "long" => {
            // A child that nobody waits for: it is the runner's to end.
            drop(Command::new("sleep").arg("600").spawn()?);
            ctx.progress("working").await;
            tokio::time::sleep(Duration::from_secs(600)).await;
        }
        "print" => {
            writeln!(std::io::stdout(), "from the agent")?;
            Command::new("echo").arg("from a child").status()?;
        }
        "fail" => return Err(AgentError::new("told to fail").hint("network")),
        "panic" => panic!("told to panic"),
        "stubborn" => {
            ctx.progress("deaf").await;
            std::thread::sleep(Duration::from_millis(4500));
        }
        "history" => return Ok(ctx.history().iter().map(|message| message.content.clone()).collect::<Vec<_>>().join(" | ")),
        "model" => return Ok(ctx.model().map(|model| model.name).unwrap_or_default()),
        "steps" => {
            ctx.progress("first").await;
            ctx.next_step(Some("one"), None).await;
            ctx.progress("second").await;
            return Ok(String::from("second"));
        }
        other => ctx.progress(format!("You said: {other}")).await,
    }
    Ok("done".to_owned())
}

fn main() -> ExitCode {
    let models = [Model::from("small"), Model { name: "big".to_owned(), display_name: Some("Big One".to_owned()) }];
    Runner::new(probe).models(models).side_question(async |question: String| Ok(format!("about {question}"))).run()
}
