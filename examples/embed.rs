//! Embeds an engine, runs one task in it, and answers the agent's requests for approval by a rule
//! of its own: commands that only print are allowed, everything else is denied.
//!
//! ```sh
//! cargo run -p galley-examples --bin embed -- "echo hello"
//! ```

#![allow(clippy::print_stdout, reason = "a program for people at a terminal")]

use galley_client::{WatchItem, WatchOptions};
use galley_core::Core;
use galley_protocol::ipc::{Decision, Event};
use galley_protocol::socket::{SessionNew, WatchFrom};
use std::error::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let task = std::env::args().nth(1).unwrap_or_else(|| "echo hello".to_owned());
    let core = Core::builder().start().await?;
    let client = core.client();

    let session = client.sessions().create(SessionNew { task, ..SessionNew::default() }).await?.session;
    let options = WatchOptions { from: Some(WatchFrom::Start), ..WatchOptions::default() };
    let mut watch = client.session(&session.id).watch(options);
    while let Some(item) = watch.next().await {
        let WatchItem::Event(event) = item? else { continue };
        match event.decode()? {
            Event::TurnProgress(progress) => print!("{}", progress.delta),
            Event::ToolCallPending(call) => {
                let preview = call.args_preview.unwrap_or_default();
                let decision = if preview.starts_with("echo ") { Decision::AllowOnce } else { Decision::Deny };
                client.approvals().respond(event.approval.unwrap_or_default(), decision).await?;
            }
            Event::RunComplete(complete) => {
                println!("ended with {}", complete.exit_reason.result);
                break;
            }
            _ => {}
        }
    }
    core.shutdown().await;
    Ok(())
}
