// Package protocol defines what a server (server/indexed) and its clients (index/remote) send each other about the index of an archive,
// over HTTP. Operations are below /api/v1.
//
//	GET  /index         brings the index up to date and describes it: a State
//	POST /index/select  Shared.Select: a Question, and a Page
//	POST /index/search  Shared.Search: a Question, and a Page
//	POST /index/count   Shared.Count: a Question, and Counts
//	POST /index/values  Shared.Values: Values, and a JSON array
//	POST /index/ids     Shared.IDs: a Place, and a list of IDs
//
// A client never puts anything: the server brings the index up to date. Answers have only the logs of the projects that the caller may see,
// and nothing in them depends on other logs. Errors are those of backend/remote/protocol.
package protocol

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
)

// Index is the path of the operations, below that of the API.
const Index = "/index"

// Inside is the prefix of a parent that is a log of the archive; the rest is its name. The URL of the archive is not the same for the
// server and for its clients, and a client must not learn that of a database.
const Inside = "\x00"

const (
	// QuestionMost is the largest size of a question in bytes.
	QuestionMost = 1 << 20
	// QueryMost is the largest size of a query in bytes.
	QueryMost = 64 << 10
	// LogsMost is the largest number of logs on a page.
	LogsMost = 4096
	// PageBytes is about the size of a page in bytes.
	PageBytes = 8 << 20
)

// State describes the index of a server.
type State struct {
	// Version is index.EncodingVersion of the server. A client with another version cannot decode its answers.
	Version int `json:"version" doc:"the version of the logs in pages"`
}

// Question asks for logs.
type Question struct {
	Selection index.Selection `json:"selection"`
	Query     *query.Form     `json:"query,omitempty"`
}

// Log is a log of a page.
type Log struct {
	Source string `json:"source" doc:"the folder ORIGIN/SOURCE"`
	// Data is the result of index.EncodeLog, in base64.
	Data   string `json:"data" doc:"what is known of the log, encoded"`
	Chunks int    `json:"chunks" doc:"how many chunks the index has of it"`
	Spans  []Span `json:"spans,omitempty" doc:"the chunks that may match"`
}

// NewLog encodes a log.
func NewLog(l *index.Found) Log {
	made := Log{Source: l.Source, Data: base64.StdEncoding.EncodeToString(index.EncodeLog(&l.Log)), Chunks: l.ChunkCount()}
	for _, s := range l.Spans {
		made.Spans = append(made.Spans, Span(s))
	}
	return made
}

// Found decodes a log. It does not check the content.
func (l *Log) Found() (made index.Found, err error) {
	data, err := base64.StdEncoding.DecodeString(l.Data)
	if err == nil {
		made.Log, err = index.DecodeLog(data, max(0, l.Chunks))
	}
	made.Source = l.Source
	for _, s := range l.Spans {
		made.Spans = append(made.Spans, index.Span(s))
	}
	return made, err
}

// Span is an index.Span.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Odd  bool  `json:"odd,omitempty"`
}

// Page is a part of an answer.
type Page struct {
	Logs []Log `json:"logs"`
	// Next is where the next page begins, as Cursor gives it; "" if there is none.
	Next string `json:"next,omitempty" doc:"where the next page begins"`
}

// Counts are index.Counts.
type Counts struct {
	Logs   int   `json:"logs"`
	Chunks int   `json:"chunks"`
	Bytes  int64 `json:"bytes,omitempty"`
	Newest int64 `json:"newest,omitempty"`
	With   []int `json:"with"`
}

// Values asks for values.
type Values struct {
	Of   index.Value `json:"of"`
	CWDs []string    `json:"cwds"`
}

// Place names a log and how many of its chunks are asked about.
type Place struct {
	Source string `json:"source"`
	Name   string `json:"name"`
	Chunks int    `json:"chunks"`
}

// IDs are the hashes of the ids in a chunk.
type IDs struct {
	From   int64   `json:"from"`
	Hashes []int64 `json:"hashes"`
}

// Cursor encodes a position as a text; "" for none.
func Cursor(p *index.Position) (string, error) {
	if p == nil {
		return "", nil
	}
	text, err := json.Marshal(p)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// ReadCursor decodes a position in an order; nil for "".
func ReadCursor(text string, o index.Order) (*index.Position, error) {
	if text == "" {
		return nil, nil
	}
	var p index.Position
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err == nil && !p.Fits(o) {
		err = errors.New("it is none of the order")
	}
	return &p, err
}
