// A client of treeline, the session store for coding agents. It needs Node 20 and nothing else.
//
//   import { Client } from "./treeline.js";
//
//   const client = new Client();
//   const session = await client.create({ cwd: "/work/project" });
//   await session.appendUser({ text: "Which tests fail?" });
//   console.log((await session.buildParts()).messages);
//   await client.close();
//
// A Client starts `treeline rpc` and has one method for each method of docs/rpc.md that needs no open session. A Session has
// the others, which use its handle. Parameters are members of one object. Methods reject with a TreelineError.

import { spawn } from "node:child_process";

/** An error answer of the server. Programs should check the code; the text is for people. */
export class TreelineError extends Error {
  constructor(code, message, kind) {
    super(message);
    this.name = "TreelineError";
    this.code = code;
    this.kind = kind;
  }
}

/** The server has ended, or the client was closed. */
export class ConnectionLost extends Error {
  constructor(message = "the server has ended") {
    super(message);
    this.name = "ConnectionLost";
  }
}

// The methods that the generated ones call.
class Caller {
  async *_pages(method, rows, params) {
    for (;;) {
      const page = await this._call(method, params);
      yield* page[rows];
      if (page.next === null) return;
      params = { ...params, cursor: page.next };
    }
  }
}

// <client> from rpc.discover; go test ./clients -update writes it
class ClientMethods extends Caller {
  async create(params) {
    return this._opened(await this._call("create", params));
  }
  async open(params) {
    return this._opened(await this._call("open", params));
  }
  async continueRecent(params) {
    return this._opened(await this._call("continueRecent", params));
  }
  async inMemory(params) {
    return this._opened(await this._call("inMemory", params));
  }
  async forkFrom(params) {
    return this._opened(await this._call("forkFrom", params));
  }
  async buildSessionContext(params) {
    return this._call("buildSessionContext", params);
  }
  async startRun(params) {
    return this._call("startRun", params);
  }
  async appendRecord(params) {
    return this._call("appendRecord", params);
  }
  async continueRun(params) {
    return this._call("continueRun", params);
  }
  async endRun(params) {
    return this._call("endRun", params);
  }
  async loadEntries(params) {
    return this._call("loadEntries", params);
  }
  async parseEntries(params) {
    return this._call("parseEntries", params);
  }
  async migrateEntries(params) {
    return this._call("migrateEntries", params);
  }
  async findMostRecent(params) {
    return this._call("findMostRecent", params);
  }
  async getRecentSessions(params) {
    return this._call("getRecentSessions", params);
  }
  async list(params) {
    return this._call("list", params);
  }
  async listAll(params) {
    return this._call("listAll", params);
  }
  async saveState(params) {
    return this._call("saveState", params);
  }
  async loadState(params) {
    return this._call("loadState", params);
  }
  async catalogue(params) {
    return this._call("catalogue", params);
  }
  iterCatalogue(params) {
    return this._pages("catalogue", "rows", params);
  }
  async search(params) {
    return this._call("search", params);
  }
  async stats(params) {
    return this._call("stats", params);
  }
  async sources(params) {
    return this._call("sources", params);
  }
  async watch(params) {
    return this._call("watch", params);
  }
  async unwatch(params) {
    return this._call("unwatch", params);
  }
  async check(params) {
    return this._call("check", params);
  }
  async repair(params) {
    return this._call("repair", params);
  }
  async convert(params) {
    return this._call("convert", params);
  }
  async resumeCommand(params) {
    return this._call("resumeCommand", params);
  }
  async rm(params) {
    return this._call("rm", params);
  }
  async restore(params) {
    return this._call("restore", params);
  }
  async listTrash(params) {
    return this._call("listTrash", params);
  }
  async historyAdd(params) {
    return this._call("historyAdd", params);
  }
  async historySearch(params) {
    return this._call("historySearch", params);
  }
  async historyRecent(params) {
    return this._call("historyRecent", params);
  }
  async listRuns(params) {
    return this._call("listRuns", params);
  }
  iterListRuns(params) {
    return this._pages("listRuns", "runs", params);
  }
  async readRun(params) {
    return this._call("readRun", params);
  }
  iterReadRun(params) {
    return this._pages("readRun", "records", params);
  }
  async version(params) {
    return this._call("version", params);
  }
  async discover(params) {
    return this._call("rpc.discover", params);
  }
}
// </client>

