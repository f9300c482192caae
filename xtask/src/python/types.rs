//! `types.py` and `events.py`: a frozen class per shape, read from JSON in one call.

use super::{HEAD, Schema, camel, describe, docstring, is_required, members, snake, target, variants};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Streams whose frames are typed, and the word that tells their frames apart.
const UNIONS: [(&str, &str, &str); 4] =
    [("FollowFrame", "stream", "Follow"), ("ProjectFrame", "stream", "Project"), ("WaitFrame", "stream", "Wait"), ("FeedEvent", "kind", "Feed")];

/// How a value is typed in Python, and read from the expression it is found in.
pub struct Kind {
    pub annotation: String,
    read: Read,
    pub nullable: bool,
}

enum Read {
    AsItIs,
    Class(String),
    Each(String),
    Tuple,
}

impl Kind {
    /// Of a schema; definitions it leads to are added to `named`.
    pub fn of(schema: &Schema, of: &Value, named: &mut BTreeSet<String>) -> Self {
        let plain = |annotation: &str| Self { annotation: annotation.to_owned(), read: Read::AsItIs, nullable: false };
        if let Some(name) = target(of) {
            if name == "AnyJson" {
                return plain("Any");
            }
            if name == "DirectCommand" {
                return plain("Mapping[str, Any]");
            }
            if name == "WatchFrom" {
                return plain("int | Literal[\"now\", \"run\", \"start\"]");
            }
            named.insert(name.to_owned());
            let name = class_name(name);
            let read =
                if schema.definition(target(of).unwrap_or_default())["type"] == "object" { Read::Class(name.to_owned()) } else { Read::AsItIs };
            return Self { annotation: name.to_owned(), read, nullable: false };
        }
        if let Some(one) = variants(of).find(|one| one["type"] != "null") {
            return Self { nullable: true, ..Self::of(schema, one, named) };
        }
        let words: Vec<&str> = match &of["type"] {
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
            word => word.as_str().into_iter().collect(),
        };
        let nullable = words.contains(&"null");
        let kind = match words.iter().find(|word| **word != "null").copied() {
            Some("string") => plain("str"),
            Some("integer") => plain("int"),
            Some("number") => plain("float"),
            Some("boolean") => plain("bool"),
            Some("object") => {
                let values = Self::of(schema, &of["additionalProperties"], named).annotation;
                plain(&format!("Mapping[str, {values}]"))
            }
            Some("array") => {
                let item = Self::of(schema, &of["items"], named);
                let read = if let Read::Class(name) = item.read { Read::Each(name) } else { Read::Tuple };
                Self { annotation: format!("tuple[{}, ...]", item.annotation), read, nullable: false }
            }
            _ => plain("Any"),
        };
        Self { nullable, ..kind }
    }

    /// An expression that reads the value found under `key` of `raw`.
    fn read(&self, key: &str, required: bool) -> String {
        match (&self.read, required && !self.nullable) {
            (Read::AsItIs, true) => format!("raw[\"{key}\"]"),
            (Read::AsItIs, false) => format!("raw.get(\"{key}\")"),
            (Read::Class(name), true) => format!("{name}.read(raw[\"{key}\"])"),
            (Read::Class(name), false) => format!("_maybe({name}.read, raw.get(\"{key}\"))"),
            (Read::Each(name), true) => format!("tuple(map({name}.read, raw[\"{key}\"]))"),
            (Read::Each(name), false) => format!("_each({name}.read, raw.get(\"{key}\"))"),
            (Read::Tuple, true) => format!("tuple(raw[\"{key}\"])"),
            (Read::Tuple, false) => format!("_maybe(tuple, raw.get(\"{key}\"))"),
        }
    }
}

/// What a definition is called in Python; a warning is no exception there.
fn class_name(definition: &str) -> &str {
    if definition == "Warning" { "WriteWarning" } else { definition }
}

/// A field of a class.
struct Field {
    name: String,
    annotation: String,
    read: String,
    doc: String,
    optional: bool,
}

fn fields(schema: &Schema, of: &Value, skip: &[&str], taken: &[&str], named: &mut BTreeSet<String>) -> Vec<Field> {
    let mut fields: Vec<_> = members(&of["properties"])
        .filter(|(key, _)| !skip.contains(&key.as_str()))
        .map(|(key, property)| {
            let kind = Kind::of(schema, property, named);
            let optional = kind.nullable || !is_required(of, key);
            let name = snake(key);
            Field {
                // What every event has, and what types are called, keeps its name.
                name: if taken.contains(&name.as_str()) { format!("{name}_") } else { name },
                annotation: if optional { format!("{} | None", kind.annotation) } else { kind.annotation.clone() },
                read: kind.read(key, !optional),
                doc: describe(property),
                optional,
            }
        })
        .collect();
    fields.sort_by_key(|field| field.optional);
    fields
}

