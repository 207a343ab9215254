package rpc

import (
	"encoding/json"

	"github.com/treeline-dev/treeline/store"
)

// Whether a method takes a session.
// It decides in which queue a request waits, so it is known before the request's own parameters are read.
const (
	never = iota
	always
	maybe
)

// method is how a request is carried out.
// The answer of call is JSON; it is copied into the line as it is. Where a method has nothing to say that is null.
type method struct {
	session int
	call    func(*call) ([]byte, error)
}

// call is a request that is being carried out. open is nil where it is for no session.
type call struct {
	*client
	open   *openSession
	params json.RawMessage
}

// free is a method that takes no session.
func free[P any](f func(*call, P) ([]byte, error)) method {
	return method{never, parsed(f)}
}

// on is a method of a session.
func on[P any](f func(*call, P) ([]byte, error)) method {
	return method{always, parsed(f)}
}

// get is a method of a session without parameters.
func get(f func(*call, *store.Session) ([]byte, error)) method {
	return method{always, func(c *call) ([]byte, error) { return f(c, c.open.s) }}
}

// parsed decodes the parameters into P before f sees them. A type parameter and not an interface: what a method
// takes can be read in its signature, and there is no assertion that could fail.
func parsed[P any](f func(*call, P) ([]byte, error)) func(*call) ([]byte, error) {
	return func(c *call) ([]byte, error) {
		var p P
		if err := decode(c.params, &p); err != nil {
			return nil, err
		}
		return f(c, p)
	}
}

// methods is all there is.
// A map and not reflection over a type: what a client can call is listed in one place, and nothing becomes a
// method by being exported. docs/rpc.md has a section for each, which a test compares with this list.
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
	"getLeafId":    get(getLeafID),
	"getLeafEntry": get(getLeafEntry),
	"getEntry":     on(getEntry),
	"getChildren":  on(getChildren),
	"getBranch":    on(getBranch),
	// both names are in use
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

	// Runs.
	// A run can belong to an open session, in whose queue it must then be begun, or to none.
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
