package rpc

// table returns all methods. Each one is a row here, and the function that the row names. docs/rpc.md has the same tables; a test compares
// them.
func table() []section {
	return []section{
		{"Opening sessions", []*method{
			free("create", "Starts a session.", create),
			free("open", "Opens a file. If it is missing or empty, a session starts there; its header is written at once (pi, if it is "+
				"missing: with the first message). A file of an old version is migrated, the original kept as `<file>.v<N>.bak`. A "+
				"file that is not a session is refused and left as it is; with `replaceUnreadable: true` it is renamed to "+
				"`<file>.unreadable-<time>` and a session starts. `sessionDir` is for `newSession`, `fork` and "+
				"`createBranchedSession`; the default is the file's folder. With `readOnly: true` nothing is written: a missing file is "+
				"an error, and an old version is migrated in memory.", open),
			free("continueRecent", "Opens the session that this terminal used last in `cwd`, otherwise the newest there, or starts one. "+
				"Sessions of other profiles do not count.",
				continueRecent),
			free("inMemory", "Starts a session that is never stored.", inMemory),
			free("forkFrom", "Copies the session in the file `source`, all branches, into a new one for `cwd`. The source is only read.",
				forkFrom),
		}},
		{"Replacing a session", []*method{
			on("newSession", "Starts an empty session in the same folder.", newSession),
			on("createBranchedSession", "Copies only the path from the root to `leafId`. Its labels are appended again.",
				createBranchedSession),
			get("fork", "Copies all branches.", fork),
			on("move", "Moves the session to another project directory. In the agent's own folders the file moves to the folder of "+
				"that directory.", move),
			get("flush", "Creates the file if entries are still waiting for it. Returns when everything appended survives a machine crash.", flush),
			get("close", "Syncs the file and closes it. Entries still waiting for their file are dropped. The handle becomes invalid.", closeSession),
		}},
		{"Appending", []*method{
			on("appendMessage", "Appends a message as the agent writes it.", appendMessage),
			on("appendUser", "Appends a message of the user in the dialect's own form.", appendUser),
			on("appendAssistant", "Appends an answer of the model in the dialect's own form. It may become several entries, which are "+
				"written together; the result names the last.", appendAssistant),
			on("appendToolResult", "Appends the result of a tool call in the dialect's own form. Wave and OpenCode keep it in the message with the call: "+
				"there it is refused, and results are given to `appendAssistant`.", appendToolResult),
			on("appendThinkingLevelChange", "Appends a change of the thinking level.", appendThinkingLevelChange),
			on("appendModelChange", "Appends a change of the model: `model` (`provider/id`), or `provider` and `modelId`. The dialect "+
				"writes its own spelling.", appendModelChange),
			on("appendCompaction", "Appends a compaction: the summary replaces everything before `firstKeptEntryId`.",
				appendCompaction),
			on("appendCustomEntry", "Appends an extension's own state, which the model does not see.", appendCustomEntry),
			on("appendCustomMessageEntry", "Appends a message of an extension, which the model sees.", appendCustomMessageEntry),
			on("appendLabelChange", "Labels an entry, or removes its label.", appendLabelChange),
			on("appendSessionInfo", "Appends an entry with the session's name.", appendSessionInfo),
			on("appendModeChange", "Appends a change of the mode. Dialects outside pi's family refuse it.", appendModeChange),
			on("appendTtsrInjection", "Appends the names of injected rules. Dialects outside pi's family refuse it.",
				appendTtsrInjection),
			on("appendSessionInit", "Appends what a sub-agent was started with. Dialects outside pi's family refuse it.",
				appendSessionInit),
			on("appendServiceTierChange", "Appends a change of the tier in which the provider serves requests. Dialects outside of pi's "+
				"family refuse it.", appendServiceTierChange),
			on("appendMCPToolSelection", "Appends which tools of MCP servers the model may call from here on. Dialects outside of pi's "+
				"family refuse it.", appendMCPToolSelection),
			on("branchWithSummary", "Moves the leaf to `id` and appends a summary of the abandoned branch there. `id` must be given.",
				branchWithSummary),
		}},
		{"Navigating and changing", []*method{
			on("branch", "Moves the leaf: the next entry continues from there. With `durable: true` an entry that the model does not "+
				"see is appended there, so that the move survives a restart and the agent sees it too; the leaf is then that entry.",
				branch),
			on("resetLeaf", "Moves the leaf before the first entry.", resetLeaf),
			on("setSessionName", "Names the session as the agent does: in the header (omp) or with an entry (pi). `\"\"` removes the "+
				"name.", setSessionName),
			on("rewriteEntries", "Replaces all entries, atomically. The header stays; a header in `entries` is ignored. The leaf stays "+
				"if it still exists.", rewriteEntries),
			on("rewriteToolCallArgs", "Replaces the arguments of a tool call. `false` if no entry has it.", rewriteToolCallArgs),
		}},
		{"Reading", []*method{
			get("getLeafId", "The id of the leaf, or `null`.", getLeafID),
			get("getLeafEntry", "The leaf, or `null`.", getLeafEntry),
			on("getEntry", "An entry, or `null`.", getEntry),
			on("getChildren", "The entries that name `parentId` as their parent.", getChildren),
			on("getBranch", "The entries from the root to `fromId`; `[]` if there is no such entry.", getBranch),
			on("getPath", "The same as `getBranch`.", getBranch),
			on("getTree", "The roots, each with its children, which are ordered by time. An entry whose parent is missing is a root. "+
				"The result nests as deep as the session is long, which is too deep for many JSON parsers; `flat: true` gives a list.",
				getTree),
			get("getEntries", "All entries in the order of the log, without the header.", getEntries),
			get("getHeader", "The header, or `null`.", getHeader),
			on("getLabel", "The label of an entry, or `null`.", getLabel),
			get("getSessionName", "The name, or `null`.", getSessionName),
			get("getSessionFile", "The path, even while creation is deferred; `null` in memory.", getSessionFile),
			get("getSessionId", "The id of the session.", getSessionID),
			get("getSessionDir", "The folder for new sessions and copies; `\"\"` in memory.", getSessionDir),
			get("getCwd", "The session's working directory.", getCWD),
			get("isPersisted", "Whether the session is stored: `false` in memory.", isPersisted),
			on("buildRequest", "The body of a request that continues the session: for `POST /v1/messages` (anthropic), `POST "+
				"/v1/chat/completions` (openai) or `POST /v1/responses` (responses). The provider accepts it, whichever agent wrote the session: what it would refuse is "+
				"left out.", buildRequest),
			either("buildSessionContext", "What the model would see: of a session or, without one, of `entries`. Without `leafId` it "+
				"is seen from the leaf, of `entries` from the last; an unknown id means the last entry.", buildSessionContext),
			on("buildParts", "The same as `buildSessionContext` in a form that is the same for every agent: messages with a role and parts, "+
				"as the agent would send them.", buildParts),
		}},
		{"Recording runs", []*method{
			either("startRun", "Starts a run of an open session, of the session with that id, or of none. `header` is the run's first "+
				"record; a missing type, id, session, start or version is filled in. `dialect: \"codelia\"` keeps the log where codelia does.",
				startRun),
			free("appendRecord", "Appends a record. `run_id`, `ts`, and the `seq` of an `llm.request` or `llm.response` are filled in "+
				"if they are missing. An invalid record is refused (−32602); the run continues.", appendRecord),
			free("continueRun", "Resumes the recording of a run that has not ended.", continueRun),
			free("endRun", "Appends `run.end`, unless `appendRecord` already did, and closes the log.", endRun),
		}},
		{"Without a session", []*method{
			free("loadEntries", "The header and all records of a file, not migrated; `[]` if it is missing or has no header. Nothing is "+
				"written.", loadEntries),
			free("parseEntries", "The JSON values of a text, line by line; lines that are not JSON are skipped.", parseEntries),
			free("migrateEntries", "The same entries in the current version of the format. Entries without a header count as the "+
				"oldest version.", migrateEntries),
			free("findMostRecent", "The path of the newest session in a folder, or `null`.", findMostRecent),
			free("getRecentSessions", "The newest sessions of a folder. `mtime` is in milliseconds since 1970, `name` is cut to 40 "+
				"characters.", getRecentSessions),
			free("list", "The sessions of a directory as the agent's own program lists them, newest first; for omp those in "+
				"the folders of both its program and its document. pi has `name?` instead of "+
				"`title?` and takes `modified` from the messages, omp from the file. Equal times are ordered by file name, descending. "+
				"`wave-doc` is ordered by id, `wave` by the last message, codelia by the last save; `codelia` means its sessions. "+
				"Only files that changed since the last list are read, and of codelia's states that name no directory the beginnings, "+
				"with those of their runs.",
				list),
			free("listAll", "The same for all directories, or for one folder or profile.", listAll),
			free("saveState", "Saves the resume state of a session, for an agent (codelia) that keeps it apart from the run log. It "+
				"replaces the previous state. A `schema_version` other than 1 is refused, and a state of another one is not replaced.",
				saveState),
			free("loadState", "The state of a session, or `null`. `resume` is what the model sees first: the messages without dangling "+
				"tool calls and results, results without a `tool_call_id` and notices of earlier resumes; nothing else is left out. If "+
				"`cwd` or `root` differ from the state's, or from the directory of its last run if it names none, a system message says "+
				"so after those that begin the conversation. Nothing is written.", loadState),
		}},
		{"All sessions", []*method{
			slow(free("catalogue", "The sessions of all agents, newest first, page by page. The catalogue is updated first, by reading "+
				"the files that changed. `total` counts the rows of all pages. A session that is used while you page moves to the "+
				"front, and is not on a later page.", catalogue)),
			slow(free("search", "Finds entries in all sessions and runs, newest first. `treeline search --help` explains the query.", search)),
			slow(free("stats", "What sessions used: sessions, messages, tokens and cost, in total and by agent, model, project and day. Forks and "+
				"copies are not counted twice. Only files that changed are read.", stats)),
			slow(free("sources", "The places where treeline looks for sessions.", sources)),
			slow(free("watch", "Follows what any program writes, to all sessions or to one. Changes are sent as notifications `change` "+
				"until `unwatch`.", startWatch)),
			free("unwatch", "Ends a watch. No change is sent after the result.", unwatch),
		}},
		{"Maintenance", []*method{
			slow(either("check", "Lists everything that is wrong with a session: an open one, or the one that `ref` names. Nothing is "+
				"changed.", check)),
			slow(free("repair", "Plans the repair of a session file, and repairs it with `apply: true`. The original is kept next to it.",
				repairLog)),
			slow(either("convert", "Creates a session of another agent from an open one, or from the one that `ref` names, which is only "+
				"read. The report lists what became of everything.", convertSession)),
			slow(either("resumeCommand", "The command that continues an open session, or the one that `ref` names, in its own agent or in "+
				"another one. Another agent continues a converted copy. With `leafId` that entry is made the leaf first; if the agent's format "+
				"has no leaf, the path to it becomes a separate session.", resumeCommand)),
			free("rm", "Moves a session to treeline's trash. The `id` in the result is its name there.", remove),
			free("restore", "Puts a session back from the trash, byte for byte. It never overwrites another file.", restore),
			free("listTrash", "What is in the trash, the last removed first.", listTrash),
		}},
		{"Prompt history", []*method{
			free("historyAdd", "Adds a prompt to the history. It is written when the method returns.", historyAdd),
			slow(free("historySearch", "The prompts that have all words, newest first.", historySearch)),
			slow(free("historyRecent", "The newest prompts.", historyRecent)),
		}},
		{"Reading runs", []*method{
			slow(free("listRuns", "The runs of all agents, newest first, page by page.", listRuns)),
			slow(free("readRun", "The records of a run, page by page.", readRun)),
		}},
		{"About the server", []*method{
			free("version", "The version of the program.", version),
			free("rpc.discover", "An [OpenRPC](https://spec.open-rpc.org) document of all methods, with the schemas of their parameters "+
				"and results.", discover),
		}},
	}
}

// byName returns the methods by name.
func byName() map[string]*method {
	all := map[string]*method{}
	for _, s := range table() {
		for _, m := range s.methods {
			all[m.name] = m
		}
	}
	return all
}
