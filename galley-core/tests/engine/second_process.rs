//! A Core in a process of its own, so that it can be killed, measured, or started under odd
//! conditions: the test binary runs itself once more as that process.

use crate::engine::{builder_in, database, socket};
use crate::wire::LIMIT;
use galley_client::{Client, SocketTransport};
use galley_core::Core;
use galley_core::runner::RunnerManager;
use galley_testkit::{marked_processes, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Where the second process finds its folder; that it is set makes it the second process.
const FOLDER: &str = "GALLEY_TEST_ENGINE_FOLDER";

/// Whether the second process forks.
pub const FORK: &str = "GALLEY_TEST_ENGINE_FORK";

/// What the second process is.
#[test]
fn a_core_until_stdin_ends() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let core = builder_in(Path::new(&folder)).start().await.unwrap();
        if std::env::var_os(FORK).is_some() {
            fork(&core, Path::new(&folder));
        }
        let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        ended.await.unwrap().unwrap();
        core.shutdown().await;
    });
}

/// Forks as some hosts do: the child executes nothing and lives on. Its process id is left in a file.
fn fork(core: &Core, folder: &Path) {
    // SAFETY: the child calls nothing but what is being tested, then sleeps until it is killed.
    match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Child => {
            core.after_fork_child();
            fs::write(folder.join("released"), "").unwrap();
            loop {
                std::thread::park();
            }
        }
        nix::unistd::ForkResult::Parent { child } => {
            wait_until(LIMIT, "the child lets go", || folder.join("released").exists()).unwrap();
            fs::write(folder.join("child"), child.to_string()).unwrap();
        }
    }
}

/// The second process, seen from the first.
pub struct SecondCore {
    process: Child,
}

impl SecondCore {
    pub fn start(dir: &TempDir) -> Self {
        Self::start_after(dir, "")
    }

    /// Runs some shell before the process becomes a Core.
    pub fn start_after(dir: &TempDir, shell: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{shell}\nexec \"$@\""), "sh"]).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "second_process::a_core_until_stdin_ends", "--nocapture"]).env(FOLDER, dir.path());
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let at = socket(dir);
        wait_until(LIMIT, "the second Core listens", || {
            assert!(process.try_wait().unwrap().is_none(), "the second Core ended at once");
            std::os::unix::net::UnixStream::connect(&at).is_ok()
        })
        .unwrap();
        Self { process }
    }

    pub fn client(&self, dir: &TempDir) -> Client {
        Client::new(SocketTransport::new(socket(dir)))
    }

    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Ends it politely; its tests must have passed.
    pub fn end(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }

    /// The most memory it ever had, in bytes.
    #[cfg(target_os = "linux")]
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }
}

impl Drop for SecondCore {
    fn drop(&mut self) {
        // It has ended already unless a test failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What every process carries that a Core of this folder started.
pub fn mark(dir: &TempDir) -> String {
    let lock = database(dir).with_file_name("workbench.db.lock");
    let marker = RunnerManager::new(&lock.canonicalize().unwrap()).spec("x").marker;
    format!("GALLEY_OWNER={}.", marker.split('.').next().unwrap())
}

pub fn assert_nothing_left(mark: &str) {
    wait_until(LIMIT, &format!("nothing carries {mark}"), || marked_processes(mark).unwrap().is_empty()).unwrap();
}

pub fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}
