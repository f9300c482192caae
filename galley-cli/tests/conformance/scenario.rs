//! The form of a scenario file: steps that one Core, or its absence, answers in turn.

use super::json::Json;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Files put into the home before Core starts, by name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Whether it begins without a Core.
    #[serde(default)]
    pub without_core: bool,
    pub step: Vec<Step>,
}

/// One thing to do, and what must come of it. Exactly one of `run`, `socket`, `finish`, `core` is set.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// What it shows.
    #[serde(default)]
    pub shows: String,
    /// The section of the Agent API it belongs to.
    pub spec: Option<String>,
    /// A command line, without the program's name.
    pub run: Option<String>,
    /// The name under which the command line goes on in the background, once it has printed a line.
    pub background: Option<String>,
    /// The command line in the background that is waited for.
    pub finish: Option<String>,
    /// Interrupt it first.
    #[serde(default)]
    pub interrupt: bool,
    /// Request lines, sent over one connection; an answer is read after each.
    pub socket: Option<Vec<String>>,
    /// Ends Core, or starts one.
    pub core: Option<CoreStep>,
    /// Do it again until what comes of it is right, for as long as a test may take.
    #[serde(default)]
    pub until: bool,
    /// The exit code; that of `error`, or 0, unless told.
    pub exit: Option<i32>,
    /// The tag of the error line.
    pub error: Option<String>,
    /// What the error's message has in it.
    #[serde(default)]
    pub says: String,
    /// The fields of the error's detail besides the message.
    pub detail: Option<String>,
    /// Patterns of the lines.
    #[serde(default)]
    pub lines: Vec<String>,
    /// What the text has in it, where it is prose.
    pub prose: Option<String>,
    /// Names for values of the lines: the line's number from 0, then the path in it.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CoreStep {
    Start,
    Stop,
}

impl Scenario {
    pub fn read(name: &str, text: &str) -> Self {
        toml_edit::de::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Step {
    /// The patterns, read.
    pub fn patterns(&self) -> Result<Vec<Json>, String> {
        match &self.error {
            None => {
                self.lines.iter().map(|line| if line == super::pattern::ANY { Ok(Json::Text(line.clone())) } else { Json::parse(line) }).collect()
            }
            Some(tag) => {
                let detail = self.detail.as_deref().unwrap_or("{}");
                let Json::Object(detail) = Json::parse(detail)? else { return Err("detail is no object".to_owned()) };
                let mut fields = detail;
                if fields.iter().all(|(name, _)| name != super::pattern::ANY && name != "message") {
                    fields.push(("message".to_owned(), Json::Text("<text>".to_owned())));
                    fields.sort_by(|(one, _), (other, _)| one.cmp(other));
                }
                let text = |text: &str| Json::Text(text.to_owned());
                let error =
                    vec![("error".to_owned(), text(tag)), ("message".to_owned(), text("<text>")), ("detail".to_owned(), Json::Object(fields))];
                let before = self.lines.iter().map(|line| Json::parse(line)).collect::<Result<Vec<_>, _>>()?;
                Ok([before, vec![Json::Object(error)]].concat())
            }
        }
    }

    /// The exit code it must end with.
    pub fn code(&self) -> i32 {
        use galley_client::protocol::socket::ErrorTag;
        let of_error = || self.error.as_deref().map_or(0, |tag| ErrorTag::from(tag).exit_code().into());
        self.exit.unwrap_or_else(of_error)
    }
}
