//! `galley runtime`: the agents that can be started.

use crate::engine::Engine;
use crate::output::{Failure, Output};
use clap::{Args, Subcommand};
use galley_client::Error;
use galley_client::protocol::socket::{
    ErrorTag, InstallEnd, InstallFrame, ModelSettings, RuntimeAdd, RuntimeCheck, RuntimeInstall, RuntimeList, RuntimeRemove, RuntimeShow, RuntimeUse,
};
use std::io::{self, IsTerminal, Write};
use std::path::Path;

#[derive(Debug, Subcommand)]
pub enum RuntimeCommand {
    /// List the runtimes
    #[command(after_help = "Example:\n  galley runtime list")]
    List,
    /// Print one runtime
    #[command(after_help = "Example:\n  galley runtime show mine")]
    Show(One),
    /// Make a runtime the one that new sessions use
    #[command(after_help = "Example:\n  galley runtime use mine")]
    Use(One),
    /// Take a runtime out of the configuration; its sessions stay
    #[command(after_help = "Example:\n  galley runtime remove mine")]
    Remove(One),
    /// Configure a runtime
    #[command(
        after_help = "Examples:\n  galley runtime add mine --command=\"python3 /opt/mine/agent.py\"\n  galley runtime add external --backend=genericagent --ga-path=~/GenericAgent"
    )]
    Add(AddArgs),
    /// Install a GenericAgent into Galley's data directory and make it the runtime `managed`
    #[command(
        after_help = "Example:\n  GALLEY_MODEL_KEY=… galley runtime install managed --kind=openai --base-url=https://api.openai.com/v1 --model=gpt-5"
    )]
    Install(InstallArgs),
    /// Start a runtime for real, wait until it is ready, and stop it
    #[command(after_help = "Example:\n  galley runtime check mine")]
    Check(One),
}

#[derive(Debug, Args)]
pub struct One {
    /// The runtime's name
    name: String,
}

#[derive(Debug, Args)]
pub struct AddArgs {
    /// The runtime's name
    name: String,
    /// How it is spoken to: shell, process or genericagent [default: process]
    #[arg(long, value_name = "BACKEND")]
    backend: Option<String>,
    /// The program and its arguments, split like shell words; no shell runs
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// The agent's folder
    #[arg(long, value_name = "DIRECTORY")]
    ga_path: Option<String>,
    /// The interpreter of a GenericAgent [default: that of its folder's virtual environment, else python3]
    #[arg(long, value_name = "PROGRAM")]
    python: Option<String>,
    /// A further setting: env.NAME=VALUE (a variable of its environment) or key_file=FILE (its models)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Write a GenericAgent down without starting it first
    #[arg(long)]
    no_check: bool,
    /// Replace what is configured under this name
    #[arg(long)]
    replace: bool,
}

#[derive(Debug, Args)]
pub struct InstallArgs {
    /// The runtime's name: managed
    name: String,
    /// The interpreter to build upon [default: python3]
    #[arg(long, value_name = "PROGRAM")]
    python: Option<String>,
    /// The wire the model's provider speaks
    #[arg(long, value_name = "KIND", value_parser = ["openai", "anthropic"])]
    kind: Option<String>,
    /// Where the model is, for example https://api.openai.com/v1
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The model's name
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The provider's key; better given by the variable, or typed when asked
    #[arg(long, value_name = "KEY", env = "GALLEY_MODEL_KEY", hide_env_values = true)]
    api_key: Option<String>,
}

impl RuntimeCommand {
    pub async fn run(self, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
        match self {
            Self::List => output.rows(&engine.answer(RuntimeList {}).await?.result),
            Self::Add(args) => output.line(&engine.answer(args.command()?).await?.result),
            Self::Show(One { name }) => output.line(&engine.answer(RuntimeShow { name }).await?.result),
            Self::Use(One { name }) => output.line(&engine.answer(RuntimeUse { name }).await?.result),
            Self::Remove(One { name }) => output.line(&engine.answer(RuntimeRemove { name }).await?.result),
            Self::Check(One { name }) => output.line(&engine.answer(RuntimeCheck { name }).await?.result),
            Self::Install(args) => install(args.command()?, engine, output).await,
        }
    }
}

