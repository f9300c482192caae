//! The golden samples and what is done with each of them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the schema and the samples.
pub fn schema_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("schema")
}

/// One file. `session.send-side_question.json` is the sample `session.send-side_question` of
/// `session.send`.
pub struct Sample {
    pub name: String,
    pub text: String,
}

impl Sample {
    /// What it is a sample of: a kind, a command, an error tag.
    pub fn of(&self) -> &str {
        self.name.split('-').next().unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// The same in other words: keys sorted, keys in reverse order.
    pub fn spellings(&self) -> [String; 3] {
        [self.text.clone(), self.json().to_string(), reversed(&self.json())]
    }
}

/// The samples in a folder below `schema/golden`.
pub fn samples(folder: &str) -> Vec<Sample> {
    let mut samples: Vec<_> = fs::read_dir(schema_dir().join("golden").join(folder))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            Sample { name: path.file_stem().unwrap().to_str().unwrap().to_owned(), text: fs::read_to_string(&path).unwrap() }
        })
        .collect();
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!samples.is_empty(), "no samples in {folder}");
    samples
}

/// Decodes `text` as `T` and writes it again.
pub fn recode<T: Serialize + DeserializeOwned>(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<T>(text).map(|value| json_of(&value))
}

pub fn json_of(value: &impl Serialize) -> Value {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// `value` as `recode` sees it, with `change` made to its object.
pub fn changed(value: &Value, change: impl FnOnce(&mut Map<String, Value>)) -> String {
    let mut value = value.clone();
    change(value.as_object_mut().unwrap());
    value.to_string()
}

/// JSON text with the keys of every object in reverse order.
fn reversed(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members: Vec<_> = map.iter().rev().map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), reversed(value))).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(reversed).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}