/// `types.py`.
pub fn types(schema: &Schema) -> String {
    let mut named = BTreeSet::new();
    for (_, command) in schema.commands() {
        Kind::of(schema, &command["output"], &mut named);
    }
    // What the methods' arguments are made of, too.
    for (_, command) in schema.commands() {
        for (_, property) in members(&schema.definition(target(&command["args"]).unwrap_or_default())["properties"]) {
            Kind::of(schema, property, &mut named);
        }
    }
    let mut classes = String::new();
    for (union, tag, prefix) in UNIONS {
        classes.push_str(&union_classes(schema, union, tag, prefix, &mut named));
    }
    classes.push_str(&exported(schema, &mut named));
    named.remove("Exported");
    let mut written = BTreeSet::new();
    let mut shapes = String::new();
    let mut words = String::new();
    while let Some(name) = named.difference(&written).next().cloned() {
        let definition = schema.definition(&name);
        if let Some(examples) = definition["examples"].as_array() {
            words.push_str(&literal(&name, examples));
        } else {
            let fields = fields(schema, definition, &[], &[], &mut named);
            let class_name = class_name(&name);
            shapes.push_str(&class(class_name, "", &describe(definition), &fields, &[], &shape_reader(class_name, &fields)));
        }
        written.insert(name);
    }
    format!("{HEAD}{}{words}{shapes}{classes}", include_str!("types.head.py"))
}

/// An open set of words.
fn literal(name: &str, examples: &[Value]) -> String {
    let words: Vec<_> = examples.iter().filter_map(Value::as_str).map(|word| format!("\"{word}\"")).collect();
    let line = format!("{name}: TypeAlias = Literal[{}] | str\n", words.join(", "));
    if line.len() <= 120 {
        return line;
    }
    let words: String = words.iter().map(|word| format!("        {word},\n")).collect();
    format!("{name}: TypeAlias = (\n    Literal[\n{words}    ]\n    | str\n)\n")
}

fn shape_reader(name: &str, fields: &[Field]) -> String {
    reader(name, fields, &["raw"])
}

/// The class method that makes one from JSON.
fn reader(name: &str, fields: &[Field], last: &[&str]) -> String {
    let mut text =
        format!("\n    @classmethod\n    def read(cls, raw: Mapping[str, Any]) -> {name}:\n        \"\"\"From JSON.\"\"\"\n        return cls(\n");
    for field in fields {
        let _ = writeln!(text, "            {},", field.read);
    }
    for one in last {
        let _ = writeln!(text, "            {one},");
    }
    text + "        )\n"
}

/// A class: fields, what every class of its sort has, and a reader.
fn class(name: &str, base: &str, doc: &str, fields: &[Field], constants: &[String], reader: &str) -> String {
    let mut text = format!("\n\n@dataclass(frozen=True, slots=True)\nclass {name}{base}:\n");
    let doc = if doc.is_empty() { format!("{name}.") } else { doc.to_owned() };
    text.push_str(&docstring(&doc, 4));
    text.push('\n');
    for constant in constants {
        let _ = writeln!(text, "    {constant}");
    }
    for field in fields {
        let _ = writeln!(text, "    {}: {}", field.name, field.annotation);
        text.push_str(&docstring(&field.doc, 4));
    }
    if base.is_empty() {
        text.push_str("    raw: Mapping[str, Any] = field(repr=False, compare=False)\n    \"\"\"All of it as Core wrote it, fields of newer versions included.\"\"\"\n");
    }
    text + reader
}

