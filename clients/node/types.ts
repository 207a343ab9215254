// Code that tsc must accept or refuse, as .ci/run checks. It is never run.

import { type Cancelling, Client, type Change, type Row, Session, TreelineError } from "treeline";

export async function accepted(): Promise<Row[]> {
  await using client = new Client({ arguments: ["--sync", "always"] });
  await using session: Session = await client.create({ cwd: "/work", deferUntil: "never" });
  const { id } = await session.appendMessage({ message: { role: "user", content: "hello" } });
  await session.branchWithSummary({ id: null, summary: id });
  const context = await session.buildSessionContext({ leafId: null });
  context.messages.map((m) => m.role);
  const label: string | null = await session.getLabel({ id });
  const problems = await client.check({ ref: label ?? "@last" });
  problems.map((p) => `${p.path}:${p.line}`);
  for await (const change of client.changes({ last: 10 })) {
    const event: Change["event"] = change.event;
    if (event === "entry") break;
  }
  const rows: Row[] = [];
  for await (const row of client.iterCatalogue({ has: ["label"] })) rows.push(row);
  try {
    await client.unwatch({ watch: "w1" });
  } catch (e) {
    if (e instanceof TreelineError && e.code === -32602) return rows;
  }
  return rows;
}

export async function cancelled(client: Client, session: Session, signal: Cancelling): Promise<void> {
  await client.search({ query: "decimal" }, { signal });
  await client.sources({}, { signal });
  await session.flush(undefined, { signal });
  for await (const row of client.iterCatalogue({}, { signal })) row.title satisfies string;
  for await (const change of client.changes({}, { signal })) change.event satisfies string;
  // @ts-expect-error the signal is not a parameter
  await client.search({ query: "decimal", signal });
  // @ts-expect-error nor where there are none
  await client.sources({ signal });
}

export async function refused(client: Client, session: Session): Promise<void> {
  // @ts-expect-error cwd is missing
  await client.create({ dialect: "pi" });
  // @ts-expect-error there is no such value
  await client.create({ cwd: "/work", deferUntil: "later" });
  // @ts-expect-error a session has the method
  await client.appendMessage({ message: {} });
  // @ts-expect-error it is a number
  await client.catalogue({ limit: "all" });
  // @ts-expect-error there is no such member
  (await session.getTree())[0]?.content;
}
