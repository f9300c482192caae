//! Takes the steps of a scenario against a home of its own.

use super::json::Json;
use super::pattern::Context;
use super::scenario::{CoreStep, Scenario, Step};
use crate::home::{Done, Home};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Command};
use std::time::{Duration, Instant};

/// How long a step that is done until it is right may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A step that was taken.
pub struct Walked {
    pub spec: Option<String>,
    /// The command line as its words, or empty.
    pub words: Vec<String>,
    /// The commands it sent over the socket.
    pub requests: Vec<String>,
    pub shows: String,
    pub code: i32,
    pub took: Duration,
    pub outcome: Result<(), String>,
}

/// A stream that goes on beside the steps. It is under way: its first frame has come.
struct Background {
    child: Child,
    first: String,
    stdout: BufReader<ChildStdout>,
}

impl Background {
    fn open(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        Self { child, first, stdout }
    }

    fn finish(mut self) -> Done {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let mut done = Done::from(self.child.wait_with_output().unwrap());
        done.stdout = self.first + &rest;
        done
    }
}

struct Walker<'a> {
    home: Home,
    shapes: &'a BTreeMap<String, Json>,
    saved: BTreeMap<String, String>,
    background: BTreeMap<String, Background>,
}

/// Takes all steps; those after a failed one may fail because of it.
pub fn walk(scenario: &Scenario, shapes: &BTreeMap<String, Json>) -> Vec<Walked> {
    let mut walker = Walker { home: Home::new(), shapes, saved: BTreeMap::new(), background: BTreeMap::new() };
    let home = walker.home.directory().to_str().unwrap().to_owned();
    walker.saved.insert("home".to_owned(), home);
    let runner = galley_testkit::runner_path().unwrap();
    walker.saved.insert("runner".to_owned(), runner.to_str().unwrap().to_owned());
    for (name, text) in &scenario.files {
        std::fs::write(walker.home.directory().join(name), walker.context().fill(text)).unwrap();
    }
    if !scenario.without_core {
        walker.home.serve();
    }
    let walked = scenario.step.iter().map(|step| walker.step(step)).collect();
    for mut background in std::mem::take(&mut walker.background).into_values() {
        background.child.kill().ok();
        background.child.wait().ok();
    }
    walked
}

impl Walker<'_> {
    fn context(&self) -> Context<'_> {
        Context { shapes: self.shapes, saved: &self.saved }
    }

    fn step(&mut self, step: &Step) -> Walked {
        let begun = Instant::now();
        loop {
            let mut walked = self.once(step);
            walked.took = begun.elapsed();
            if walked.outcome.is_ok() || !step.until || begun.elapsed() > PATIENCE {
                return walked;
            }
        }
    }

    fn once(&mut self, step: &Step) -> Walked {
        let mut walked = Walked {
            spec: step.spec.clone(),
            words: Vec::new(),
            requests: Vec::new(),
            shows: step.shows.clone(),
            code: step.code(),
            took: Duration::ZERO,
            outcome: Ok(()),
        };
        if let Some(line) = &step.run {
            walked.words = shell_words::split(line).unwrap().iter().map(|word| self.context().fill(word)).collect();
            let words: Vec<&str> = walked.words.iter().map(String::as_str).collect();
            match &step.background {
                Some(name) => {
                    let background = Background::open(self.home.command(&words));
                    self.background.insert(name.clone(), background);
                }
                None => walked.outcome = self.judge(step, &self.home.galley(&words)),
            }
        } else if let Some(name) = &step.finish {
            let background = self.background.remove(name).unwrap_or_else(|| panic!("nothing called {name} goes on"));
            if step.interrupt {
                kill_process(Pid::from_raw(background.child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
            }
            walked.outcome = self.judge(step, &background.finish());
        } else if let Some(requests) = &step.socket {
            let requests: Vec<String> = requests.iter().map(|request| self.context().fill(request)).collect();
            walked.requests = requests.iter().filter_map(|line| Json::parse(line).ok()?.at("command").map(ToString::to_string)).collect();
            let answers = self.exchange(&requests);
            walked.outcome = self.compare(step, &answers);
        } else {
            match step.core {
                Some(CoreStep::Start) => self.home.serve(),
                Some(CoreStep::Stop) => {
                    self.home.galley(&["core", "shutdown"]);
                    self.home.served();
                }
                None => walked.outcome = Err("the step does nothing".to_owned()),
            }
        }
        walked
    }

    fn judge(&mut self, step: &Step, done: &Done) -> Result<(), String> {
        if done.code != Some(step.code()) {
            return Err(format!("exit code {:?}, not {}: {done:?}", done.code, step.code()));
        }
        if let Some(prose) = &step.prose {
            let text = if done.code == Some(0) { &done.stdout } else { &done.stderr };
            return if text.contains(prose.as_str()) { Ok(()) } else { Err(format!("{text:?} does not have {prose:?}")) };
        }
        if !done.stderr.is_empty() {
            return Err(format!("standard error is not empty: {done:?}"));
        }
        if !done.stdout.is_empty() && !done.stdout.ends_with('\n') {
            return Err(format!("the last line is not ended: {done:?}"));
        }
        let lines: Vec<Json> = done.stdout.lines().map(Json::parse).collect::<Result<_, _>>()?;
        self.compare(step, &lines)?;
        if step.error.is_some() {
            let line = lines.last().ok_or("no error line")?;
            let (Some(Json::Text(message)), again) = (line.at("message"), line.at("detail.message")) else {
                return Err(format!("no message: {line}"));
            };
            if again != line.at("message") || !message.contains(&self.context().fill(&step.says)) {
                return Err(format!("the message does not say {:?} twice: {line}", step.says));
            }
        }
        Ok(())
    }

    fn compare(&mut self, step: &Step, lines: &[Json]) -> Result<(), String> {
        let printed = || lines.iter().map(|line| format!("\n    {line}")).collect::<String>();
        self.context().lines(&step.patterns()?, lines).map_err(|why| format!("{why}{}", printed()))?;
        for (name, path) in &step.save {
            let value = Json::List(lines.to_vec());
            let value = value.at(path).ok_or_else(|| format!("there is no {path}"))?;
            let value = if let Json::Text(text) = value { text.clone() } else { value.to_string() };
            self.saved.insert(name.clone(), value);
        }
        Ok(())
    }

    fn exchange(&self, requests: &[String]) -> Vec<Json> {
        let mut stream = UnixStream::connect(self.home.socket()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let answer = |request: &String| {
            stream.write_all(format!("{request}\n").as_bytes()).unwrap();
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            Json::parse(&line).unwrap()
        };
        requests.iter().map(answer).collect()
    }
}
