//! `galley run`: one task, for a person.

mod prompt;
mod screen;
mod view;

use crate::commands::session::directory;
use crate::engine::{Engine, as_client_error};
use crate::output::Failure;
use clap::Args;
use galley_client::protocol::socket::{ApprovalMode, NewSession, SessionNew, StatusGet};
use galley_client::{Client, Error};
use screen::Screen;
use std::time::Duration;
use view::View;

/// Between two looks at whether an embedded Core is still needed.
const STILL_NEEDED: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  galley run --auto \"echo hello\"

Exit code: the command's own when the run completed, 126 when it was denied,
5 when the runner failed, 130 when it was stopped.")]
pub struct RunArgs {
    /// What to do; for the built-in shell, a command line
    task: String,
    /// The agent: current, managed, external, or a runtime's name [default: current]
    #[arg(long, value_name = "RUNTIME")]
    runtime: Option<String>,
    /// Run without asking for approval
    #[arg(long)]
    auto: bool,
}

/// Runs the task and returns the exit code.
pub async fn run(args: RunArgs, engine: &Engine) -> i32 {
    let mut screen = Screen::new();
    if let Some(client) = engine.running().await {
        return task(args, client, &mut screen).await;
    }
    let core = match engine.embed().await {
        Ok(core) => core,
        Err(error) => return complain(&mut screen, &as_client_error(&error)),
    };
    let client = core.client();
    let code = task(args, &client, &mut screen).await;
    finish_others(&client, &mut screen).await;
    core.shutdown().await;
    code
}

async fn task(args: RunArgs, client: &Client, screen: &mut Screen) -> i32 {
    let cwd = match directory(None) {
        Ok(cwd) => cwd,
        Err(Failure::Error(error)) => return complain(screen, &error),
        Err(Failure::Closed) => return 0,
    };
    let new = SessionNew {
        task: args.task,
        runtime: args.runtime,
        approval_mode: args.auto.then_some(ApprovalMode::Auto),
        cwd: Some(cwd),
        ..SessionNew::default()
    };
    match client.sessions().create(new).await {
        Ok(NewSession { session, message, warning, .. }) => {
            if let Some(warning) = warning {
                screen.say(&format!("warning: {}", warning.message));
            }
            View::new(client, screen, session.id, message.id).run().await
        }
        Err(error) => complain(screen, &error),
    }
}

/// Other terminals may have given this Core work of their own: it stays until that is done.
async fn finish_others(client: &Client, screen: &mut Screen) {
    let mut told = false;
    while client.call(StatusGet {}).await.is_ok_and(|status| status.live.is_some_and(|live| live.busy > 0)) {
        if !std::mem::replace(&mut told, true) {
            screen.say("other sessions of this Galley Core are still busy; waiting for them (Ctrl-C stops them)");
        }
        tokio::select! {
            () = tokio::time::sleep(STILL_NEEDED) => {}
            _ = tokio::signal::ctrl_c() => return,
        }
    }
}

/// Says what went wrong and returns the exit code.
fn complain(screen: &mut Screen, error: &Error) -> i32 {
    screen.say(&format!("galley: {error}"));
    if let Error::Api { detail: Some(detail), .. } = error {
        for line in detail["stderrTail"].as_array().into_iter().flatten().filter_map(|line| line.as_str()) {
            screen.say(&format!("  {line}"));
        }
    }
    error.tag().exit_code().into()
}
