// A client of `treeline rpc` in JavaScript, with nothing but Node itself.
//
//     node rpc.mjs [TREELINE [FOLDER]]
//
// TREELINE is the program (default: treeline), FOLDER where the session goes (default: a temporary one).

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The store: every method of docs/rpc.md is a method here, and takes its parameters as an object. */
function treeline(program = "treeline") {
	const child = spawn(program, ["rpc"], { stdio: ["pipe", "pipe", "inherit"] });
	const ended = new Promise((resolve) => child.on("exit", resolve));
	const waiting = new Map();
	let last = 0;
	// Answers of different sessions may come in any order: the id says which request they are for.
	createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => {
		const answer = JSON.parse(line);
		const { resolve, reject } = waiting.get(answer.id);
		waiting.delete(answer.id);
		if (answer.error) reject(Object.assign(new Error(answer.error.message), { code: answer.error.code }));
		else resolve(answer.result);
	});
	const call = (method, params) =>
		new Promise((resolve, reject) => {
			const id = ++last;
			waiting.set(id, { resolve, reject });
			child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
		});
	// Ending the input flushes and closes all sessions.
	const end = () => (child.stdin.end(), ended);
	return new Proxy({}, { get: (_, method) => (method === "end" ? end : (params = {}) => call(method, params)) });
}

const store = treeline(process.argv[2]);
const folder = process.argv[3] ?? mkdtempSync(join(tmpdir(), "treeline-"));

// A session for this directory. Its file appears with the first message.
const { session, file } = await store.create({ cwd: process.cwd(), sessionDir: folder });
const question = await store.appendMessage({ session, message: { role: "user", content: "Which tests fail?", timestamp: 1 } });
console.log("on disk after the question:", question.durable && existsSync(file));

const answer = (text, timestamp) =>
	store.appendMessage({
		session,
		message: { role: "assistant", provider: "anthropic", model: "claude", timestamp, content: [{ type: "text", text }] },
	});
await answer("Two: parser and printer.", 2);

// Go back to the question and try again: another branch. Requests of one session keep their order, so there is no need
// to wait for each answer.
const [, , tree] = await Promise.all([
	store.branch({ session, id: question.id }),
	answer("Only the printer.", 3),
	store.getTree({ session }),
]);
console.log("answers to the question:", tree[0].children.length);

// What the model would see now.
const context = await store.buildSessionContext({ session });
for (const { role, content } of context.messages) {
	console.log(`${role}: ${typeof content === "string" ? content : content[0].text}`);
}
console.log("model:", context.models.default);

try {
	await store.branch({ session, id: "00000000" });
} catch (error) {
	console.log(`error ${error.code}: ${error.message}`);
}

await store.close({ session });
console.log("entries in the file:", (await store.loadEntries({ path: file })).length - 1);
console.log("exit code:", await store.end());
