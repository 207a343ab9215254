package server

import (
	"encoding/json"

	"github.com/treeline-dev/treeline/internal/jsonschema"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// The types of answers that package wire does not have: pages of lists, and sessions with their keys.
type (
	// sessionRow is a session in a list, with the key that names it in requests.
	sessionRow struct {
		Key string `json:"key"`
		wire.Row
	}
	// sessionPage is a page of the list of sessions. next is the cursor of the next page, or null on the last one. total is the number of
	// sessions on all pages, or null if an archive has too many to count. problems say what could not be read.
	sessionPage struct {
		Sessions []sessionRow `json:"sessions"`
		Next     *string      `json:"next"`
		Total    *int         `json:"total"`
		Problems []string     `json:"problems"`
	}
	// sessionInfo is one session. event is the id of the last event that it includes, for the stream of events.
	sessionInfo struct {
		Key string `json:"key"`
		wire.Session
		Entries  int               `json:"entries"`
		Size     int64             `json:"size"`
		Modified string            `json:"modified"`
		Event    string            `json:"event"`
		Problems []session.Problem `json:"problems"`
	}
	// keyedSession is a session that was created or changed.
	keyedSession struct {
		Key string `json:"key"`
		wire.Session
	}
	// entryPage is a page of a path. total is the number of entries on the whole path.
	entryPage struct {
		Entries  []wire.Entry      `json:"entries"`
		Next     *string           `json:"next"`
		Total    int               `json:"total"`
		Problems []session.Problem `json:"problems"`
	}
	// searchResult is the answer to a search. problems say what could not be read.
	searchResult struct {
		wire.SearchResult
		Problems []string `json:"problems"`
	}
	// runPage is a page of the list of runs.
	runPage struct {
		Runs     []wire.Run `json:"runs"`
		Next     *string    `json:"next"`
		Total    *int       `json:"total"`
		Problems []string   `json:"problems"`
	}
	// recordPage is a page of a run log, byte for byte as recorded. ended says whether the log has the end of its run.
	recordPage struct {
		Run      string            `json:"run"`
		Header   json.RawMessage   `json:"header"`
		Records  []json.RawMessage `json:"records"`
		Next     *string           `json:"next"`
		Total    int               `json:"total"`
		Ended    bool              `json:"ended"`
		Problems []string          `json:"problems"`
	}
	// failure says why a request failed. code is 2 for a mistake in the request, and 1 for a problem. kind is a word that programs can rely on.
	failure struct {
		Error *wire.Error `json:"error"`
	}
)

// The types of what is passed on from a log. They have no values; they only name schemas.
type (
	// agentEntry is an entry as its agent writes it.
	agentEntry struct{}
	// modelContext is a context. In the forms native and llm, the messages are the agent's own, with the state that the agent keeps beside
	// them; in the form parts, they have a role and parts.
	modelContext struct {
		Messages []agentEntry      `json:"messages"`
		Tokens   *int64            `json:"estimatedTokens,omitempty"`
		Problems []session.Problem `json:"problems,omitempty"`
		_        jsonschema.More
	}
	// nothing is the type of answers that are not JSON.
	nothing struct{}
)
