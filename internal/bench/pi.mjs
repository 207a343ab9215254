// What pi's own session manager costs: node pi.mjs OPERATION PATH ROUNDS NUMBER
//   open     opens the session and builds its context
//   context  builds the context of a session that is open, NUMBER times in a row
//   append   appends NUMBER messages to a new session in the folder
//   list     lists all sessions of the home folder
// It prints the least CPU time of the rounds, in nanoseconds for one operation, and how many messages or sessions there were.
import { mkdtempSync } from "node:fs";
import { register } from "node:module";
import { join } from "node:path";

// The session manager needs only these small files of its model library, which depends on much else.
const library = ["transcript", "uuid", "text"]
	.map((name) => `export * from ${JSON.stringify(new URL(`node_modules/@earendil-works/pi-ai/dist/utils/${name}.js`, import.meta.url))};`)
	.join("\n");
const hook = `export const resolve = (name, context, next) => name === "@earendil-works/pi-ai"
	? { url: "data:text/javascript," + encodeURIComponent(${JSON.stringify(library)}), shortCircuit: true }
	: next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
const { SessionManager } = await import("./node_modules/@earendil-works/pi-coding-agent/dist/core/session-manager.js");

const [operation, path, rounds, number] = process.argv.slice(2);
const times = Number(number);
const text = "x".repeat(500);
let opened;
const operations = {
	open: () => SessionManager.open(path).buildSessionContext().messages.length,
	context: () => {
		let messages = 0;
		for (let i = 0; i < times; i++) messages = opened.buildSessionContext().messages.length;
		return messages;
	},
	append: () => {
		const m = SessionManager.create("/work", mkdtempSync(join(path, "pi-")));
		// It creates the file with the first answer.
		m.appendMessage({ role: "assistant", content: [{ type: "text", text }], provider: "p", model: "m", timestamp: 1 });
		for (let i = 1; i < times; i++) m.appendMessage({ role: "user", content: [{ type: "text", text }], timestamp: 1 });
		return times;
	},
	list: async () => (await SessionManager.listAll()).length,
};
if (operation === "context") opened = SessionManager.open(path);
let least = Number.POSITIVE_INFINITY;
let count = 0;
for (let i = 0; i < Number(rounds); i++) {
	const before = process.cpuUsage();
	count = await operations[operation]();
	const { user, system } = process.cpuUsage(before);
	least = Math.min(least, (user + system) * 1000);
}
if (operation === "context") least = Math.round(least / times);
console.log(least, count);
