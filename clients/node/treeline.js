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
// the others, which use its handle. Parameters are members of one object. Methods reject with a TreelineError. After the
// parameters they take { signal }, an AbortSignal that cancels the request.

import { spawn } from "node:child_process";

/** An error answer of the server. Programs should check the code and the kind, such as "unknown-entry"; the text is for people. */
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
  async *_pages(method, rows, params, options) {
    for (;;) {
      const page = await this._call(method, params, options);
      yield* page[rows];
      if (page.next === null) return;
      params = { ...params, cursor: page.next };
    }
  }
}

// <client> from rpc.discover; go test ./clients -update writes it
class ClientMethods extends Caller {
  async create(params, options) {
    return this._opened(await this._call("create", params, options));
  }
  async open(params, options) {
    return this._opened(await this._call("open", params, options));
  }
  async continueRecent(params, options) {
    return this._opened(await this._call("continueRecent", params, options));
  }
  async inMemory(params, options) {
    return this._opened(await this._call("inMemory", params, options));
  }
  async forkFrom(params, options) {
    return this._opened(await this._call("forkFrom", params, options));
  }
  async buildSessionContext(params, options) {
    return this._call("buildSessionContext", params, options);
  }
  async startRun(params, options) {
    return this._call("startRun", params, options);
  }
  async appendRecord(params, options) {
    return this._call("appendRecord", params, options);
  }
  async continueRun(params, options) {
    return this._call("continueRun", params, options);
  }
  async endRun(params, options) {
    return this._call("endRun", params, options);
  }
  async loadEntries(params, options) {
    return this._call("loadEntries", params, options);
  }
  async parseEntries(params, options) {
    return this._call("parseEntries", params, options);
  }
  async migrateEntries(params, options) {
    return this._call("migrateEntries", params, options);
  }
  async findMostRecent(params, options) {
    return this._call("findMostRecent", params, options);
  }
  async getRecentSessions(params, options) {
    return this._call("getRecentSessions", params, options);
  }
  async list(params, options) {
    return this._call("list", params, options);
  }
  async listAll(params, options) {
    return this._call("listAll", params, options);
  }
  async saveState(params, options) {
    return this._call("saveState", params, options);
  }
  async loadState(params, options) {
    return this._call("loadState", params, options);
  }
  async catalogue(params, options) {
    return this._call("catalogue", params, options);
  }
  iterCatalogue(params, options) {
    return this._pages("catalogue", "rows", params, options);
  }
  async search(params, options) {
    return this._call("search", params, options);
  }
  async stats(params, options) {
    return this._call("stats", params, options);
  }
  async sources(params, options) {
    return this._call("sources", params, options);
  }
  async watch(params, options) {
    return this._call("watch", params, options);
  }
  async unwatch(params, options) {
    return this._call("unwatch", params, options);
  }
  async check(params, options) {
    return this._call("check", params, options);
  }
  async repair(params, options) {
    return this._call("repair", params, options);
  }
  async convert(params, options) {
    return this._call("convert", params, options);
  }
  async resumeCommand(params, options) {
    return this._call("resumeCommand", params, options);
  }
  async rm(params, options) {
    return this._call("rm", params, options);
  }
  async restore(params, options) {
    return this._call("restore", params, options);
  }
  async listTrash(params, options) {
    return this._call("listTrash", params, options);
  }
  async historyAdd(params, options) {
    return this._call("historyAdd", params, options);
  }
  async historySearch(params, options) {
    return this._call("historySearch", params, options);
  }
  async historyRecent(params, options) {
    return this._call("historyRecent", params, options);
  }
  async listRuns(params, options) {
    return this._call("listRuns", params, options);
  }
  iterListRuns(params, options) {
    return this._pages("listRuns", "runs", params, options);
  }
  async readRun(params, options) {
    return this._call("readRun", params, options);
  }
  iterReadRun(params, options) {
    return this._pages("readRun", "records", params, options);
  }
  async version(params, options) {
    return this._call("version", params, options);
  }
  async discover(params, options) {
    return this._call("rpc.discover", params, options);
  }
}
// </client>

