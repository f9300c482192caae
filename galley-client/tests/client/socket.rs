use galley_client::protocol::socket::Ping;
use galley_client::{Client, Error, SocketTransport};

async fn refusal(path: impl Into<std::path::PathBuf>) -> String {
    match Client::new(SocketTransport::new(path)).call(Ping {}).await {
        Err(Error::Unavailable(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_missing_socket_names_the_command_that_makes_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("none.sock");
    let text = refusal(&path).await;
    assert!(text.contains("galley serve") && text.contains(path.to_str().unwrap()), "{text}");
}

#[tokio::test]
async fn a_stale_socket_is_told_from_a_missing_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stale.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let text = refusal(path).await;
    assert!(text.contains("is gone") && text.contains("galley serve"), "{text}");
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_is_refused_with_the_limit() {
    let text = refusal(format!("/tmp/{}.sock", "deep/".repeat(40))).await;
    assert!(text.contains("at most") && text.contains("GALLEY_SOCKET_PATH"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_listener_with_a_full_backlog_is_waited_for_and_then_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("full.sock");
    let socket = rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &rustix::net::SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    // Fills the backlog.
    let mut held = Vec::new();
    while let Ok(stream) = tokio::net::UnixStream::connect(&path).await {
        held.push(stream);
    }
    let text = refusal(path).await;
    assert!(text.contains("within 10 s"), "{text}");
}
