//! The samples against `schema/galley-v1.json`.

use crate::sample::{Sample, samples, schema_dir};
use crate::{ipc, socket};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The checked-in JSON Schema.
pub struct Schema(Value);

impl Schema {
    pub fn load() -> Self {
        Self(serde_json::from_str(&std::fs::read_to_string(schema_dir().join("galley-v1.json")).unwrap()).unwrap())
    }

    /// An entry of the tables: `["ipc", "events", "ready"]`.
    pub fn table(&self, path: &[&str]) -> &Value {
        path.iter().fold(&self.0["x-galley"], |value, key| value.get(key).unwrap_or_else(|| panic!("no {path:?} in the schema")))
    }

    pub fn validator(&self, of: &Value) -> Validator {
        let mut root = of.clone();
        root["$defs"] = self.0["$defs"].clone();
        jsonschema::validator_for(&root).unwrap()
    }

    /// The fields of a type: those that may be absent, and those that may not.
    pub fn fields<'a>(&'a self, of: &'a Value) -> (Vec<&'a str>, Vec<&'a str>) {
        let (_, of) = self.resolve("", of);
        let required: Vec<_> = of["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let all = of["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        (all.filter(|name| !required.contains(name)).collect(), required)
    }

    fn resolve<'a>(&'a self, within: &'a str, of: &'a Value) -> (&'a str, &'a Value) {
        match of.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/")) {
            Some(name) => (name, &self.0["$defs"][name]),
            None => (within, of),
        }
    }

    /// Notes every field of every type that `value` shows.
    fn note<'a>(&'a self, within: &'a str, of: &'a Value, value: &Value, shown: &mut BTreeSet<(&'a str, &'a str)>) {
        let (within, of) = self.resolve(within, of);
        for (name, field) in of["properties"].as_object().into_iter().flatten() {
            if let Some(value) = value.get(name).filter(|value| !value.is_null()) {
                shown.insert((within, name));
                self.note(within, field, value, shown);
            }
        }
        if let Some(items) = of.get("items") {
            value.as_array().into_iter().flatten().for_each(|value| self.note(within, items, value, shown));
        }
        let variants = ["anyOf", "oneOf"].into_iter().filter_map(|union| of[union].as_array()).flatten();
        for variant in variants.filter(|variant| has_tag(variant, value)) {
            self.note(within, variant, value, shown);
        }
    }
}

/// Whether `value` has the constant fields of a union's variant.
fn has_tag(variant: &Value, value: &Value) -> bool {
    let mut fields = variant["properties"].as_object().into_iter().flatten();
    fields.all(|(name, field)| field.get("const").is_none_or(|tag| value.get(name) == Some(tag)))
}

/// A value, the schema it must satisfy, and the name of the sample it comes from.
struct Case {
    name: String,
    of: Value,
    value: Value,
}

/// Every sample, and every part of one that the envelope leaves open.
fn cases(schema: &Schema) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |folder: &str, of: &dyn Fn(&Sample) -> Value, part: Option<&str>| {
        for sample in samples(folder) {
            let (name, of, whole) = (format!("{folder}/{}", sample.name), of(&sample), sample.json());
            let value = part.map_or(Some(&whole), |part| whole.get(part));
            cases.extend(value.map(|value| Case { name, of, value: value.clone() }));
        }
    };
    let ipc = |of: &str| schema.table(&["ipc", of]).clone();
    add("ipc/events", &|_| ipc("event"), None);
    add("ipc/events", &|_| json!({ "items": ipc("toolCall") }), Some("toolCalls"));
    add("ipc/events", &|_| json!({ "items": ipc("toolResult") }), Some("toolResults"));
    add("ipc/commands", &|_| ipc("command"), None);

    let socket = |of: &str| schema.table(&["socket", of]).clone();
    let command = |sample: &Sample, of: &str| schema.table(&["socket", "commands", sample.of(), of]).clone();
    add("socket/requests", &|_| socket("request"), None);
    add("socket/requests", &|sample| command(sample, "args"), Some("args"));
    add("socket/responses", &|_| socket("response"), None);
    add("socket/responses", &|sample| command(sample, "output"), Some("result"));
    add("socket/errors", &|_| socket("response"), None);
    add("socket/frames", &|sample| command(sample, "frame"), None);
    add("cli", &|_| socket("cliError"), None);
    cases
}

#[test]
fn every_sample_satisfies_the_schema() {
    let schema = Schema::load();
    for Case { name, of, value } in cases(&schema) {
        let errors: Vec<_> = schema.validator(&of).iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn every_field_of_every_type_is_in_a_sample() {
    let schema = Schema::load();
    let mut shown = BTreeSet::new();
    let cases = cases(&schema);
    for Case { of, value, .. } in &cases {
        schema.note("", of, value, &mut shown);
    }
    let missing: Vec<_> = schema.0["$defs"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(name, of)| of["properties"].as_object().into_iter().flatten().map(move |(field, _)| (name.as_str(), field.as_str())))
        .filter(|field| !shown.contains(field))
        .collect();
    assert!(missing.is_empty(), "no sample shows {missing:?}");
}

#[test]
fn the_tables_list_what_the_types_list() {
    let schema = Schema::load();
    let keys = |path: &[&str]| schema.table(path).as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(keys(&["ipc", "events"]), words(ipc::EVENT_KINDS));
    assert_eq!(keys(&["ipc", "commands"]), words(ipc::COMMAND_KINDS));
    assert_eq!(keys(&["socket", "commands"]), socket::command_names());
    for (tag, entry) in schema.table(&["socket", "errors"]).as_object().unwrap() {
        assert_eq!(entry["exitCode"], socket::exit_code(tag), "{tag}");
    }
}