// <session> from rpc.discover; go test ./clients -update writes it
class SessionMethods extends Caller {
  async newSession(params) {
    return this._opened(await this._call("newSession", params));
  }
  async createBranchedSession(params) {
    return this._opened(await this._call("createBranchedSession", params));
  }
  async fork(params) {
    return this._opened(await this._call("fork", params));
  }
  async move(params) {
    return this._opened(await this._call("move", params));
  }
  async flush(params) {
    return this._call("flush", params);
  }
  async appendMessage(params) {
    return this._call("appendMessage", params);
  }
  async appendUser(params) {
    return this._call("appendUser", params);
  }
  async appendAssistant(params) {
    return this._call("appendAssistant", params);
  }
  async appendToolResult(params) {
    return this._call("appendToolResult", params);
  }
  async appendThinkingLevelChange(params) {
    return this._call("appendThinkingLevelChange", params);
  }
  async appendModelChange(params) {
    return this._call("appendModelChange", params);
  }
  async appendCompaction(params) {
    return this._call("appendCompaction", params);
  }
  async appendCustomEntry(params) {
    return this._call("appendCustomEntry", params);
  }
  async appendCustomMessageEntry(params) {
    return this._call("appendCustomMessageEntry", params);
  }
  async appendLabelChange(params) {
    return this._call("appendLabelChange", params);
  }
  async appendSessionInfo(params) {
    return this._call("appendSessionInfo", params);
  }
  async appendModeChange(params) {
    return this._call("appendModeChange", params);
  }
  async appendTtsrInjection(params) {
    return this._call("appendTtsrInjection", params);
  }
  async appendSessionInit(params) {
    return this._call("appendSessionInit", params);
  }
  async appendServiceTierChange(params) {
    return this._call("appendServiceTierChange", params);
  }
  async appendMCPToolSelection(params) {
    return this._call("appendMCPToolSelection", params);
  }
  async branchWithSummary(params) {
    return this._call("branchWithSummary", params);
  }
  async branch(params) {
    return this._call("branch", params);
  }
  async resetLeaf(params) {
    return this._call("resetLeaf", params);
  }
  async setSessionName(params) {
    return this._call("setSessionName", params);
  }
  async rewriteEntries(params) {
    return this._call("rewriteEntries", params);
  }
  async rewriteToolCallArgs(params) {
    return this._call("rewriteToolCallArgs", params);
  }
  async getLeafId(params) {
    return this._call("getLeafId", params);
  }
  async getLeafEntry(params) {
    return this._call("getLeafEntry", params);
  }
  async getEntry(params) {
    return this._call("getEntry", params);
  }
  async getChildren(params) {
    return this._call("getChildren", params);
  }
  async getBranch(params) {
    return this._call("getBranch", params);
  }
  async getPath(params) {
    return this._call("getPath", params);
  }
  async getTree(params) {
    return this._call("getTree", params);
  }
  async getEntries(params) {
    return this._call("getEntries", params);
  }
  async getHeader(params) {
    return this._call("getHeader", params);
  }
  async getLabel(params) {
    return this._call("getLabel", params);
  }
  async getSessionName(params) {
    return this._call("getSessionName", params);
  }
  async getSessionFile(params) {
    return this._call("getSessionFile", params);
  }
  async getSessionId(params) {
    return this._call("getSessionId", params);
  }
  async getSessionDir(params) {
    return this._call("getSessionDir", params);
  }
  async getCwd(params) {
    return this._call("getCwd", params);
  }
  async isPersisted(params) {
    return this._call("isPersisted", params);
  }
  async buildRequest(params) {
    return this._call("buildRequest", params);
  }
  async buildSessionContext(params) {
    return this._call("buildSessionContext", params);
  }
  async buildParts(params) {
    return this._call("buildParts", params);
  }
  async startRun(params) {
    return this._call("startRun", params);
  }
  async check(params) {
    return this._call("check", params);
  }
  async convert(params) {
    return this._call("convert", params);
  }
  async resumeCommand(params) {
    return this._call("resumeCommand", params);
  }
}
// </session>

