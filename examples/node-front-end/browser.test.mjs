// The page in a real headless browser; `SCREENSHOTS=folder` keeps pictures.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import bundled from "@sparticuz/chromium";
import { chromium } from "playwright-core";

test("a person starts, approves, reads and finds a task", { timeout: 120_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "galley-page-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const server = spawn(process.execPath, [fileURLToPath(new URL("server.mjs", import.meta.url)), "--db", join(folder, "galley.db")], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(server, "exit");
  t.after(() => server.kill("SIGKILL"));
  const address = String(await once(server.stdout, "data").then(([line]) => line)).trim();
  assert.equal((await fetch(`${address.split("#")[0]}approvals`, { method: "POST", body: "{}" })).status, 403);

  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? (await bundled.executablePath()), args: bundled.args });
  t.after(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1200, height: 760 } });
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  const picture = async (name) => process.env.SCREENSHOTS && page.screenshot({ path: join(process.env.SCREENSHOTS, name) });
  await page.goto(address);

  await page.getByLabel("New task").fill("echo a jar of marmalade; uname -sm");
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByText("code_run asks for approval").waitFor();
  assert.equal(await page.getByRole("status").textContent(), "waiting approval");
  await picture("node-front-end-approval.png");
  await page.getByRole("button", { name: "Allow once" }).click();
  await page.locator("article.agent", { hasText: "a jar of marmalade" }).waitFor();
  await page.getByRole("status").filter({ hasText: "completed" }).waitFor();
  await page.locator(".approval").waitFor({ state: "detached" });

  await page.getByLabel("Message").fill("date -u +%Y; echo '<b>not bold</b>'");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Allow once" }).click();
  await page.locator("article.agent", { hasText: "<b>not bold</b>" }).waitFor();
  await picture("node-front-end.png");

  await page.getByLabel("Search all sessions").fill("marmalade");
  await page.locator("nav mark", { hasText: "marmalade" }).first().waitFor();
  await picture("node-front-end-search.png");
  assert.deepEqual(problems, []);

  server.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});
