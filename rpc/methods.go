package rpc

import (
	"encoding/json"

	"github.com/treeline-dev/treeline/store"
)

// Whether a method takes a session. It decides in which queue a request waits.
const (
	never = iota
	always
	maybe
)

// method is how a request is carried out. The answer of call is JSON, null if a method has no result.
type method struct {
	session int
	call    func(*call) ([]byte, error)
}

// call is a request that is being carried out. open is nil for a request without a session; fresh is the session that it
// opens, if its client wants to be told of events.
type call struct {
	*client
	open, fresh *openSession
	params      json.RawMessage
}

// free is a method that takes no session.
func free[P any](f func(*call, P) ([]byte, error)) method { return method{never, parsed(f)} }

// on is a method of a session.
func on[P any](f func(*call, P) ([]byte, error)) method { return method{always, parsed(f)} }

// get is a method of a session without parameters.
func get(f func(*call, *store.Session) ([]byte, error)) method {
	return method{always, func(c *call) ([]byte, error) { return f(c, c.open.s) }}
}

// parsed decodes the parameters into P, which must be a struct.
func parsed[P any](f func(*call, P) ([]byte, error)) func(*call) ([]byte, error) {
	return func(c *call) ([]byte, error) {
		var p P
		if err := decode(c.params, &p); err != nil {
			return nil, err
		}
		return f(c, p)
	}
}

// methods are all methods. docs/rpc.md describes each; a test compares it with this list.
var methods = map[string]method{
	// Sessions.
	"create":                free(create),
	"open":                  free(open),
	"continueRecent":        free(continueRecent),
	"inMemory":              free(inMemory),
	"forkFrom":              free(forkFrom),
	"newSession":            on(newSession),
	"createBranchedSession": on(createBranchedSession),
	"fork":                  get(fork),
	"move":                  on(move),
	"flush":                 get(flush),
	"close":                 get(closeSession),

	// Writing.
	"appendMessage":             on(appendMessage),
	"appendThinkingLevelChange": on(appendThinkingLevelChange),
	"appendModelChange":         on(appendModelChange),
	"appendCompaction":          on(appendCompaction),
	"appendCustomEntry":         on(appendCustomEntry),
	"appendCustomMessageEntry":  on(appendCustomMessageEntry),
	"appendLabelChange":         on(appendLabelChange),
	"appendSessionInfo":         on(appendSessionInfo),
	"appendModeChange":          on(appendModeChange),
	"appendTtsrInjection":       on(appendTtsrInjection),
	"appendSessionInit":         on(appendSessionInit),
	"branch":                    on(branch),
	"branchWithSummary":         on(branchWithSummary),
	"resetLeaf":                 on(resetLeaf),
	"setSessionName":            on(setSessionName),
	"rewriteEntries":            on(rewriteEntries),
	"rewriteToolCallArgs":       on(rewriteToolCallArgs),

	// Reading.
	"getLeafId":      get(getLeafID),
	"getLeafEntry":   get(getLeafEntry),
	"getEntry":       on(getEntry),
	"getChildren":    on(getChildren),
	"getBranch":      on(getBranch),
	"getPath":        on(getBranch),
	"getTree":        get(getTree),
	"getEntries":     get(getEntries),
	"getHeader":      get(getHeader),
	"getLabel":       on(getLabel),
	"getSessionName": get(getSessionName),
	"getSessionFile": get(getSessionFile),
	"getSessionId":   get(getSessionID),
	"getSessionDir":  get(getSessionDir),
	"getCwd":         get(getCWD),
	"isPersisted":    get(isPersisted),
	// With a session it is computed there; without one, from entries that the client brings.
	"buildSessionContext": {maybe, parsed(buildSessionContext)},

	// Runs. A run that belongs to an open session is started in its queue.
	"startRun":     {maybe, parsed(startRun)},
	"appendRecord": free(appendRecord),
	"endRun":       free(endRun),

	// Without a session.
	"loadEntries":       free(loadEntries),
	"parseEntries":      free(parseEntries),
	"migrateEntries":    free(migrateEntries),
	"findMostRecent":    free(findMostRecent),
	"getRecentSessions": free(getRecentSessions),
	"list":              free(list),
	"listAll":           free(listAll),
	"saveState":         free(saveState),
	"loadState":         free(loadState),
}
