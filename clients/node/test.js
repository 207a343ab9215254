// Tests of the client against the program: TREELINE=/path/to/treeline node --test test.js

import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Client, ConnectionLost, Session, TreelineError } from "./treeline.js";

const said = (role, text) =>
  role === "user"
    ? { role, content: text, timestamp: 1 }
    : { role, content: [{ type: "text", text }], provider: "anthropic", model: "claude", timestamp: 1 };

// with runs a test with a client that has a home directory of its own.
const withClient = (name, use) =>
  test(name, async () => {
    const home = mkdtempSync(join(tmpdir(), "treeline-"));
    const client = new Client({ program: process.env.TREELINE, env: { ...process.env, HOME: home } });
    try {
      await use(client, home);
    } finally {
      await client.close();
      rmSync(home, { recursive: true });
    }
  });

async function talk(client, home, dialect = "pi") {
  const session = await client.create({ cwd: home, dialect });
  await session.appendMessage({ message: said("user", "Which tests fail?") });
  await session.appendMessage({ message: said("assistant", "Only the printer.") });
  await session.close();
  return session;
}

withClient("a session", async (client, home) => {
  const session = await client.create({ cwd: home });
  assert.equal(session.dialect, "omp");
  const { id } = await session.appendMessage({ message: said("user", "Which tests fail?") });
  await session.appendMessage({ message: said("assistant", "Only the printer.") });
  assert.ok(existsSync(session.file));
  await session.branch({ id });
  await session.appendMessage({ message: said("assistant", "None.") });
  assert.equal((await session.getChildren({ parentId: id })).length, 2);
  assert.deepEqual((await session.buildSessionContext()).messages.map((m) => m.role), ["user", "assistant"]);
  assert.deepEqual((await session.buildSessionContext({ leafId: null })).messages, []);
  assert.deepEqual((await session.getTree({ flat: true })).map((n) => n.depth), [0, 1, 1]);
  const before = session.id;
  assert.equal(await session.fork(), session);
  assert.notEqual(session.id, before);
  await session[Symbol.asyncDispose]();
  await session[Symbol.asyncDispose]();
  assert.equal(session.handle, null);
});

withClient("errors", async (client) => {
  const session = await client.inMemory();
  await assert.rejects(session.branch({ id: "00000000" }), (e) => e instanceof TreelineError && e.code === -32000 && e.kind === "unknown-entry" && /not found/.test(e.message));
  await assert.rejects(client.create({ cwd: 7 }), { code: -32602 });
});

withClient("all sessions", async (client, home) => {
  const ids = new Set();
  for (let i = 0; i < 3; i++) ids.add((await talk(client, home)).id);
  const rows = new Set();
  for await (const row of client.iterCatalogue({ limit: 2 })) rows.add(row.id);
  assert.deepEqual(rows, ids);
  const { hits, more } = await client.search({ query: "printer", in: ["assistant"], limit: 2 });
  assert.deepEqual([hits.length, more], [2, true]);
  const { id, file } = await talk(client, home, "omp");
  assert.deepEqual(await client.check({ ref: id }), []);
  const report = await client.convert({ ref: id, to: "pi", dir: home });
  assert.ok(existsSync(report.target.path));
  const trashed = await client.rm({ ref: file });
  assert.ok(!existsSync(file));
  await client.restore({ id: trashed.id });
  assert.ok(existsSync(file));
  await client.historyAdd({ prompt: "hello there", cwd: home });
  assert.deepEqual((await client.historySearch({ text: "hel" })).map((p) => p.prompt), ["hello there"]);
});

withClient("runs", async (client) => {
  const { run, id } = await client.startRun();
  for (let n = 0; n < 5; n++) await client.appendRecord({ run, record: { type: "run.status", status: "running", n } });
  await client.endRun({ run, outcome: "completed" });
  const records = [];
  for await (const r of client.iterReadRun({ ref: id, limit: 2 })) records.push(r.n);
  assert.deepEqual(records, [0, 1, 2, 3, 4, undefined]);
});

withClient("changes", async (client, home) => {
  const { file } = await talk(client, home);
  const seen = [];
  for await (const change of client.changes({ ref: file })) {
    seen.push(change.event);
    if (change.event === "start") {
      const session = await client.open({ path: file });
      await session.appendMessage({ message: said("user", "And now?") });
    }
    if (change.event === "entry") {
      assert.equal(change.entry.parts[0].text, "And now?");
      break;
    }
  }
  assert.deepEqual(seen, ["start", "entry"]);
});

