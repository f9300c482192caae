//! What the commands that stream have in common.

use crate::engine::Engine;
use crate::output::{Failure, Output};
use bytes::Bytes;
use futures::FutureExt;
use galley_client::protocol::socket::{EndReason, FollowFrame, SCHEMA_VERSION, SessionWait, StreamCommand};
use galley_client::{Error, Frames};
use serde::Deserialize;
use std::time::Instant;

/// Seconds until a wait gives up, unless told.
const DEFAULT_WAIT: f64 = 300.0;

/// Prints a stream from a snapshot on; it ends with `core_unavailable` when Core goes away (Agent
/// API §5.5c).
pub async fn follow<C: StreamCommand + Clone + 'static>(command: C, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    until_interrupted(async {
        let (first, mut frames) = engine.open(command).await?;
        if is_end(&print(first, output)?) || copy(&mut frames, output).await? {
            return Ok(());
        }
        let end = FollowFrame::End { schema_version: SCHEMA_VERSION, request_id: None, reason: EndReason::CoreUnavailable };
        output.line(&serde_json::to_vec(&end).map_err(std::io::Error::from)?)
    })
    .await
}

/// Prints a wait; when Core goes away, it goes on from the database's file (Agent API §5.5d).
pub async fn wait(mut command: SessionWait, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    let begun = Instant::now();
    let timeout = command.timeout.unwrap_or(DEFAULT_WAIT);
    until_interrupted(async {
        let (first, mut frames) = engine.open(command.clone()).await?;
        print(first, output)?;
        while !copy(&mut frames, output).await? {
            command.timeout = Some((timeout - begun.elapsed().as_secs_f64()).max(0.0));
            // Its first frame was printed when the wait began.
            (_, frames) = engine.open(command.clone()).await?;
        }
        Ok(())
    })
    .await
}

/// Prints a stream that only a running Core can serve.
pub async fn print_live<C: StreamCommand + 'static>(command: C, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    until_interrupted(async {
        let mut frames = engine.core().await?.frames(command).await?;
        if copy(&mut frames, output).await? {
            return Ok(());
        }
        Err(Error::Unavailable("Galley Core went away before the stream's end; start it with `galley serve`".to_owned()).into())
    })
    .await
}

/// Runs a stream command; an interrupt ends it well.
async fn until_interrupted(stream: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::select! {
        result = stream => result,
        Ok(()) = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// Prints a frame at once.
fn print(frame: Bytes, output: &mut Output) -> Result<Bytes, Failure> {
    output.line(&frame)?;
    output.flush()?;
    Ok(frame)
}

/// Prints the frames as they were received, up to the end frame; false if there was none.
async fn copy(frames: &mut Frames, output: &mut Output) -> Result<bool, Failure> {
    let mut last = Bytes::new();
    while let Some(frame) = frames.next().await {
        last = frame?;
        output.line(&last)?;
        // Whatever has arrived already goes out together.
        while let Some(Some(frame)) = frames.next().now_or_never() {
            last = frame?;
            output.line(&last)?;
        }
        output.flush()?;
    }
    Ok(is_end(&last))
}

fn is_end(frame: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        stream: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice::<Kind<'_>>(frame).is_ok_and(|kind| kind.stream == "end")
}
