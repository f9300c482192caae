//! The local socket: bound once, for this user only, and taken away only if it is still ours.

use super::connection::serve;
use super::link::SocketLink;
use crate::core::Inner;
use crate::error::Error;
use crate::paths;
use crate::runner::{Descriptors, Listed};
use interprocess::local_socket::tokio::{Listener, Stream};
use interprocess::local_socket::traits::tokio::Listener as _;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinHandle;

/// After an accept that failed (no descriptors left, for example).
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// The socket of a Core.
#[derive(Debug)]
pub struct SocketServer {
    path: PathBuf,
    /// What was bound, so that only it is taken away.
    bound: platform::Bound,
    listener: Option<Listener>,
    accepting: Option<JoinHandle<()>>,
}

impl SocketServer {
    /// Binds `path`. A stale socket (nobody listens) is replaced; one that somebody listens on, or
    /// that another user owns, is refused.
    ///
    /// # Errors
    /// [`Error::InvalidArgs`] for a path that cannot be a socket's; [`Error::DbUnavailable`] when
    /// the socket is taken or cannot be bound; both say what would help.
    pub fn bind(path: &Path) -> Result<Self, Error> {
        paths::check_socket(path)?;
        platform::clear(path)?;
        let name = path.to_fs_name::<GenericFilePath>().map_err(|error| cannot_bind(path, &error))?;
        let options = platform::private(ListenerOptions::new().name(name).reclaim_name(false));
        let listener = options.create_tokio().map_err(|error| cannot_bind(path, &error))?;
        Ok(Self { path: path.to_owned(), bound: platform::Bound::of(path), listener: Some(listener), accepting: None })
    }

    /// Starts to accept.
    pub fn serve(&mut self, core: &Arc<Inner>) {
        if let Some(listener) = self.listener.take() {
            let listed = platform::list_listener(core.descriptors(), &listener);
            self.accepting = Some(core.handle().spawn(accept(listener, Arc::downgrade(core), listed)));
        }
    }

    /// Stops to accept and takes the socket away.
    pub async fn close(mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            // Aborted is what it should be.
            let _ = accepting.await;
        }
    }
}

impl Drop for SocketServer {
    fn drop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
        }
        self.bound.remove(&self.path);
    }
}

/// What is passed last is dropped first: the listener is not listed any more when it is closed.
async fn accept(listener: Listener, core: Weak<Inner>, _listed: Option<Listed>) {
    loop {
        match listener.accept().await {
            Ok(stream) => {
                let Some(core) = core.upgrade() else { return };
                if let Err(error) = platform::check_peer(&stream) {
                    tracing::warn!(%error, "a connection was refused");
                    continue;
                }
                let handle = core.handle().clone();
                let listed = platform::list_stream(core.descriptors(), &stream);
                handle.spawn(serve(SocketLink::new(stream, listed), core));
            }
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

fn cannot_bind(path: &Path, error: &io::Error) -> Error {
    Error::DbUnavailable(format!("cannot listen on {}: {error}; GALLEY_SOCKET_PATH or --socket name another place", path.display()))
}

#[cfg(unix)]
mod platform {
    use super::{Descriptors, Error, Listed, Listener, ListenerOptions, Path, Stream, cannot_bind, io};
    use interprocess::local_socket::traits::StreamCommon as _;
    use interprocess::os::unix::local_socket::ListenerOptionsExt as _;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::os::unix::net::UnixStream;

    /// Only this user may connect. The mode is given to the socket as it is made, never through
    /// the process-wide umask.
    pub fn private(options: ListenerOptions<'_>) -> ListenerOptions<'_> {
        options.mode(0o600)
    }

    /// Makes way for a socket of ours: nothing there, or one that nobody listens on any more.
    pub fn clear(path: &Path) -> Result<(), Error> {
        let found = match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(cannot_bind(path, &error)),
            Ok(found) => found,
        };
        let refuse = |why: String| Err(Error::DbUnavailable(format!("{} {why}; set GALLEY_SOCKET_PATH to another place", path.display())));
        if found.uid() != rustix::process::geteuid().as_raw() {
            return refuse(format!("belongs to user {}, not to you", found.uid()));
        }
        if !found.file_type().is_socket() {
            return refuse("exists and is no socket".to_owned());
        }
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            // Gone meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            // Somebody is there, even if too busy to answer.
            Ok(_) | Err(_) => return refuse("is in use by another Galley Core".to_owned()),
        }
        // Only what was looked at is removed: another Core may have bound the name since.
        let still = std::fs::symlink_metadata(path).is_ok_and(|now| (now.dev(), now.ino()) == (found.dev(), found.ino()));
        if still && let Err(error) = std::fs::remove_file(path) {
            return Err(cannot_bind(path, &error));
        }
        Ok(())
    }

    /// The peer must be the same user.
    pub fn check_peer(stream: &Stream) -> Result<(), String> {
        let peer = stream.peer_creds().map_err(|error| format!("cannot tell who the peer is: {error}"))?;
        let own = rustix::process::geteuid().as_raw();
        match peer.euid() {
            Some(uid) if uid == own => Ok(()),
            Some(uid) => Err(format!("the peer is user {uid}, not {own}")),
            None => Err("the system does not tell who the peer is".to_owned()),
        }
    }

    /// Lists a listener among what a forked child lets go of.
    pub fn list_listener(descriptors: &Descriptors, listener: &Listener) -> Option<Listed> {
        match listener {
            Listener::UdSocket(listener) => Some(descriptors.list(&listener.as_fd())),
        }
    }

    /// The same for a connection.
    pub fn list_stream(descriptors: &Descriptors, stream: &Stream) -> Option<Listed> {
        match stream {
            Stream::UdSocket(stream) => Some(descriptors.list(&stream.as_fd())),
        }
    }

    /// The inode that was bound.
    #[derive(Debug)]
    pub struct Bound(Option<(u64, u64)>);

    impl Bound {
        pub fn of(path: &Path) -> Self {
            Self(std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino())))
        }

        /// Removes the socket if it is still the one that was bound.
        pub fn remove(&self, path: &Path) {
            let now = std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
            if now.is_some() && now == self.0 {
                // Left behind, it is found stale by the next Core.
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

#[cfg(windows)]
mod platform {
    use super::{Descriptors, Error, Listed, Listener, ListenerOptions, Path, Stream};

    /// Nothing forks here.
    pub fn list_listener(_descriptors: &Descriptors, _listener: &Listener) -> Option<Listed> {
        None
    }

    /// Nothing forks here.
    pub fn list_stream(_descriptors: &Descriptors, _stream: &Stream) -> Option<Listed> {
        None
    }

    /// A pipe's default security lets in its owner and administrators.
    pub fn private(options: ListenerOptions<'_>) -> ListenerOptions<'_> {
        options
    }

    /// Pipes vanish with their owner: there is nothing stale to remove.
    pub fn clear(_path: &Path) -> Result<(), Error> {
        Ok(())
    }

    /// The pipe's own security has decided already.
    pub fn check_peer(_stream: &Stream) -> Result<(), String> {
        Ok(())
    }

    /// Nothing to take away.
    #[derive(Debug)]
    pub struct Bound;

    impl Bound {
        pub fn of(_path: &Path) -> Self {
            Self
        }

        pub fn remove(&self, _path: &Path) {}
    }
}
