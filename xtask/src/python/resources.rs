//! The methods by noun, as the command line reads: `_resources.py` blocks, `_aresources.py` awaits.

use super::types::Kind;
use super::{HEAD, Schema, describe, docstring, is_required, members, snake, target};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// How methods wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Blocking,
    Asyncio,
}

/// The classes, in the order of the module: name, and its documentation.
const NOUNS: [(&str, &str); 8] = [
    ("Sessions", "Many sessions."),
    ("Session", "One session."),
    ("Approvals", "What waits for a yes or a no, and the rules that answer by themselves."),
    ("Projects", "Many projects."),
    ("Project", "One project."),
    ("Llms", "The models of a runtime."),
    ("Runtimes", "The ways to start an agent."),
    ("Engine", "The running Core itself."),
];

/// The class and the method of a command; the client itself has no class here.
fn place(command: &str) -> Option<(&str, String)> {
    let (noun, verb) = command.split_once('.').unwrap_or(("client", command));
    let (class, method) = match (noun, verb) {
        ("client", verb) => ("Client", verb),
        ("session", "new") => ("Sessions", "create"),
        ("session", "queue_edit") => ("Session", "edit_queue"),
        ("sessions", verb) => ("Sessions", verb),
        ("session", verb) => ("Session", verb),
        ("llm", "set") => ("Session", "set_llm"),
        ("llm", verb) => ("Llms", verb),
        ("approval", "mode") => ("Approvals", "set_mode"),
        ("approval", verb) => ("Approvals", verb),
        ("project", verb @ ("list" | "create")) => ("Projects", verb),
        ("project", verb) => ("Project", verb),
        ("runtime", verb) => ("Runtimes", verb),
        ("core", verb) => ("Engine", verb),
        _ => return None,
    };
    Some((class, method.to_owned()))
}

/// The argument that a class of one thing knows already.
fn own(class: &str) -> Option<&'static str> {
    match class {
        "Session" => Some("sessionId"),
        "Project" => Some("projectId"),
        _ => None,
    }
}

/// `_arguments.py`: what each command takes, for checks before anything is sent.
pub fn arguments(schema: &Schema) -> String {
    let mut table = String::new();
    for (name, command) in schema.commands() {
        let _ = writeln!(table, "    \"{name}\": {{");
        for (key, property) in members(&schema.definition(target(&command["args"]).unwrap_or_default())["properties"]) {
            let annotation = Kind::of(schema, property, &mut BTreeSet::new()).annotation;
            let types = match annotation.as_str() {
                "str" => "(str,)",
                "int" => "(int,)",
                "float" => "(int, float)",
                "bool" => "(bool,)",
                "int | Literal[\"now\", \"run\", \"start\"]" => "(int, str)",
                "Mapping[str, Any]" => "(Mapping,)",
                "tuple[str, ...]" => "(list, tuple)",
                _ => "(str,)",
            };
            let _ = writeln!(table, "        \"{key}\": (\"{}\", {types}),", snake(key));
        }
        table.push_str("    },\n");
    }
    format!(
        "{HEAD}\"\"\"What each command takes: the name on the wire, the name in Python, and its types.\"\"\"\n\nfrom collections.abc import Mapping\n\nARGUMENTS: dict[str, dict[str, tuple[str, tuple[type, ...]]]] = {{\n{table}}}\n"
    )
}

/// The module of one style.
pub fn resources(schema: &Schema, style: Style) -> String {
    let mut classes: BTreeMap<&str, String> = BTreeMap::new();
    let mut named = BTreeSet::new();
    for (name, command) in schema.commands() {
        if let Some((class, method)) = place(name) {
            classes.entry(class).or_default().push_str(&Method { schema, style, class, method: &method, command: name }.text(command, &mut named));
        }
    }
    let mut text = String::new();
    let client = if style == Style::Blocking { "Client" } else { "AsyncClient" };
    for (class, doc) in NOUNS {
        let prefix = if style == Style::Blocking { "" } else { "Async" };
        let _ = write!(text, "\n\nclass {prefix}{class}:\n    \"\"\"{doc}\"\"\"\n\n");
        if own(class).is_some() {
            let _ = write!(
                text,
                "    __slots__ = (\"_client\", \"id\")\n\n    def __init__(self, client: {client}, id: str) -> None:\n        self._client = client\n        self.id = id\n\n    def __repr__(self) -> str:\n        return f\"galley.{prefix}{class}({{self.id!r}})\"\n"
            );
        } else {
            let _ =
                write!(text, "    __slots__ = (\"_client\",)\n\n    def __init__(self, client: {client}) -> None:\n        self._client = client\n");
        }
        text.push_str(classes.get(class).map_or("", String::as_str));
    }
    // The client inherits these.
    let _ =
        write!(text, "\n\nclass {}:\n    \"\"\"What a client is asked itself.\"\"\"\n", if style == Style::Blocking { "Meta" } else { "AsyncMeta" });
    text.push_str(&classes.remove("Client").unwrap_or_default().replace("self._client.ask", "self.ask"));
    let (read, answer) = if style == Style::Blocking { ("def", "T") } else { ("async def", "T") };
    let _ = write!(
        text,
        "\n    {read} ask(self, command: str, read: Callable[[Any], T], args: Mapping[str, Any]) -> {answer}:\n        \"\"\"Calls a command and reads its result.\"\"\"\n        raise NotImplementedError\n"
    );
    named.retain(|name| !matches!(name.as_str(), "Exported"));
    let imports: String = named.iter().map(|name| format!("    {name},\n")).collect();
    let (module, streams, page) = match style {
        Style::Blocking => ("_client", "FrameStream, Watch", "Page, WaitOutcome"),
        Style::Asyncio => ("_aclient", "AsyncFrameStream, AsyncWatch", "Page, WaitOutcome"),
    };
    let doc = match style {
        Style::Blocking => "The usual calls by noun, as the command line reads.",
        Style::Asyncio => "The usual calls by noun, as the command line reads, to be awaited.",
    };
    let iterator = if style == Style::Blocking { "Iterator" } else { "AsyncIterator" };
    format!(
        "{HEAD}\"\"\"{doc}\"\"\"\n\nfrom __future__ import annotations\n\nfrom collections.abc import {iterator}, Callable, Mapping, Sequence\nfrom typing import TYPE_CHECKING, Any, Literal, TypeVar\n\nfrom . import types\nfrom ._answers import {page}\nfrom .types import (\n{imports}    Exported,\n    FeedEvent,\n    FollowFrame,\n    ProjectFrame,\n)\n\nif TYPE_CHECKING:\n    from .{module} import {client}, {streams}\n\nT = TypeVar(\"T\")\n{text}"
    )
}

