//! What a session tells.

use crate::commands::stream;
use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::Args;
use galley_client::protocol::socket::{SessionFollow, SessionWait, SessionWatch, WatchFrom};

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// The session's id
    id: String,
    /// Where to start: an event's index, now, run or start [default: live events only]
    #[arg(long, value_name = "FROM")]
    from: Option<WatchFrom>,
    /// Keep watching across runners
    #[arg(long)]
    stay: bool,
}

#[derive(Debug, Args)]
pub struct FollowArgs {
    /// The session's id
    id: String,
    /// Only the last N messages in each snapshot
    #[arg(long, value_name = "N")]
    tail: Option<u32>,
}

#[derive(Debug, Args)]
pub struct WaitArgs {
    /// The session's id
    id: String,
    /// Seconds until the wait gives up [default: 300]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Seconds between two looks at the database, at most [default: 5]
    #[arg(long, value_name = "SECONDS")]
    poll: Option<f64>,
    /// Messages in each payload [default: 20]
    #[arg(long, value_name = "N")]
    tail: Option<u32>,
    /// Messages in the last payload too [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    final_show: Option<bool>,
    /// Only answers of this turn or later
    #[arg(long, value_name = "TURN")]
    after_turn: Option<u32>,
    /// Wait for the end of this message's run
    #[arg(long, value_name = "MESSAGE")]
    message: Option<String>,
    /// Wait for the end of everything the session has in hand
    #[arg(long)]
    until_idle: bool,
}

impl WatchArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        let watch = SessionWatch { session_id: self.id, from: self.from, stay: self.stay.then_some(true) };
        stream::print_live(watch, engine, output).await
    }
}

impl FollowArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        stream::print(SessionFollow { session_id: self.id, tail: self.tail }, engine, output).await
    }
}

impl WaitArgs {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        for (name, seconds) in [("--timeout", self.timeout), ("--poll", self.poll)] {
            if seconds.is_some_and(|seconds| !seconds.is_finite() || seconds < 0.0) {
                return Err(Failure::invalid_args(format!("{name} takes a number of seconds from 0 up")));
            }
        }
        let wait = SessionWait {
            session_id: self.id,
            timeout: self.timeout,
            poll: self.poll.map(|poll| poll.max(1.0)),
            tail: self.tail,
            final_show: self.final_show,
            after_turn: self.after_turn,
            message_id: self.message,
            until_idle: self.until_idle.then_some(true),
        };
        stream::print(wait, engine, output).await
    }
}
