//! The named pipe on Windows.

use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::windows::named_pipe::ClientOptions;

pub(super) use tokio::net::windows::named_pipe::NamedPipeClient as Stream;

/// The system's codes for a pipe that does not exist, whose instances are all taken, or that
/// belongs to somebody else.
const ERROR_FILE_NOT_FOUND: i32 = 2;
const ERROR_ACCESS_DENIED: i32 = 5;
const ERROR_PIPE_BUSY: i32 = 231;

pub(super) enum ConnectError {
    /// A Core is there, but all instances of its pipe are taken.
    Busy,
    /// It cannot be reached; the text says why and what helps.
    Failed(String),
}

pub(super) fn default_path() -> PathBuf {
    let user = std::env::var("USERNAME").unwrap_or_else(|_| "user".to_owned());
    PathBuf::from(format!(r"\\.\pipe\galley-{user}"))
}

pub(super) async fn connect(path: &Path) -> Result<Stream, ConnectError> {
    ClientOptions::new().open(path).map_err(|error| {
        ConnectError::Failed(match error.raw_os_error() {
            Some(ERROR_PIPE_BUSY) => return ConnectError::Busy,
            Some(ERROR_FILE_NOT_FOUND) => format!("no Galley Core listens at {}; start one with `galley serve`", path.display()),
            Some(ERROR_ACCESS_DENIED) => {
                format!("{} belongs to another user and is not used; set GALLEY_SOCKET_PATH to another pipe", path.display())
            }
            _ => format!("no Galley Core can be reached at {}: {error}; start one with `galley serve`", path.display()),
        })
    })
}

pub(super) fn split(stream: &mut Stream) -> (impl AsyncRead + Unpin + '_, impl AsyncWrite + Unpin + '_) {
    tokio::io::split(stream)
}