struct Method<'a> {
    schema: &'a Schema,
    style: Style,
    class: &'a str,
    method: &'a str,
    command: &'a str,
}

impl Method<'_> {
    fn text(&self, command: &Value, named: &mut BTreeSet<String>) -> String {
        let args = self.schema.definition(target(&command["args"]).unwrap_or_default());
        let (mut signature, mut optional, mut passed) = (String::new(), String::new(), String::new());
        for (key, property) in members(&args["properties"]) {
            if own(self.class) == Some(key) {
                let _ = write!(passed, "\"{key}\": self.id, ");
                continue;
            }
            let kind = Kind::of(self.schema, property, named);
            let annotation = kind.annotation.replace("tuple[str, ...]", "Sequence[str]");
            let name = snake(key);
            if is_required(args, key) && !kind.nullable {
                let _ = writeln!(signature, "        {name}: {annotation},");
            } else {
                let _ = writeln!(optional, "        {name}: {annotation} | None = None,");
            }
            let _ = write!(passed, "\"{key}\": {name}, ");
        }
        let (returns, call) = self.outcome(command, named);
        let streams = !command["frame"].is_null() && self.command != "session.wait";
        if self.command == "session.watch" {
            optional.push_str("        reconnect: float = 30.0,\n");
        }
        if !optional.is_empty() {
            optional.insert_str(0, "        *,\n");
        }
        let parameters =
            if signature.is_empty() && optional.is_empty() { "self".to_owned() } else { format!("\n        self,\n{signature}{optional}    ") };
        let (keyword, awaited) = if self.style == Style::Asyncio && !streams { ("async ", "await ") } else { ("", "") };
        let passed = passed.trim_end_matches(", ");
        let mut text = format!("\n    {keyword}def {}({parameters}) -> {returns}:\n", self.method);
        text.push_str(&docstring(&self.doc(args), 8));
        let body = call.replace("ARGS", &format!("{{{passed}}}"));
        let _ = writeln!(text, "        return {awaited}self._client.{body}");
        if self.command == "sessions.list" {
            text.push_str(&self.every(&signature, &optional, passed));
        }
        text
    }

    fn doc(&self, args: &Value) -> String {
        let doc = describe(args);
        if self.command == "session.watch" {
            return "Watches a session's events, each exactly once. `from_` says where to start: an index, `now`, `run` or `start`; without it only live events come. `stay` keeps the watch across runners. A lost connection is taken up again for `reconnect` seconds.".to_owned();
        }
        doc
    }

    /// What the method returns, and the call that makes it.
    fn outcome(&self, command: &Value, named: &mut BTreeSet<String>) -> (String, String) {
        let name = self.command;
        let (stream, watch) = match self.style {
            Style::Blocking => ("FrameStream", "Watch"),
            Style::Asyncio => ("AsyncFrameStream", "AsyncWatch"),
        };
        match name {
            "session.watch" => return (watch.into(), "watch(ARGS, reconnect)".into()),
            "session.wait" => return ("WaitOutcome".into(), "wait(ARGS)".into()),
            "session.follow" => return (format!("{stream}[FollowFrame]"), format!("frames(\"{name}\", types.read_follow_frame, ARGS)")),
            "project.follow" => return (format!("{stream}[ProjectFrame]"), format!("frames(\"{name}\", types.read_project_frame, ARGS)")),
            "sessions.watch" => return (format!("{stream}[FeedEvent]"), format!("frames(\"{name}\", types.read_feed_event, ARGS)")),
            "session.export" => return ("Exported".into(), format!("ask(\"{name}\", types.read_exported, ARGS)")),
            _ => {}
        }
        let output = &command["output"];
        if output["type"] == "array" {
            let row = target(&output["items"]).unwrap_or("Any").to_owned();
            named.insert(row.clone());
            return (format!("Page[{row}]"), format!("page(\"{name}\", {row}.read, ARGS)"));
        }
        let result = target(output).unwrap_or("Any").to_owned();
        named.insert(result.clone());
        let call = format!("ask(\"{name}\", {result}.read, ARGS)");
        (result, call)
    }

    /// The method beside `list` that goes through all pages.
    fn every(&self, signature: &str, optional: &str, passed: &str) -> String {
        let optional = optional.replace("        cursor: str | None = None,\n", "");
        let passed = passed.replace("\"cursor\": cursor, ", "");
        let iterator = if self.style == Style::Blocking { "Iterator" } else { "AsyncIterator" };
        format!(
            "\n    def every(\n        self,\n{signature}{optional}    ) -> {iterator}[SessionBrief]:\n        \"\"\"Goes through all rows of `list`, page by page; `limit` is a page's size.\"\"\"\n        return self._client.every(\"{}\", SessionBrief.read, {{{passed}}})\n",
            self.command
        )
    }
}
