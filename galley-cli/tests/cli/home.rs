//! A place of its own for each test: database, socket, and the programs started there.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub struct Home {
    directory: tempfile::TempDir,
    serving: Option<Child>,
}

impl Home {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), serving: None }
    }

    /// A home with a running `galley serve`.
    pub fn serving() -> Self {
        let mut home = Self::new();
        home.serve();
        home
    }

    /// A home whose agent is the runner of the testkit, with a running `galley serve`.
    pub fn serving_testkit() -> Self {
        let mut home = Self::new();
        let runner = galley_testkit::runner_path().unwrap();
        home.galley(&["runtime", "add", "testkit", "--command", &shell_words::quote(runner.to_str().unwrap())]).row();
        home.galley(&["runtime", "use", "testkit"]).row();
        home.serve();
        home
    }

    /// Repeats a command until its one row is right.
    pub fn until(&self, args: &[&str], right: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let row = self.galley(args).row();
            if right(&row) {
                return row;
            }
            assert!(Instant::now() < deadline, "{args:?} stays at {row}");
        }
    }

    /// Starts `galley serve`.
    pub fn serve(&mut self) {
        let mut child = self.command(&["serve"]).stderr(Stdio::piped()).spawn().unwrap();
        // Its first words say that it listens.
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        assert!(line.contains("serves"), "{line}");
        std::thread::spawn(move || stderr.lines().for_each(drop));
        self.serving = Some(child);
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("core.sock")
    }

    pub fn listen(&self) -> UnixListener {
        UnixListener::bind(self.socket()).unwrap()
    }

    /// `galley` with these words, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_galley"));
        command.args(args).current_dir(self.directory()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("GALLEY_DB_PATH", self.directory.path().join("workbench.db"));
        command.env("GALLEY_SOCKET_PATH", self.socket());
        command
    }

    pub fn galley(&self, args: &[&str]) -> Done {
        Done::from(self.command(args).output().unwrap())
    }

    /// The process id of the running `galley serve`.
    pub fn serving_pid(&self) -> u32 {
        self.serving.as_ref().unwrap().id()
    }

    /// Waits for `galley serve` to end and returns its exit code.
    pub fn served(&mut self) -> Option<i32> {
        self.serving.take().unwrap().wait().unwrap().code()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Some(mut child) = self.serving.take() {
            self.galley(&["core", "shutdown"]);
            child.wait().ok();
        }
    }
}

/// A program that ended.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self { code: output.status.code(), stdout: String::from_utf8(output.stdout).unwrap(), stderr: String::from_utf8(output.stderr).unwrap() }
    }
}

impl Done {
    /// The lines, each one JSON object; the program ended well and said nothing else.
    pub fn rows(&self) -> Vec<Value> {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{self:?}");
        assert!(self.stdout.is_empty() || self.stdout.ends_with('\n'));
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The one line.
    pub fn row(&self) -> Value {
        let mut rows = self.rows();
        assert_eq!(rows.len(), 1, "{self:?}");
        rows.remove(0)
    }

    /// The error line of a command that failed, in both of its shapes.
    pub fn error(&self) -> (String, String) {
        assert_eq!((self.stdout.lines().count(), self.stderr.as_str()), (1, ""), "{self:?}");
        let line: Value = serde_json::from_str(&self.stdout).unwrap();
        assert_eq!(line["message"], line["detail"]["message"], "{line}");
        (line["error"].as_str().unwrap().to_owned(), line["message"].as_str().unwrap().to_owned())
    }
}

/// A Core of one connection: answers each request line with the next of `answers`.
pub fn answer(listener: UnixListener, answers: Vec<String>) -> std::thread::JoinHandle<Vec<Value>> {
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        answers.into_iter().map(|answer| respond(&mut reader, &stream, &answer)).collect()
    })
}

fn respond(reader: &mut BufReader<UnixStream>, mut stream: &UnixStream, answer: &str) -> Value {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let request: Value = serde_json::from_str(&line).unwrap();
    let answer = answer.replace("\"ID\"", &request["requestId"].to_string());
    std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
    request
}