// This sends more than a pipe holds. Node warns of a leak if each request waits for the pipe separately.
withClient("many at once", async (client) => {
  const warnings = [];
  process.on("warning", (w) => warnings.push(w.name));
  const session = await client.inMemory();
  const data = "x".repeat(20_000);
  await Promise.all(Array.from({ length: 50 }, () => session.appendCustomEntry({ customType: "x", data })));
  assert.equal((await session.getEntries()).length, 50);
  assert.deepEqual(warnings, []);
});

withClient("the end", async (client) => {
  const session = await client.inMemory();
  assert.equal(await client.close(), 0);
  await assert.rejects(session.getEntries(), ConnectionLost);
});

test("a server that is killed while it writes", async () => {
  const home = mkdtempSync(join(tmpdir(), "treeline-")), program = join(home, "server");
  writeFileSync(program, `#!/bin/sh\nread line\nprintf '{"jsonrpc":"2.0","id":1,"res'\n`, { mode: 0o700 });
  const client = new Client({ program });
  await assert.rejects(client.version(), ConnectionLost);
  await client.close();
  rmSync(home, { recursive: true });
});

// Records are passed on unchanged, and JSON may have a carriage return between its members.
withClient("carriage returns", async (client, home) => {
  const { file } = await talk(client, home);
  appendFileSync(file, '{"type":"custom",\r"customType":"x","data":"\u2028","id":"0a1b2c3d","parentId":null,"timestamp":"2026-01-01T00:00:00Z"}\n');
  const session = await client.open({ path: file, readOnly: true });
  assert.equal((await session.getEntry({ id: "0a1b2c3d" })).data, "\u2028");
});

withClient("a signal", async (client) => {
  const session = await client.inMemory();
  const gone = AbortSignal.abort();
  await assert.rejects(client.sources({}, { signal: gone }), { name: "AbortError" });
  await assert.rejects(session.appendCustomEntry({ customType: "x" }, { signal: gone }), { name: "AbortError" });
  await assert.rejects(client.iterCatalogue({}, { signal: gone }).next(), { name: "AbortError" });
  await assert.rejects(client.sources({ signal: gone }), TypeError);
  await client.sources({}, { signal: null });
  const kept = new AbortController();
  await session.appendCustomEntry({ customType: "y" }, { signal: kept.signal });
  kept.abort(); // after the answer
  assert.deepEqual((await session.getEntries()).map((e) => e.customType), ["y"]);
  const watched = new AbortController();
  const changes = client.changes({}, { signal: watched.signal });
  const next = changes.next();
  setImmediate(() => watched.abort(new Error("enough")));
  await assert.rejects(next, /enough/);
});

// The server of this test answers only what was cancelled. It carries out the second request nevertheless.
test("a request that is cancelled", async () => {
  const home = mkdtempSync(join(tmpdir(), "treeline-")), program = join(home, "server");
  writeFileSync(program, `#!/bin/sh
read line; read cancel
case $cancel in *'"method":"$/cancelRequest","params":{"id":1}'*) ;; *) exit 1 ;; esac
echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"the request was cancelled","data":{"kind":"cancelled"}}}'
read line; read cancel
echo '{"jsonrpc":"2.0","id":2,"result":7}'
read line
`, { mode: 0o700 });
  const client = new Client({ program });
  for (const settles of [(p) => assert.rejects(p, /enough/), async (p) => assert.equal(await p, 7)]) {
    const controller = new AbortController();
    const answer = client.call("x", {}, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await settles(answer);
  }
  await client.close();
  rmSync(home, { recursive: true });
});

test("a server that sends what is not JSON", async () => {
  const home = mkdtempSync(join(tmpdir(), "treeline-")), program = join(home, "server");
  writeFileSync(program, "#!/bin/sh\nread line\necho hello\nread line\n", { mode: 0o700 });
  const client = new Client({ program });
  await assert.rejects(client.version(), ConnectionLost);
  await client.close();
  rmSync(home, { recursive: true });
});

withClient("a closed session", async (client) => {
  const session = await client.inMemory();
  await session.close();
  await assert.rejects(session.startRun(), { code: -32602 }); // not a run without a session
});

withClient("what is not JSON", async (client) => {
  const session = await client.inMemory();
  await assert.rejects(session.appendCustomEntry({ customType: "x", data: 1n }), TypeError);
  assert.deepEqual(await session.getEntries(), []);
});

test("a missing program", async () => {
  const client = new Client({ program: "/no/such/program" });
  await assert.rejects(client.version(), { code: "ENOENT" });
});

withClient("the methods are those of the server", async (client) => {
  const { methods } = await client.discover();
  for (const { name, params } of methods) {
    const own = name.slice(name.lastIndexOf(".") + 1);
    const session = params.find((p) => p.name === "session");
    if (!session?.required) assert.equal(typeof Client.prototype[own], "function", name);
    if (session) assert.equal(typeof Session.prototype[own], "function", name);
  }
});