impl AddArgs {
    fn command(self) -> Result<RuntimeAdd, Failure> {
        let mut add = RuntimeAdd {
            name: self.name,
            backend: self.backend.as_deref().map(Into::into),
            command: self.command.map(|command| from_here(&command)),
            ga_path: self.ga_path.map(|path| absolute(&path)),
            // A bare name is a program on PATH.
            python: self.python.map(|python| if Path::new(&python).components().count() > 1 { absolute(&python) } else { python }),
            check: self.no_check.then_some(false),
            replace: self.replace.then_some(true),
            ..RuntimeAdd::default()
        };
        for setting in self.set {
            match setting.split_once('=') {
                Some(("key_file", file)) => add.key_file = Some(absolute(file)),
                Some((key, value)) if key.starts_with("env.") => {
                    add.env.get_or_insert_default().insert(key["env.".len()..].to_owned(), value.to_owned());
                }
                _ => return Err(Failure::invalid_args(format!("--set {setting}: the settings are key_file=FILE and env.NAME=VALUE"))),
            }
        }
        Ok(add)
    }
}

impl InstallArgs {
    fn command(self) -> Result<RuntimeInstall, Failure> {
        let wanted = self.kind.is_some() || self.base_url.is_some() || self.model.is_some() || self.api_key.is_some();
        let ask = io::stdin().is_terminal();
        let given = Given { ask };
        let model = if wanted || ask {
            match given.or_ask(self.base_url, "--base-url", "Where the model is, for example https://api.openai.com/v1 (empty: as before)")? {
                url if url.is_empty() && !wanted => None,
                base_url => Some(ModelSettings {
                    base_url,
                    kind: given.or_ask(self.kind, "--kind", "The wire it speaks, openai or anthropic")?.as_str().into(),
                    model: given.or_ask(self.model, "--model", "The model's name")?,
                    api_key: match self.api_key {
                        Some(key) => key,
                        None if ask => rpassword::prompt_password("The key: ")?,
                        None => return Err(Failure::invalid_args("the model's key is missing; set GALLEY_MODEL_KEY".to_owned())),
                    },
                }),
            }
        } else {
            None
        };
        Ok(RuntimeInstall { name: self.name, python: self.python, model })
    }
}

/// What was given on the command line, or else is asked at the terminal.
#[derive(Clone, Copy)]
struct Given {
    ask: bool,
}

impl Given {
    fn or_ask(self, given: Option<String>, flag: &str, question: &str) -> Result<String, Failure> {
        if let Some(given) = given {
            return Ok(given);
        }
        if !self.ask {
            return Err(Failure::invalid_args(format!("{flag} is missing; it belongs to the model's settings")));
        }
        let mut answer = String::new();
        write!(io::stderr(), "{question}: ")?;
        io::stdin().read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }
}

/// Prints what is being done, then the runtime.
async fn install(command: RuntimeInstall, engine: &Engine, output: &mut Output) -> Result<(), Failure> {
    let (first, mut frames) = engine.open(command).await?;
    let mut next = Some(Ok(first));
    while let Some(line) = next {
        let line = line?;
        match serde_json::from_slice(&line).map_err(|error| Error::Protocol(error.to_string()))? {
            InstallFrame::End { reason: InstallEnd::Installed, .. } => return output.line(&line),
            InstallFrame::End { error, message, detail, .. } => {
                let (tag, message) = (error.unwrap_or(ErrorTag::Internal), message.unwrap_or_default());
                return Err(Error::Api { tag, message, detail }.into());
            }
            InstallFrame::Progress { .. } => {
                output.line(&line)?;
                output.flush()?;
            }
        }
        next = frames.next().await;
    }
    Err(Error::Unavailable("Galley Core went away during the installation".to_owned()).into())
}

/// A path seen from where the person types.
fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// The command with its files named absolutely: Core starts it from a directory of its own. A word
/// is a file's name if it is one here, seen from where the person types.
fn from_here(command: &str) -> String {
    // What cannot be split is refused where the command is taken.
    let Ok(words) = shell_words::split(command) else { return command.to_owned() };
    let absolute = words.iter().enumerate().map(|(place, word)| {
        let path = Path::new(word);
        // A bare first word is a program on PATH.
        let may_be_file = path.is_relative() && (place > 0 || path.components().count() > 1);
        match std::path::absolute(path) {
            Ok(found) if may_be_file && found.is_file() => found.to_string_lossy().into_owned(),
            _ => word.clone(),
        }
    });
    shell_words::join(absolute)
}