/// A class per variant of a union, and the function that reads it.
fn union_classes(schema: &Schema, union: &str, tag: &str, prefix: &str, named: &mut BTreeSet<String>) -> String {
    let mut text = String::new();
    let mut names = Vec::new();
    let mut table = String::new();
    for variant in variants(schema.definition(union)) {
        let Some(word) = variant["properties"][tag]["const"].as_str() else { continue };
        let name = format!("{prefix}{}", camel(word));
        // What the snapshot holds is a shape of that name.
        let name = if schema.definition(&name).is_null() { name } else { format!("{name}Event") };
        let mut fields = fields(schema, variant, &[tag, "requestId", "schemaVersion"], &[], named);
        if let Some(value) = target(variant) {
            named.insert(value.to_owned());
            fields.push(Field {
                name: "value".into(),
                annotation: value.into(),
                read: format!("{value}.read(raw)"),
                doc: "What it is now.".into(),
                optional: false,
            });
        }
        let doc = if describe(variant).is_empty() { format!("`{word}`.") } else { describe(variant) };
        text.push_str(&class(&name, "", &doc, &fields, &[], &shape_reader(&name, &fields)));
        let _ = writeln!(table, "    \"{word}\": {name}.read,");
        names.push(name);
    }
    names.push("UnknownFrame".into());
    let function = snake(union).trim_start_matches('_').to_owned();
    let table_name = function.to_uppercase();
    let _ = write!(text, "\n\n{union}: TypeAlias = {}\n", names.join(" | "));
    let _ = write!(text, "\n_{table_name}: dict[Any, Callable[[Mapping[str, Any]], {union}]] = {{\n{table}}}\n");
    let _ = write!(
        text,
        "\n\ndef read_{function}(raw: Mapping[str, Any]) -> {union}:\n    \"\"\"From JSON.\"\"\"\n    return _{table_name}.get(raw.get(\"{tag}\"), UnknownFrame)(raw)\n"
    );
    text
}

/// The two forms of an export.
fn exported(schema: &Schema, named: &mut BTreeSet<String>) -> String {
    let mut text = String::new();
    for variant in variants(schema.definition("Exported")) {
        let Some(word) = variant["properties"]["format"]["const"].as_str() else { continue };
        let name = format!("Exported{}", camel(word));
        let fields = fields(schema, variant, &["format"], &[], named);
        text.push_str(&class(&name, "", &describe(variant), &fields, &[], &shape_reader(&name, &fields)));
    }
    text + "\n\nExported: TypeAlias = ExportedJson | ExportedMarkdown\n\n\ndef read_exported(raw: Mapping[str, Any]) -> Exported:\n    \"\"\"From JSON.\"\"\"\n    return ExportedMarkdown.read(raw) if raw[\"format\"] == \"markdown\" else ExportedJson.read(raw)\n"
}

/// `events.py`: a class per kind of the IPC protocol.
pub fn events(schema: &Schema) -> String {
    let mut named = BTreeSet::new();
    let mut classes = String::new();
    let mut table = String::new();
    for (kind, definition) in schema.event_kinds() {
        let of = schema.definition(definition);
        let fields = fields(schema, of, &[], &["index", "run", "approval", "raw_line", "bytes"], &mut named);
        let constants = [format!("kind: ClassVar[str] = \"{kind}\"")];
        let mut read = format!(
            "\n    @classmethod\n    def read(cls, raw: Mapping[str, Any], index: int, run: int, approval: str | None, line: bytes) -> {definition}:\n        \"\"\"From JSON, and where it was found.\"\"\"\n        return cls(\n            index,\n            run,\n            approval,\n            line,\n"
        );
        for field in &fields {
            let _ = writeln!(read, "            {},", field.read);
        }
        read.push_str("        )\n");
        classes.push_str(&class(definition, "(Event)", &describe(of), &fields, &constants, &read));
        let _ = writeln!(table, "    \"{kind}\": {definition}.read,");
    }
    let mut shapes = String::new();
    let mut imported = BTreeSet::new();
    let mut written = BTreeSet::new();
    while let Some(name) = named.difference(&written).next().cloned() {
        let definition = schema.definition(&name);
        if definition["examples"].is_array() || shared(schema, &name) {
            imported.insert(name.clone());
        } else {
            let fields = fields(schema, definition, &[], &[], &mut named);
            shapes.push_str(&class(&name, "", &describe(definition), &fields, &[], &shape_reader(&name, &fields)));
        }
        written.insert(name);
    }
    let words: Vec<_> = imported.iter().filter(|name| !shared(schema, name)).cloned().collect();
    let shared: Vec<_> = imported.iter().filter(|name| shared(schema, name)).cloned().collect();
    let own: String = words.iter().map(|name| literal(name, schema.definition(name)["examples"].as_array().map_or(&[], Vec::as_slice))).collect();
    let import: String = shared.iter().map(|name| format!("    {name},\n")).collect();
    format!(
        "{HEAD}{}from .types import (\n{import}    _maybe,\n)\n\n{own}{}{shapes}{classes}\n\n_KINDS = {{\n{table}}}\n",
        include_str!("events.head.py"),
        include_str!("events.base.py")
    )
}

/// Whether `types.py` has it.
fn shared(schema: &Schema, name: &str) -> bool {
    types(schema).lines().any(|line| line == format!("class {name}:") || line.starts_with(&format!("{name}: TypeAlias")))
}
