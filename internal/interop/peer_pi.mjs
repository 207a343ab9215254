// How pi lists and reads sessions and what it sends: one JSON command per line on stdin, one JSON answer per line on stdout.
//   {"op":"dir","cwd":…}                where it keeps the sessions of a directory
//   {"op":"list","cwd":…,"dir":…}       the sessions of a directory, dir is another session folder
//   {"op":"listAll","dir":…}            those of all directories, or of a folder
//   {"op":"mostRecent","dir":…}         the newest of a folder
//   {"op":"continue","cwd":…,"dir":…}   the file that it would continue, null for a new session
//   {"op":"sent","path":…}              the messages that it would send to a provider
//   {"op":"read","path":…}              a session: its name, its leaf and its context
import { existsSync } from "node:fs";
import { register } from "node:module";
import { createInterface } from "node:readline";

// The session manager needs only these small files of its model library, which depends on packages that are not installed.
const library = `export * from ${JSON.stringify(new URL("node_modules/@earendil-works/pi-ai/dist/utils/transcript.js", import.meta.url))};
export * from ${JSON.stringify(new URL("node_modules/@earendil-works/pi-ai/dist/utils/uuid.js", import.meta.url))};
export * from ${JSON.stringify(new URL("node_modules/@earendil-works/pi-ai/dist/utils/text.js", import.meta.url))};`;
const hook = `export const resolve = (name, context, next) => name === "@earendil-works/pi-ai"
	? { url: "data:text/javascript," + encodeURIComponent(${JSON.stringify(library)}), shortCircuit: true }
	: next(name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
const { SessionManager, findMostRecentSession, getDefaultSessionDir } = await import(
	"./node_modules/@earendil-works/pi-coding-agent/dist/core/session-manager.js"
);
const { convertToLlm } = await import("./node_modules/@earendil-works/pi-coding-agent/dist/core/messages.js");

const answers = {
	dir: ({ cwd }) => getDefaultSessionDir(cwd),
	list: ({ cwd, dir }) => SessionManager.list(cwd, dir),
	listAll: ({ dir }) => (dir ? SessionManager.listAll(dir) : SessionManager.listAll()),
	mostRecent: ({ dir }) => findMostRecentSession(dir),
	sent: ({ path }) => convertToLlm(SessionManager.open(path).buildSessionContext().messages),
	read: ({ path }) => {
		const m = SessionManager.open(path);
		return { name: m.getSessionName() ?? "", leaf: m.getLeafId(), context: m.buildSessionContext() };
	},
	continue: ({ cwd, dir }) => {
		const file = SessionManager.continueRecent(cwd, dir).getSessionFile();
		return file && existsSync(file) ? file : null;
	},
};

for await (const line of createInterface({ input: process.stdin })) {
	let answer;
	try {
		const { op, ...given } = JSON.parse(line);
		answer = { answer: await answers[op](given) };
	} catch (e) {
		answer = { error: String(e?.stack ?? e) };
	}
	process.stdout.write(`${JSON.stringify(answer)}\n`);
}
