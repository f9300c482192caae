//! The built-in shell keeps the protocol that programs keep.

use super::LIMIT;
use galley_core::runner::{Delivery, Exit, Runner, RunnerManager, ShellBackend, StartSpec};
use galley_protocol::ipc::Command;
use galley_testkit::conformance::{Connection, Ended, Launcher, Options, Received, Start, check};
use galley_testkit::marked_processes;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;
use tokio::time::timeout;

struct Shells<'a> {
    runtime: &'a Runtime,
    manager: RunnerManager,
    folder: &'a Path,
}

impl Launcher for Shells<'_> {
    fn start(&self, start: &Start) -> io::Result<Box<dyn Connection>> {
        let spec = StartSpec { cwd: Some(self.folder.to_owned()), ..self.manager.spec(&start.session_id) };
        let mark = spec.marker.clone();
        let backend = ShellBackend::new(&self.manager, self.folder).with_shell("sh");
        let runner = self.runtime.block_on(self.manager.start(&backend, spec)).map_err(io::Error::other)?;
        Ok(Box::new(Shell { runtime: self.runtime.handle().clone(), runner: Some(runner), ended: None, mark }))
    }

    fn is_program(&self) -> bool {
        false
    }
}

struct Shell {
    runtime: Handle,
    /// Until it is dropped.
    runner: Option<Runner>,
    ended: Option<Ended>,
    mark: String,
}

impl Shell {
    fn runner(&mut self) -> &mut Runner {
        self.runner.as_mut().expect("the suite is done with it when it is dropped")
    }
}

impl Connection for Shell {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let command = Command::from_line(line).map_err(io::Error::other)?;
            let delivery = Delivery { command, done: oneshot::channel().0 };
            let sent = self.runtime.clone().block_on(self.runner().commands.send(delivery));
            sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        }
        Ok(())
    }

    fn read(&mut self, limit: Duration) -> Received {
        match self.runtime.clone().block_on(timeout(limit, self.runner().lines.recv())) {
            Ok(Some(line)) => Received::Line(line.to_vec()),
            Ok(None) => Received::End,
            Err(_) => Received::Nothing,
        }
    }

    fn close_input(&mut self) {
        self.runner().control.kill();
    }

    fn ended(&mut self, limit: Duration) -> Option<Ended> {
        if self.ended.is_none() {
            let exit = self.runtime.clone().block_on(timeout(limit, &mut self.runner().exit)).ok()?;
            let Exit { code, .. } = exit.unwrap();
            self.ended = Some(Ended { code });
        }
        self.ended
    }

    fn left(&self) -> io::Result<Vec<u32>> {
        marked_processes(&self.mark)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let ended = self.ended.is_some();
        if let Some(Runner { control, lines, exit, .. }) = self.runner.take()
            && !ended
        {
            control.kill();
            drop(lines);
            // The session may have its next runner then.
            self.runtime.block_on(timeout(LIMIT, exit)).expect("a killed shell ends").expect("and says how");
        }
    }
}

#[test]
fn the_shell_passes_the_suite_for_runners() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let _entered = runtime.enter();
    let shells = Shells { runtime: &runtime, manager: RunnerManager::new(&folder.path().join("lock")), folder: folder.path() };
    let options = Options {
        task: "echo hello".into(),
        approval: Some("echo asked".into()),
        long: Some("echo working; sleep 600".into()),
        limit: LIMIT,
        ..Options::default()
    };
    let report = check(&shells, &options);
    assert!(report.passed(), "{report}");
    let skipped: Vec<_> = report.skipped().filter(|name| !name.starts_with("lines.") && !name.starts_with("end.")).collect();
    assert_eq!(skipped, ["arguments", "stdout", "question", "abort.question", "models", "models.busy"], "{report}");
}
