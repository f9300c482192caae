// The page: rows from the feed, a transcript from the watch, and buttons that send commands.
const token = location.hash.slice(1);
const $ = (id) => document.getElementById(id);

const sessions = new Map();
let chosen;
let events;

async function ask(command, args = {}) {
  const response = await fetch(`/${command}`, { method: "POST", headers: { "x-token": token }, body: JSON.stringify(args) });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

/** Runs what a person asked for, and says what went wrong. */
async function attempt(action) {
  $("problem").hidden = true;
  try {
    return await action();
  } catch (error) {
    $("problem").textContent = error.message;
    $("problem").hidden = false;
  }
}

function listen(path, query, on) {
  const source = new EventSource(`${path}?${new URLSearchParams({ ...query, token })}`);
  source.onmessage = ({ data }) => on(JSON.parse(data));
  source.addEventListener("problem", () => source.close());
  return source;
}

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function showSessions() {
  const rows = [...sessions.values()].sort((a, b) => b.lastActivityAt.localeCompare(a.lastActivityAt));
  $("sessions").replaceChildren(
    ...rows.map((session) => {
      const button = make("button", { onclick: () => choose(session.id) }, make("span", { className: "name", textContent: session.title }), make("small", { className: session.status, textContent: session.status.replace("_", " ") }));
      if (session.id === chosen) button.setAttribute("aria-current", "true");
      return make("li", {}, button);
    }),
  );
  const session = sessions.get(chosen);
  $("title").textContent = session?.title ?? "No session";
  $("status").textContent = session?.status.replace("_", " ") ?? "";
  $("status").className = `badge ${session?.status ?? ""}`;
  $("stop").hidden = !["running", "waiting_approval"].includes(session?.status);
  $("send").hidden = !session;
}

function say(who, text) {
  const words = make("pre", { textContent: text });
  $("transcript").append(make("article", { className: who }, make("div", { className: "who", textContent: who === "user" ? "You" : "Agent" }), words));
  $("transcript").scrollTop = $("transcript").scrollHeight;
  return words;
}

async function choose(id) {
  events?.close();
  chosen = id;
  showSessions();
  await showTranscript();
  let streaming;
  events = listen("/events", { id }, ({ data: event }) => {
    if (event.kind === "turn_start") streaming = undefined;
    if (event.kind === "turn_progress") (streaming ??= say("agent", "")).textContent += event.delta;
    if (event.kind === "run_complete") showTranscript();
  });
}

async function showTranscript() {
  const messages = await ask("show", { id: chosen });
  $("transcript").replaceChildren();
  for (const { role, content } of messages) say(role, content);
}

async function showApprovals() {
  const waiting = await ask("approvals");
  $("approvals").replaceChildren(
    ...waiting.map(({ id, toolName, argsPreview, reason }) => {
      const answer = (decision) => () => attempt(() => ask("respond", { id, decision }));
      return make(
        "div",
        { className: "approval" },
        make("strong", { textContent: `${toolName} asks for approval` }),
        make("pre", { textContent: argsPreview ?? "" }),
        make("small", { textContent: reason ?? "" }),
        make("div", {}, make("button", { className: "allow", textContent: "Allow once", onclick: answer("allow_once") }), make("button", { textContent: "Deny", onclick: answer("deny") })),
      );
    }),
  );
}

/** A snippet is HTML in which only `<mark>` was written by Galley; it is built again from its text. */
function snippet(html) {
  return [...new DOMParser().parseFromString(html, "text/html").body.childNodes].map((node) => (node.nodeName === "MARK" ? make("mark", { textContent: node.textContent }) : node.textContent));
}

async function search(query) {
  if (query.trim().length < 2) return showSessions();
  const hits = await ask("search", { query });
  const rows = hits.map((hit) => make("li", {}, make("button", { onclick: () => choose(hit.sessionId) }, make("span", { className: "name", textContent: sessions.get(hit.sessionId)?.title ?? hit.sessionId }), make("small", {}, ...snippet(hit.snippet)))));
  $("sessions").replaceChildren(...(rows.length ? rows : [make("li", { className: "empty", textContent: "Nothing found." })]));
}

function form(id, field, action) {
  $(id).onsubmit = (event) => {
    event.preventDefault();
    const text = $(field).value;
    if (id !== "search") $(field).value = "";
    attempt(() => action(text));
  };
}

form("create", "task", async (task) => choose((await ask("create", { task })).session.id));
form("send", "content", async (content) => {
  await ask("send", { id: chosen, content });
  await showTranscript();
});
form("search", "query", search);
$("query").oninput = () => attempt(() => search($("query").value));
$("stop").onclick = () => attempt(() => ask("stop", { id: chosen }));

listen("/sessions", {}, (change) => {
  if (change.kind === "snapshot") for (const session of change.sessions) sessions.set(session.id, session);
  if (change.kind === "session_changed") sessions.set(change.id, change);
  if (change.kind === "session_deleted") sessions.delete(change.sessionId);
  if (change.kind === "snapshot" || change.kind === "approval_changed") showApprovals();
  if (!$("query").value) showSessions();
});
