package mcp

// tools lists the tools in the order in which clients see them. Descriptions are for a model: when to use the tool, what it returns, an
// example.
func tools() []tool {
	return []tool{
		row("search_sessions", "Search sessions",
			`Find what was said, run or changed in earlier sessions of coding agents, by words. Use it first when the user refers to earlier work, or when an error or a decision may have come up before.
Hits are entries, newest first, each with a snippet. The current project is searched first; if it has no hit, all projects are ("widened"). All words must occur in one entry, so use few and distinctive ones: names, error texts, file names.
Continue with read_session: pass the "ref" of a hit as its session.
Examples: {"query":"race condition watcher"}; {"query":"\"connection reset\" -retry","in":["tool"],"since":"7d"}; {"query":"migrat* schema","project":"all","rank":true}`,
			searchSessions),
		row("list_sessions", "List sessions",
			`List sessions, the last used first, with title, first prompt, agent, directory, models and size. Use it to see what was worked on lately, or to find a session by title, agent, model or date. To find one by its content, use search_sessions.
Examples: {}; {"project":"all","since":"2d"}; {"title":"*login*","agent":"claude"}; {"has":["label"]}`,
			listSessions),
		row("read_session", "Read a session",
			`Read the conversation of a session in a window: messages, tool calls and results. Without an entry it returns the newest entries; with one, those around it. "previous" and "next" are cursors for both directions.
Long texts are cut; "cut" is how many bytes are left out. For a complete entry: {"session":"…","entry":"…","whole":true}.
Examples: {"session":"@last~1"}; {"session":"0198c2#a1b2c3d4"}; {"session":"0198c2","from":"start"}`,
			readSession),
		row("get_context", "What the model sees",
			`Return the messages that the model sees at an entry of a session, or at its end: after compactions, on that branch, as the agent would send them. Use it to continue earlier work with the same knowledge, or to find out what the model knew when it answered. To follow the conversation as the user saw it, use read_session.
Examples: {"session":"@last~1"}; {"session":"0198c2#a1b2c3d4","from":"end"}`,
			getContext),
		row("recall_prompts", "Recall prompts",
			`Return what the user typed in earlier sessions, and in which sessions: the last used sessions first, and in each the newest prompt first; with words, the newest prompts first. Use it for "what did I ask you to do", for wishes and rules that the user stated before, and to see how a task was worded.
Examples: {}; {"words":"deploy staging"}; {"project":"all","since":"14d","limit":50}`,
			recallPrompts),
		row("list_runs", "List runs",
			`List the recorded runs of agents: one run is one task from prompt to end, with its outcome. Most agents record none. Search their content with search_sessions.
Examples: {}; {"project":"all","limit":5}; {"session":"0198c2d1-…"}`,
			listRuns),
		row("usage", "Usage",
			`Add up what sessions used: messages, tokens and cost in dollars as far as the agents recorded them, grouped by model, agent, project or day.
Examples: {"since":"7d","by":"day"}; {"project":"all","by":"project"}; {"by":"model","agent":"codex"}`,
			sumUsage),
	}
}