/** A connection to its own server process, which ends with it. */
export class Client extends ClientMethods {
  #process;
  #last = 0;
  #waiting = new Map();
  #watches = new Map();
  #ended = false;
  #exit;
  #onNotification;

  constructor({ program = "treeline", arguments: args = [], env, cwd, onNotification } = {}) {
    super();
    this.#onNotification = onNotification;
    this.#process = spawn(program, ["rpc", ...args], { stdio: ["pipe", "pipe", "inherit"], env, cwd });
    this.#process.stdin.on("error", () => {}); // the end of the process is reported anyway
    this.#exit = new Promise((resolve) => {
      let failure;
      this.#process.on("error", (error) => {
        failure = error;
        this.#end(error);
      });
      this.#process.on("close", (code) => {
        this.#end(failure ?? new ConnectionLost());
        resolve(code);
      });
    });
    this.#process.stdout.setEncoding("utf8");
    let begun = []; // pieces of a line. If the server was killed, an incomplete line is dropped
    this.#process.stdout.on("data", (text) => {
      const lines = text.split("\n"); // not node:readline, which also ends lines at a carriage return
      for (const rest of lines.splice(0, lines.length - 1)) {
        this.#receive(begun.join("") + rest);
        begun = [];
      }
      begun.push(lines[0]);
    });
  }

  /** Ends the server, which flushes and closes all sessions, and returns its exit code. */
  async close() {
    this.#process.stdin.end();
    return this.#exit;
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }

  /** Calls the method with a name. */
  async call(method, params = {}) {
    return this.#send(method, params);
  }

  /** Follows sessions like watch, and yields the changes until the loop over them ends. */
  async *changes(params = {}) {
    const queue = [];
    let wake = () => {};
    const push = (change) => {
      queue.push(change);
      wake();
    };
    // Notifications follow the answer at once, so the watch is registered when the answer is read.
    const { watch } = await this.#send("watch", params, (result) => this.#watches.set(result.watch, push));
    try {
      for (;;) {
        while (queue.length === 0) await new Promise((resolve) => (wake = resolve));
        const change = queue.shift();
        if (change instanceof Error) throw change;
        yield change;
        if (change.event === "end") return;
      }
    } finally {
      this.#watches.delete(watch);
      if (!this.#ended) await this.unwatch({ watch });
    }
  }

  _call(method, params) {
    return this.#send(method, params);
  }

  _opened(result) {
    return new Session(this, result);
  }

  async #send(method, params = {}, then) {
    if (this.#ended) throw new ConnectionLost();
    const id = ++this.#last;
    const line = JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n"; // throws for a value that is not JSON, such as a BigInt
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, then }));
    this.#process.stdin.write(line);
    return answer;
  }

  #receive(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.#end(new ConnectionLost("the server sent what is not JSON")); // it is unknown which request this answers
      return;
    }
    if ("method" in message) {
      if (message.method === "change") this.#watches.get(message.params.watch)?.(message.params);
      try {
        this.#onNotification?.(message.method, message.params);
      } catch (error) {
        queueMicrotask(() => { throw error; }); // the error is uncaught, as in any callback, but reading goes on
      }
      return;
    }
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return; // an answer to a request that was never sent
    this.#waiting.delete(message.id);
    if (message.error) {
      waiting.reject(new TreelineError(message.error.code, message.error.message, message.error.data?.kind));
      return;
    }
    waiting.then?.(message.result);
    waiting.resolve(message.result);
  }

  #end(error) {
    this.#ended = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    for (const push of this.#watches.values()) push(error);
    this.#watches.clear();
  }
}

/** An open session. */
export class Session extends SessionMethods {
  constructor(client, opened) {
    super();
    this.client = client;
    this.handle = opened.session;
    this._opened(opened);
  }

  async close() {
    const closed = this._call("close");
    this.handle = null;
    await closed;
  }

  async [Symbol.asyncDispose]() {
    if (this.handle !== null) await this.close();
  }

  async _call(method, params) {
    if (this.handle === null) throw new TreelineError(-32602, "the session is closed");
    return this.client._call(method, { ...params, session: this.handle });
  }

  _opened(result) {
    this.id = result.id;
    this.dialect = result.dialect;
    this.file = result.file;
    return this;
  }
}
