//! The command line.

use crate::children::Child;
use galley_testkit::{Scenario, Script};
use std::fs;
use std::path::PathBuf;

/// What this process is.
pub enum Mode {
    /// The runner.
    Run(Box<Arguments>),
    /// A child that a runner started to be held against it.
    Child(Child),
    /// Somebody reading.
    Help,
}

/// The runner's arguments. Those of the specification are taken in any order, unknown ones are
/// passed over, as a tolerant runner does.
#[derive(Debug, Default)]
pub struct Arguments {
    pub session_id: String,
    pub ga_path: Option<String>,
    pub llm_no: u32,
    pub scenario: Scenario,
    pub record: Option<PathBuf>,
    /// All of them, as they were given.
    pub all: Vec<String>,
}

impl Mode {
    pub fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let all: Vec<String> = arguments.collect();
        if let Some(child) = Child::from_arguments(&all) {
            return Ok(Self::Child(child));
        }
        let mut read = Arguments { session_id: "testkit".to_owned(), ..Arguments::default() };
        let mut on_start = None;
        let mut words = all.iter();
        while let Some(word) = words.next() {
            // `--name value` and `--name=value` are the same.
            let (name, inline) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
            let mut value = || inline.clone().or_else(|| words.next().cloned()).ok_or_else(|| format!("{name} needs a value"));
            match name {
                "--help" => return Ok(Self::Help),
                "--session-id" => read.session_id = value()?,
                "--ga-path" => read.ga_path = Some(value()?),
                "--llm-no" => {
                    let number = value()?;
                    read.llm_no = number.parse().map_err(|_| format!("--llm-no must be a whole number, not `{number}`"))?;
                }
                "--cwd" | "--workspace-root" => drop(value()?),
                "--record" => read.record = Some(value()?.into()),
                "--on-start" => on_start = Some(value()?.parse::<Script>().map_err(|error| format!("--on-start: {error}"))?),
                "--script" => {
                    let path = value()?;
                    let text = fs::read_to_string(&path).map_err(|error| format!("cannot read the script {path}: {error}"))?;
                    read.scenario = text.parse().map_err(|error| format!("{path}: {error}"))?;
                }
                _ => {}
            }
        }
        if on_start.is_some() {
            read.scenario.start = on_start;
        }
        read.all = all;
        Ok(Self::Run(Box::new(read)))
    }
}
