//! A server that answers every line with the line.

use anyhow::Result;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// Echoes until it is killed. On one thread and an event loop, because a server of many
/// connections cannot do with less.
pub fn serve(socket: &str) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = UnixListener::bind(socket)?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::spawn(echo(stream));
        }
    })
}

/// Ends with its connection.
async fn echo(mut stream: UnixStream) -> std::io::Result<()> {
    let (from, mut to) = stream.split();
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).await? > 0 {
        to.write_all(&line).await?;
        line.clear();
    }
    Ok(())
}
