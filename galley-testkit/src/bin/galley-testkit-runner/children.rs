//! Processes the runner leaves behind. They are this same program in another mode, so that a test
//! needs no other program and knows them by name.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{self, Command, Stdio};
use std::time::Duration;
use std::{env, thread};

const SLEEP: &str = "--child-sleep";
const ECHO: &str = "--child-echo";
const ESCAPE: &str = "--child-escape";

/// What a child does.
#[derive(Debug)]
pub enum Child {
    /// Sleeps.
    Sleep(Duration),
    /// Writes a line to the stdout it inherited.
    Echo(String),
    /// Leaves the session, starts a sleeper, says its pid and ends, so that nothing but the
    /// environment ties the sleeper to the runner.
    Escape(String),
}

impl Child {
    pub fn from_arguments(arguments: &[String]) -> Option<Self> {
        match arguments {
            [mode, seconds] if mode == SLEEP => Some(Self::Sleep(Duration::from_secs(seconds.parse().ok()?))),
            [mode, text] if mode == ECHO => Some(Self::Echo(text.clone())),
            [mode, seconds] if mode == ESCAPE => Some(Self::Escape(seconds.clone())),
            _ => None,
        }
    }

    pub fn run(self) -> io::Result<()> {
        match self {
            Self::Sleep(time) => thread::sleep(time),
            Self::Echo(text) => io::stdout().write_all(format!("{text}\n").as_bytes())?,
            Self::Escape(seconds) => {
                leave_session()?;
                let sleeper = start(&[SLEEP, &seconds], Stdio::null(), Stdio::null())?;
                io::stdout().write_all(format!("{}\n", sleeper.id()).as_bytes())?;
            }
        }
        Ok(())
    }
}

/// Starts a sleeper in the runner's group; returns its pid. With `holding`, it keeps the runner's
/// stdout and stderr.
pub fn sleep(seconds: u64, holding: bool) -> io::Result<u32> {
    let pipe = || if holding { Stdio::inherit() } else { Stdio::null() };
    // Not waited for: it is meant to outlive the step, and whoever cleans up reaps it.
    Ok(start(&[SLEEP, &seconds.to_string()], pipe(), pipe())?.id())
}

/// Starts a sleeper that nothing but its environment ties to the runner; returns its pid.
pub fn escape(seconds: u64) -> io::Result<u32> {
    let mut child = start(&[ESCAPE, &seconds.to_string()], Stdio::piped(), Stdio::inherit())?;
    let mut pid = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut pid)?;
    }
    child.wait()?;
    pid.trim().parse().map_err(|_| io::Error::other("the escaping child did not say its pid"))
}

/// Has a child write `text` to the runner's stdout.
pub fn echo(text: &str) -> io::Result<()> {
    start(&[ECHO, text], Stdio::inherit(), Stdio::inherit())?.wait().map(drop)
}

fn start(arguments: &[&str], stdout: Stdio, stderr: Stdio) -> io::Result<process::Child> {
    Command::new(env::current_exe()?).args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn()
}

#[cfg(unix)]
fn leave_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

#[cfg(windows)]
fn leave_session() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