// <session> from rpc.discover; go test ./clients -update writes it
class SessionMethods extends Caller {
  async newSession(params, options) {
    return this._opened(await this._call("newSession", params, options));
  }
  async createBranchedSession(params, options) {
    return this._opened(await this._call("createBranchedSession", params, options));
  }
  async fork(params, options) {
    return this._opened(await this._call("fork", params, options));
  }
  async move(params, options) {
    return this._opened(await this._call("move", params, options));
  }
  async flush(params, options) {
    return this._call("flush", params, options);
  }
  async appendMessage(params, options) {
    return this._call("appendMessage", params, options);
  }
  async appendUser(params, options) {
    return this._call("appendUser", params, options);
  }
  async appendAssistant(params, options) {
    return this._call("appendAssistant", params, options);
  }
  async appendToolResult(params, options) {
    return this._call("appendToolResult", params, options);
  }
  async appendThinkingLevelChange(params, options) {
    return this._call("appendThinkingLevelChange", params, options);
  }
  async appendModelChange(params, options) {
    return this._call("appendModelChange", params, options);
  }
  async appendCompaction(params, options) {
    return this._call("appendCompaction", params, options);
  }
  async appendCustomEntry(params, options) {
    return this._call("appendCustomEntry", params, options);
  }
  async appendCustomMessageEntry(params, options) {
    return this._call("appendCustomMessageEntry", params, options);
  }
  async appendLabelChange(params, options) {
    return this._call("appendLabelChange", params, options);
  }
  async appendSessionInfo(params, options) {
    return this._call("appendSessionInfo", params, options);
  }
  async appendModeChange(params, options) {
    return this._call("appendModeChange", params, options);
  }
  async appendTtsrInjection(params, options) {
    return this._call("appendTtsrInjection", params, options);
  }
  async appendSessionInit(params, options) {
    return this._call("appendSessionInit", params, options);
  }
  async appendServiceTierChange(params, options) {
    return this._call("appendServiceTierChange", params, options);
  }
  async appendMCPToolSelection(params, options) {
    return this._call("appendMCPToolSelection", params, options);
  }
  async branchWithSummary(params, options) {
    return this._call("branchWithSummary", params, options);
  }
  async branch(params, options) {
    return this._call("branch", params, options);
  }
  async resetLeaf(params, options) {
    return this._call("resetLeaf", params, options);
  }
  async setSessionName(params, options) {
    return this._call("setSessionName", params, options);
  }
  async rewriteEntries(params, options) {
    return this._call("rewriteEntries", params, options);
  }
  async rewriteToolCallArgs(params, options) {
    return this._call("rewriteToolCallArgs", params, options);
  }
  async getLeafId(params, options) {
    return this._call("getLeafId", params, options);
  }
  async getLeafEntry(params, options) {
    return this._call("getLeafEntry", params, options);
  }
  async getEntry(params, options) {
    return this._call("getEntry", params, options);
  }
  async getChildren(params, options) {
    return this._call("getChildren", params, options);
  }
  async getBranch(params, options) {
    return this._call("getBranch", params, options);
  }
  async getPath(params, options) {
    return this._call("getPath", params, options);
  }
  async getTree(params, options) {
    return this._call("getTree", params, options);
  }
  async getEntries(params, options) {
    return this._call("getEntries", params, options);
  }
  async getHeader(params, options) {
    return this._call("getHeader", params, options);
  }
  async getLabel(params, options) {
    return this._call("getLabel", params, options);
  }
  async getSessionName(params, options) {
    return this._call("getSessionName", params, options);
  }
  async getSessionFile(params, options) {
    return this._call("getSessionFile", params, options);
  }
  async getSessionId(params, options) {
    return this._call("getSessionId", params, options);
  }
  async getSessionDir(params, options) {
    return this._call("getSessionDir", params, options);
  }
  async getCwd(params, options) {
    return this._call("getCwd", params, options);
  }
  async isPersisted(params, options) {
    return this._call("isPersisted", params, options);
  }
  async buildRequest(params, options) {
    return this._call("buildRequest", params, options);
  }
  async buildSessionContext(params, options) {
    return this._call("buildSessionContext", params, options);
  }
  async buildParts(params, options) {
    return this._call("buildParts", params, options);
  }
  async startRun(params, options) {
    return this._call("startRun", params, options);
  }
  async check(params, options) {
    return this._call("check", params, options);
  }
  async convert(params, options) {
    return this._call("convert", params, options);
  }
  async resumeCommand(params, options) {
    return this._call("resumeCommand", params, options);
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
  async call(method, params = {}, options) {
    return this.#send(method, params, options);
  }

  /** Follows sessions like watch, and yields the changes until the loop over them ends. */
  async *changes(params = {}, options = {}) {
    const queue = [];
    let wake = () => {};
    const push = (change) => {
      queue.push(change);
      wake();
    };
    // Notifications follow the answer at once, so the watch is registered when the answer is read.
    const { watch } = await this.#send("watch", params, options, (result) => this.#watches.set(result.watch, push));
    const { signal } = options;
    const abort = () => push(signal.reason);
    signal?.addEventListener("abort", abort);
    try {
      for (;;) {
        while (queue.length === 0 && !signal?.aborted) await new Promise((resolve) => (wake = resolve));
        const change = queue.shift();
        if (signal?.aborted) throw signal.reason;
        if (change instanceof Error) throw change;
        yield change;
        if (change.event === "end") return;
      }
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#watches.delete(watch);
      if (!this.#ended) await this.unwatch({ watch });
    }
  }

  _call(method, params, options) {
    return this.#send(method, params, options);
  }

  _opened(result) {
    return new Session(this, result);
  }

  async #send(method, params = {}, { signal } = {}, then) {
    if (params?.signal instanceof AbortSignal) throw new TypeError("the signal belongs into the argument after the parameters");
    signal?.throwIfAborted();
    if (this.#ended) throw new ConnectionLost();
    const id = ++this.#last;
    const line = JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n"; // throws for a value that is not JSON, such as a BigInt
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, then }));
    this.#process.stdin.write(line);
    if (!signal) return answer;
    const cancel = () => this.#process.stdin.write(JSON.stringify({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } }) + "\n");
    signal.addEventListener("abort", cancel);
    try {
      return await answer;
    } catch (error) {
      if (signal.aborted && error instanceof TreelineError && error.kind === "cancelled") throw signal.reason;
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
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

  async _call(method, params, options) {
    if (this.handle === null) throw new TreelineError(-32602, "the session is closed");
    return this.client._call(method, { ...params, session: this.handle }, options);
  }

  _opened(result) {
    this.id = result.id;
    this.dialect = result.dialect;
    this.file = result.file;
    return this;
  }
}
