// A front end in a browser window: `node server.mjs [--socket PATH | --db PATH] [--port N]`.
//
// It serves one page over loopback. The page holds no rules: it shows what the client yields and
// sends what the person decides. In Electron the same handlers sit behind `ipcMain.handle`.
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { connect, Core, GalleyError } from "galley";

const { values: options } = parseArgs({ options: { socket: { type: "string" }, db: { type: "string" }, port: { type: "string", default: "0" } } });
const core = options.db ? await Core.start({ database: options.db }) : undefined;
const client = core ? core.client() : await connect({ socket: options.socket });

/** Only the page that was opened with it may ask for anything. */
const token = randomBytes(16).toString("hex");

const files = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/app.js": ["app.js", "text/javascript; charset=utf-8"],
  "/style.css": ["style.css", "text/css; charset=utf-8"],
};

/** What the page may ask for. */
const commands = {
  create: ({ task }) => client.sessions.create(task),
  send: ({ id, content }) => client.session(id).send(content),
  stop: ({ id }) => client.session(id).stop(),
  show: ({ id }) => client.session(id).show(),
  search: ({ query }) => client.sessions.search(query, { limit: 20 }),
  approvals: () => client.approvals.list(),
  respond: ({ id, decision }) => client.approvals.respond(id, decision),
};

/** What the page may listen to. */
const streams = {
  "/sessions": (_, signal) => client.sessions.watch({}, { signal }),
  "/events": (query, signal) => client.session(query.get("id")).watch({ from: "run", stay: true, signal }),
};

async function body(request) {
  let text = "";
  for await (const chunk of request) {
    text += chunk;
    if (text.length > 1 << 20) throw new TypeError("too long");
  }
  return JSON.parse(text);
}

/** Passes a stream on as server-sent events, as fast as the page reads. */
async function pass(stream, response) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  try {
    for await (const item of stream) {
      if (!response.write(`data: ${JSON.stringify(item)}\n\n`)) await new Promise((drained) => response.once("drain", drained).once("close", drained));
    }
  } catch (error) {
    if (!response.destroyed) response.write(`event: problem\ndata: ${JSON.stringify({ message: error.message })}\n\n`);
  }
  response.end();
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  const reply = (status, type, text) => response.writeHead(status, { "content-type": type, "content-security-policy": "default-src 'self'" }).end(text);
  try {
    if (files[url.pathname]) {
      const [name, type] = files[url.pathname];
      return reply(200, type, await readFile(new URL(`public/${name}`, import.meta.url)));
    }
    if ((request.headers["x-token"] ?? url.searchParams.get("token")) !== token) return reply(403, "text/plain", "open the address that the program printed");
    if (streams[url.pathname]) {
      const gone = new AbortController();
      response.on("close", () => gone.abort());
      return await pass(streams[url.pathname](url.searchParams, gone.signal), response);
    }
    const command = commands[url.pathname.slice(1)];
    if (!command || request.method !== "POST") return reply(404, "text/plain", "no such thing");
    return reply(200, "application/json", JSON.stringify(await command(await body(request))));
  } catch (error) {
    const known = error instanceof GalleyError;
    return reply(known ? 409 : 400, "application/json", JSON.stringify({ error: known ? error.code : "invalid_args", message: error.message }));
  }
});

server.listen(Number(options.port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/#${token}`));

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    server.close();
    server.closeAllConnections?.();
    await core?.shutdown();
    process.exit(0);
  });
}
