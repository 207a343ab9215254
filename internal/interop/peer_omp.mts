// How oh-my-pi lists sessions, keeps prompts and what it sends: one JSON command per line on stdin, one JSON answer per line on stdout.
//   {"op":"dir","cwd":…}                where it keeps the sessions of a directory
//   {"op":"list","cwd":…,"dir":…}       the sessions of a directory, dir is another session folder
//   {"op":"listAll"}                    those of all directories
//   {"op":"recent","dir":…,"limit":…}   the newest of a folder
//   {"op":"mostRecent","dir":…}         the newest one
//   {"op":"continue","cwd":…,"dir":…}   the file that it would continue, null for a new session
//   {"op":"history","path":…}           opens a history.db; a process has one
//   {"op":"add","prompts":[…],"cwd":…}  adds prompts, one after the other, and waits until they are written
//   {"op":"search","query":…,"limit":…} {"op":"recentPrompts","limit":…}
//   {"op":"sent","path":…}              the messages that it would send to a provider
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { HistoryStorage } from "@oh-my-pi/pi-coding-agent/session/history-storage";
import { convertToLlm } from "@oh-my-pi/pi-coding-agent/session/messages";
import { findMostRecentSession, getRecentSessions, SessionManager } from "@oh-my-pi/pi-coding-agent/session/session-manager";

let history: HistoryStorage;
const settled = () => new Promise((done) => setImmediate(() => setImmediate(done)));
const answers: Record<string, (given: any) => unknown> = {
	dir: ({ cwd }) => SessionManager.getDefaultSessionDir(cwd),
	list: ({ cwd, dir }) => SessionManager.list(cwd, dir),
	listAll: () => SessionManager.listAll(),
	recent: async ({ dir, limit }) =>
		(await getRecentSessions(dir, limit)).map(({ path, mtime, name, fullName }) => ({ path, mtime, name, fullName })),
	mostRecent: ({ dir }) => findMostRecentSession(dir),
	sent: async ({ path }) => convertToLlm((await SessionManager.open(path)).buildSessionContext().messages),
	continue: async ({ cwd, dir }) => {
		const file = (await SessionManager.continueRecent(cwd, dir)).getSessionFile();
		return file && existsSync(file) ? file : null;
	},
	history: ({ path }) => {
		history = HistoryStorage.open(path);
		return null;
	},
	add: async ({ prompts, cwd }) => {
		for (const prompt of prompts) {
			history.add(prompt, cwd);
			await settled();
		}
		return null;
	},
	search: ({ query, limit }) => history.search(query, limit),
	recentPrompts: ({ limit }) => history.getRecent(limit),
};

for await (const line of createInterface({ input: process.stdin })) {
	let answer: unknown;
	try {
		const { op, ...given } = JSON.parse(line);
		answer = { answer: (await answers[op](given)) ?? null };
	} catch (e: any) {
		answer = { error: String(e?.stack ?? e) };
	}
	process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
