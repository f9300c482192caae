//! The socket on Unix.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncRead, AsyncWrite};

pub(super) use tokio::net::UnixStream as Stream;

/// Bytes of a socket's path the system has room for, its terminating zero left out.
const PATH_MAX: usize = if cfg!(any(target_os = "linux", target_os = "android")) { 107 } else { 103 };

pub(super) enum ConnectError {
    /// A listener is there, but its backlog is full.
    Busy,
    /// It cannot be reached; the text says why and what helps.
    Failed(String),
}

pub(super) fn default_path() -> PathBuf {
    let directory = super::variable("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
    directory.join(format!("galley-{}.sock", rustix::process::getuid().as_raw()))
}

pub(super) async fn connect(path: &Path) -> Result<Stream, ConnectError> {
    let length = path.as_os_str().as_bytes().len();
    if length > PATH_MAX {
        return Err(ConnectError::Failed(format!(
            "{}: a socket's path has at most {PATH_MAX} bytes and this one has {length}; set GALLEY_SOCKET_PATH to a shorter one",
            path.display()
        )));
    }
    let stream = Stream::connect(path).await.map_err(|error| explain(path, &error))?;
    let peer = stream.peer_cred().map_err(|error| explain(path, &error))?.uid();
    let own = rustix::process::geteuid().as_raw();
    if peer != own {
        return Err(ConnectError::Failed(foreign(path, peer, own)));
    }
    Ok(stream)
}

pub(super) fn split(stream: &mut Stream) -> (impl AsyncRead + Unpin + '_, impl AsyncWrite + Unpin + '_) {
    stream.split()
}

fn explain(path: &Path, error: &std::io::Error) -> ConnectError {
    let own = rustix::process::geteuid().as_raw();
    ConnectError::Failed(match error.kind() {
        ErrorKind::WouldBlock => return ConnectError::Busy,
        ErrorKind::NotFound => format!("no Galley Core listens at {}; start one with `galley serve`", path.display()),
        ErrorKind::ConnectionRefused => {
            format!("the Galley Core that listened at {} is gone; start one with `galley serve`", path.display())
        }
        ErrorKind::PermissionDenied => match std::fs::symlink_metadata(path) {
            Ok(metadata) if metadata.uid() != own => foreign(path, metadata.uid(), own),
            _ => format!("{}: {error}", path.display()),
        },
        _ => format!("no Galley Core can be reached at {}: {error}; start one with `galley serve`", path.display()),
    })
}

fn foreign(path: &Path, owner: u32, own: u32) -> String {
    format!(
        "{} belongs to user {owner}, not to you (user {own}), and is not used; set GALLEY_SOCKET_PATH to a path only you can write to",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_of_another_user_is_named_with_the_way_out() {
        let text = foreign(Path::new("/tmp/galley-1.sock"), 0, 1);
        assert!(text.starts_with("/tmp/galley-1.sock belongs to user 0") && text.contains("GALLEY_SOCKET_PATH"), "{text}");
    }
}
