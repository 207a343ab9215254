// The real SessionManager: one JSON command per line on stdin, one JSON answer per line on stdout.
//   {"op":"read","path":…}               opens a session and returns what it sees
//   {"op":"write","path":…,"steps":[…]}  opens it, makes the steps, and returns what it sees then
// An entry is named by its number among all entries, modulo how many there are.
import { createInterface } from "node:readline";
import { SessionManager } from "@mariozechner/pi-coding-agent";

const look = (m) => ({
	leaf: m.getLeafId(),
	entries: m.getEntries(),
	context: m.buildSessionContext(),
	name: m.getSessionName() ?? "",
	labels: Object.fromEntries(m.getEntries().map((e) => [e.id, m.getLabel(e.id)]).filter(([, label]) => label)),
});

const step = (m, s) => {
	const entries = m.getEntries();
	const id = () => entries[s.target % entries.length].id;
	switch (s.do) {
		case "message": return m.appendMessage(s.message);
		case "thinking": return m.appendThinkingLevelChange(s.text);
		case "model": return m.appendModelChange(s.text, s.more);
		case "compaction": return m.appendCompaction(s.text, id(), 1234, s.message);
		case "custom": return m.appendCustomEntry(s.text, s.message);
		case "custom_message": return m.appendCustomMessageEntry(s.text, s.more, true, s.message);
		case "label": return m.appendLabelChange(id(), s.text || undefined);
		case "name": return m.appendSessionInfo(s.text);
		case "branch": return m.branch(id());
		case "reset": return m.resetLeaf();
		case "summary": return m.branchWithSummary(id(), s.text, s.message);
	}
	throw new Error(`unknown step ${s.do}`);
};

for await (const line of createInterface({ input: process.stdin })) {
	let answer;
	try {
		const { op, path, steps } = JSON.parse(line);
		const m = SessionManager.open(path);
		if (op === "write") for (const s of steps) step(m, s);
		answer = { answer: look(m) };
	} catch (e) {
		answer = { error: String(e?.stack ?? e) };
	}
	process.stdout.write(`${JSON.stringify(answer)}\n`);
}
