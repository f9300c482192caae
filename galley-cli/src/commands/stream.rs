//! What the commands that stream have in common.

use crate::engine::Engine;
use crate::output::{Failure, Output};
use bytes::Bytes;
use futures::FutureExt;
use galley_client::protocol::socket::StreamCommand;
use galley_client::{Error, Frames};
use serde::Deserialize;

/// Prints a stream that the database's file can serve too.
pub async fn print<C: StreamCommand + Clone + 'static>(command: C, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    until_interrupted(async {
        let (first, mut frames) = engine.open(command).await?;
        output.line(&first)?;
        output.flush()?;
        if is_end(&first) {
            return Ok(());
        }
        copy(&mut frames, output).await
    })
    .await
}

/// Prints a stream that only a running Core can serve.
pub async fn print_live<C: StreamCommand + 'static>(command: C, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    until_interrupted(async {
        let mut frames = engine.core().await?.frames(command).await?;
        copy(&mut frames, output).await
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

/// Prints the frames as they were received, up to the end frame.
async fn copy(frames: &mut Frames, output: &mut Output) -> Result<(), Failure> {
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
    if is_end(&last) {
        return Ok(());
    }
    Err(Error::Unavailable("Galley Core went away before the stream's end; start it with `galley serve`".to_owned()).into())
}

fn is_end(frame: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        stream: std::borrow::Cow<'a, str>,
    }
    serde_json::from_slice::<Kind<'_>>(frame).is_ok_and(|kind| kind.stream == "end")
}
