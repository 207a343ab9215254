// How oh-my-pi reads a session: one JSON command per line on stdin, one JSON answer per line on stdout.
//   {"op":"read","path":…}   opens a session: its name, its leaf and its context
import { createInterface } from "node:readline";
import { SessionManager } from "@oh-my-pi/pi-coding-agent/session/session-manager";

for await (const line of createInterface({ input: process.stdin })) {
	let answer: unknown;
	try {
		const m = await SessionManager.open(JSON.parse(line).path);
		answer = { answer: { name: m.getSessionName() ?? "", leaf: m.getLeafId(), context: m.buildSessionContext() } };
	} catch (e: any) {
		answer = { error: String(e?.stack ?? e) };
	}
	process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
