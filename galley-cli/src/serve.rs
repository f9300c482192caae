//! `galley serve`: Galley Core as a program.

use crate::engine::Engine;
use crate::signals::Signals;
use clap::Args;
use galley_core::Core;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// How long a shutdown may take before the program ends regardless.
const SHUTDOWN: Duration = Duration::from_millis(2450);

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  galley serve --log=info")]
pub struct ServeArgs {
    /// The configuration [default: config.toml beside the database]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Live runners kept before the least recently used idle one is ended [default: 20]
    #[arg(long, value_name = "N")]
    max_live_runners: Option<usize>,
    /// What to log on standard error: error, warn, info, debug, trace, or a filter like galley_core=debug
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    log: EnvFilter,
}

/// Serves until a signal or `galley core shutdown`, and returns the exit code.
pub async fn serve(args: ServeArgs, engine: &Engine) -> i32 {
    let log = tracing_subscriber::fmt().with_env_filter(args.log).with_writer(std::io::stderr).with_ansi(false).try_init();
    if let Err(error) = log {
        say(&format!("no log: {error}"));
    }
    let mut stop = match Signals::new() {
        Ok(signals) => signals,
        Err(error) => return fail(&format!("signals cannot be handled: {error}"), 1),
    };
    let database = match engine.database() {
        Ok(database) => database,
        Err(error) => return fail(&error.to_string(), error.tag().exit_code()),
    };
    let mut builder = Core::builder().database(&database).socket(engine.socket());
    if let Some(config) = args.config {
        builder = builder.config(config);
    }
    if let Some(count) = args.max_live_runners {
        builder = builder.max_live_runners(count);
    }
    let core = match builder.start().await {
        Ok(core) => core,
        Err(error) => return fail(&error.to_string(), error.tag().exit_code()),
    };
    say(&format!("Galley Core (pid {}) serves {} at {}", std::process::id(), database.display(), engine.socket().display()));
    tokio::select! {
        _ = stop.arrived() => {}
        () = core.shutdown_requested() => {}
    }
    say("shutting down");
    if tokio::time::timeout(SHUTDOWN, core.shutdown()).await.is_err() {
        say("not everything ended in time; what is left is killed");
    }
    0
}

fn say(text: &str) {
    // Nobody to tell is no reason to end.
    let _ = writeln!(std::io::stderr(), "galley: {text}");
}

fn fail(text: &str, code: u8) -> i32 {
    say(text);
    code.into()
}
