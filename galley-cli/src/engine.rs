//! Where answers come from: the Core behind the socket, the database's file, or a Core of our own.

use crate::args::Global;
use galley_client::protocol::socket::{Access, Command, CoreInfoGet, Ping, StreamCommand};
use galley_client::{Answer, Client, Error, Frames, SocketTransport};
use galley_core::{Core, paths};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::OnceCell;

/// How long a Core that does not answer keeps a read from the file.
const WEDGED: Duration = Duration::from_secs(3);

/// The Galley this command line is about.
pub struct Engine {
    socket: PathBuf,
    database: Option<PathBuf>,
    /// The database was named and the socket was not: the Core that listens may be another's.
    doubtful: bool,
    client: Client,
    checked: OnceCell<()>,
}

impl Engine {
    pub fn new(global: Global) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let doubtful = (global.db.is_some() || set("GALLEY_DB_PATH")) && global.socket.is_none() && !set("GALLEY_SOCKET_PATH");
        let socket = global.socket.unwrap_or_else(SocketTransport::default_path);
        let client = Client::new(SocketTransport::new(&socket));
        Self { socket, database: global.db, doubtful, client, checked: OnceCell::new() }
    }

    /// The running Core.
    pub async fn core(&self) -> Result<&Client, Error> {
        if self.doubtful {
            self.checked.get_or_try_init(|| self.check()).await?;
        }
        Ok(&self.client)
    }

    /// The running Core, if there is one.
    pub async fn running(&self) -> Option<&Client> {
        let client = self.core().await.ok()?;
        client.call(Ping {}).await.is_ok().then_some(client)
    }

    /// Makes sure that the Core that listens is the one of the database that was named.
    async fn check(&self) -> Result<(), Error> {
        let asked = self.database()?;
        let served = PathBuf::from(self.client.call(CoreInfoGet {}).await?.paths.db);
        let same = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if same(&asked) == same(&served) {
            return Ok(());
        }
        Err(Error::Unavailable(format!(
            "the Galley Core at {} serves {}, not {}; start one for it with `galley serve --db FILE --socket PATH`, and name that socket",
            self.socket.display(),
            served.display(),
            asked.display()
        )))
    }

    /// Carries out a command; a read from the file when there is no Core that answers.
    pub async fn answer<C: Command + Clone + 'static>(&self, command: C) -> Result<Answer, Error> {
        let ask = async { self.core().await?.answer(command.clone()).await };
        if C::ACCESS == Access::Core {
            return ask.await;
        }
        // What starts an agent takes its time.
        let patience = if C::ACCESS == Access::Config { Duration::MAX } else { WEDGED };
        match tokio::time::timeout(patience, ask).await {
            Err(_) | Ok(Err(Error::Unavailable(_) | Error::TimedOut(_))) => self.file()?.answer(command).await,
            Ok(answer) => answer,
        }
    }

    /// Opens a stream whose first frame comes at once, and returns that frame; from the file when
    /// there is no Core that answers.
    pub async fn open<C: StreamCommand + Clone + 'static>(&self, command: C) -> Result<(bytes::Bytes, Frames), Error> {
        let open = async |client: &Client| {
            let mut frames = client.frames(command.clone()).await?;
            match frames.next().await {
                Some(first) => Ok((first?, frames)),
                None => Err(Error::Unavailable("the connection was closed before the first frame".to_owned())),
            }
        };
        match tokio::time::timeout(WEDGED, async { open(self.core().await?).await }).await {
            Err(_) | Ok(Err(Error::Unavailable(_) | Error::TimedOut(_))) => open(&self.file()?).await,
            Ok(opened) => opened,
        }
    }

    /// A Core of this process. It listens too, so that other terminals can take part, unless its
    /// socket is another's.
    pub async fn embed(&self) -> Result<Core, galley_core::Error> {
        let mut builder = Core::builder().database(self.database.clone().map_or_else(paths::default_database, Ok)?);
        let taken = self.doubtful && self.client.call(Ping {}).await.is_ok();
        if !taken && paths::check_socket(&self.socket).is_ok() {
            builder = builder.socket(&self.socket);
        }
        builder.start().await
    }

    /// The database.
    pub fn database(&self) -> Result<PathBuf, Error> {
        match &self.database {
            Some(path) => Ok(path.clone()),
            None => paths::default_database().map_err(|error| as_client_error(&error)),
        }
    }

    /// The socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The database's file, read only.
    fn file(&self) -> Result<Client, Error> {
        Ok(Client::new(galley_core::read_only_in_place(&self.database()?)))
    }
}

/// An error of Core as a client sees it.
pub fn as_client_error(error: &galley_core::Error) -> Error {
    Error::Api { tag: error.tag(), message: error.to_string(), detail: error.detail() }
}
