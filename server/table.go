package server

import "github.com/treeline-dev/treeline/wire"

// section is a part of the table. The documents show its heading.
type section struct {
	title      string
	operations []*operation
}

// table returns all operations of the API. Each one is a row here, and the function that the row names. docs/http.md has the same list; a
// test compares them.
func table() []section {
	return []section{
		{"Sessions", []*operation{
			get("/sessions", "listSessions", "Lists the sessions of all agents, newest first, page by page. `key` names a session in other requests: its id, "+
				"or its id and a hash of its path if several sessions share the id. A session that is used while you page moves to the front, and is not on a "+
				"later page. `total` is null if an archive has too many sessions to count.", listSessions),
			get("/sessions/{session}", "getSession", "Describes one session.", getSession),
			stream[treeParams, []wire.Entry]("/sessions/{session}/tree", "getTree", "Returns all entries in log order, without their parts. "+
				"`onPath` marks those on the path to the leaf.", jsonMedia, getTree),
			get("/sessions/{session}/entries", "listEntries", "Returns the entries from the root to a leaf, page by page. A page ends early if it gets "+
				"large.", listEntries),
			get("/sessions/{session}/entries/{entry}", "getEntry", "Returns one entry.", getEntry),
			stream[entryParams, agentEntry]("/sessions/{session}/entries/{entry}/raw", "getRecord", "Returns the record of an entry, byte for byte as its agent wrote it.",
				jsonMedia, getRecord),
			stream[contextParams, modelContext]("/sessions/{session}/context", "getContext", "Returns what the model sees at an entry. The form `native` has the agent's own messages, `llm` the "+
				"messages as they are sent, `parts` messages of the same shape for every agent.", jsonMedia, getContext),
			stream[blobParams, nothing]("/sessions/{session}/blobs/{blob}", "getBlob", "Returns a blob that an entry refers to. PNG, JPEG, GIF and WebP have their content type, anything "+
				"else is a download.", anyMedia, getBlob),
			stream[sessionEventsParams, wire.Change]("/sessions/{session}/events", "watchSession", "Streams what is written to one session, as server-sent events. "+
				"`Last-Event-ID` resumes a stream; the event `reload` means that too much was missed. An entry of more than 16 KB comes without "+
				"its parts.", eventMedia, sessionEvents),
		}},
		{"All sessions", []*operation{
			get("/search", "search", "Finds entries in all sessions and runs, newest first.", search),
			get("/usage", "getUsage", "Adds up what sessions used: sessions, messages, tokens and cost, in total and by agent, model, project and day. "+
				"Forks and copies are not counted twice.", getUsage),
			get("/sources", "listSources", "Lists the places where treeline looks for sessions.", listSources),
			stream[eventsParams, wire.Change]("/events", "watchAll", "Streams what is written to all sessions, as server-sent events. See watchSession.",
				eventMedia, allEvents),
		}},
		{"Runs", []*operation{
			get("/runs", "listRuns", "Lists the runs of all agents, newest first, page by page. `total` is null if an archive has too many runs to count.", listRuns),
			get("/runs/{run}", "getRun", "Returns the audit of a run: what it was, what it used, and what is wrong with it.", getRun),
			get("/runs/{run}/records", "listRecords", "Returns the records of a run, page by page, byte for byte as recorded.", listRecords),
		}},
		{"Writing", []*operation{
			post("/sessions/{session}/entries", "append", "Appends a message or an entry after the leaf. Requires exactly one of `text`, `parts`, `message` and `entry`.", appendEntry),
			post("/sessions/{session}/branch", "branch", "Moves the leaf to an entry. The entries after it stay, as another branch.", branch),
			post("/sessions/{session}/label", "label", "Sets the label of an entry. An empty label removes it.", label),
			post("/sessions/{session}/rename", "rename", "Changes the title of a session. An empty title removes it.", rename),
			post("/sessions/{session}/fork", "fork", "Copies a session, or only the path to an entry, into a new session that names the old one as its parent.", fork),
			post("/sessions/{session}/trash", "trash", "Moves a session to treeline's trash. The `id` in the result is its name there.", trash),
		}},
		{"Logs of an archive", archived()},
		{"About the server", []*operation{
			get("/version", "getVersion", "Returns the version of the program.", getVersion),
			get("/openapi.json", "getOpenAPI", "Returns the OpenAPI document of all operations.", getOpenAPI),
		}},
	}
}

// Media types of answers.
const (
	jsonMedia  = "application/json"
	eventMedia = "text/event-stream"
	anyMedia   = "application/octet-stream"
)
