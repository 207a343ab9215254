// Package protocol defines what a server of logs (server/logs) and its clients (backend/remote) send each other over HTTP.
//
// Operations are below /api/v1. Names and compare-and-swap tokens are parameters of the query, and bodies are the exact bytes
// of logs. docs/http.md lists all operations with their parameters.
//
//	GET  /logs                 List and Marks: a Row a line, and a last one with End. `after` goes on after a lost connection
//	GET  /logs/folders         Foldered: a JSON array
//	GET  /logs/identity        Identified: an Identity
//	GET  /logs/stat            Stat: a Row
//	GET  /logs/content         bytes of a log: a part of it, or both ends. Headers describe the log
//	GET  /logs/events          Watcher: server-sent events, see below
//	POST /logs/create          Create, Restore
//	POST /logs/append          Append
//	POST /logs/replace         Replace
//	POST /logs/remove          Remove
//	POST /logs/extend          Mirror.Extend
//	POST /logs/overwrite       Mirror.Overwrite
//	POST /logs/missing         references of blobs, one a line: gives those that the archive does not have
//	GET  /blobs/{ref}          a blob that a log refers to
//	PUT  /blobs/{ref}          stores a blob
//
// # Tokens
//
// A mutation names the log that the caller saw by `name`, `generation` and `size`, and answers with the Row of the new one.
// The body of create, append and replace is what the log gets: lines, each with its newline, or one whole record. That of
// extend and overwrite begins with the mark, which has `mark` bytes.
//
// # Errors
//
// An error is a status, a message as JSON and, in the header Error, a code that stands for a value of package backend or blob. If an answer
// lacks the header Version, the client talks to another program, or to one that is too old.
//
// # Unknown outcomes
//
// If a connection is lost, a client cannot know whether a mutation was carried out. It sends it again. If the answer is a
// conflict, it compares the bytes of the log with those that it sent. The server needs no memory of requests for that, so any
// of several servers can answer.
//
// # Events
//
// Each event is the name of a log that may have changed, a folder with a slash, or "" for all, as a JSON string. The client sends the id of
// the last event as Last-Event-ID, and the stream continues after it. If the server no longer knows that id, the first event is "".
//
// # Compression
//
// Bodies in both directions may be zstd (Content-Encoding, Accept-Encoding). They consist of frames of at most Piece bytes.
package protocol

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
)

// Paths of the operations, below that of the API.
const (
	API   = "/api/v1"
	Logs  = "/logs"
	Blobs = "/blobs"
)

// Headers of answers.
const (
	// Version is set in every answer of these operations, to Current.
	Version = "Treeline-Logs"
	Current = "1"
	// Error has the code of an error.
	Error = "Treeline-Error"
	// Generation, Size, Time and Changed describe the log of a content.
	Generation = "Treeline-Generation"
	Size       = "Treeline-Size"
	Time       = "Treeline-Time"
	Changed    = "Treeline-Changed"
)

// Types of bodies.
const (
	Bytes  = "application/octet-stream"
	JSON   = "application/json"
	Lines  = "application/x-ndjson"
	Events = "text/event-stream"
)

// Limits of requests and answers.
const (
	// NameMost is the largest size of a name in bytes.
	NameMost = 2000
	// MarkMost is the largest size of a mark in bytes.
	MarkMost = 1 << 20
	// RecordsMost is the largest size in bytes of an append or a replacement, which are held in memory.
	RecordsMost = 512 << 20
	// RefsMost is the largest number of references in one question about missing blobs.
	RefsMost = 1000
	// BlobMost is the largest size of a blob in bytes.
	BlobMost = 128 << 20
)

// Row is a log as JSON.
type Row struct {
	Name       string `json:"name"`
	Generation string `json:"generation,omitempty"`
	Size       int64  `json:"size"`
	Time       string `json:"time,omitempty"`
	Changed    int64  `json:"changed,omitempty"`
	// Mark and Removed are the fields of backend.Marked.
	Mark    string `json:"mark,omitempty"`
	Removed string `json:"removed,omitempty"`
	// Problem is an error about the folder Name; the list goes on.
	Problem string `json:"problem,omitempty"`
	// End is set in the last row of a list, which is not a log. A list without it was cut off. More means that the limit was reached.
	End  bool `json:"end,omitempty"`
	More bool `json:"more,omitempty"`
}

// NewRow returns the Row of a log.
func NewRow(at backend.Marked) Row {
	return Row{Name: at.Name, Generation: at.Generation, Size: at.Size, Time: stamp(at.Time), Changed: at.Changed, Mark: at.Mark, Removed: stamp(at.Removed)}
}

// Log returns the log of a Row. A time that cannot be parsed is zero.
func (r Row) Log() backend.Marked {
	at := backend.Log{Name: r.Name, Generation: r.Generation, Size: r.Size, Time: read(r.Time), Changed: r.Changed}
	return backend.Marked{Log: at, Mark: r.Mark, Removed: read(r.Removed)}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func read(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// Identity identifies an archive, whichever server shows it.
type Identity struct {
	ID string `json:"id"`
}

// Describe puts a log into the header of an answer.
func Describe(h http.Header, at backend.Log) {
	h.Set(Generation, at.Generation)
	h.Set(Size, strconv.FormatInt(at.Size, 10))
	h.Set(Time, stamp(at.Time))
	h.Set(Changed, strconv.FormatInt(at.Changed, 10))
}

// Described reads what Describe wrote.
func Described(h http.Header, name string) (backend.Log, error) {
	at := backend.Log{Name: name, Generation: h.Get(Generation), Time: read(h.Get(Time))}
	var err, other error
	at.Size, err = strconv.ParseInt(h.Get(Size), 10, 64)
	at.Changed, other = strconv.ParseInt(h.Get(Changed), 10, 64)
	if err != nil || other != nil || at.Size < 0 || at.Generation == "" {
		return at, errors.New("the answer does not describe the log")
	}
	return at, nil
}

// code is an error that both sides know, and the status with which it is sent.
type code struct {
	name   string
	status int
	err    error
}

// codes are in the order in which an error is looked up.
var codes = []code{
	{"not-exist", http.StatusNotFound, backend.ErrNotExist},
	{"no-blob", http.StatusNotFound, blob.ErrNotExist},
	{"exist", http.StatusConflict, backend.ErrExist},
	{"conflict", http.StatusConflict, backend.ErrConflict},
	{"interleaved", http.StatusConflict, backend.ErrInterleaved},
	{"locked", http.StatusConflict, backend.ErrLocked},
	{"held", http.StatusConflict, backend.ErrHeld},
	{"changed", http.StatusConflict, backend.ErrChanged},
	{"name", http.StatusBadRequest, backend.ErrName},
	{"ref", http.StatusBadRequest, blob.ErrRef},
	{"record", http.StatusUnprocessableEntity, backend.ErrRecord},
	{"corrupt", http.StatusUnprocessableEntity, blob.ErrCorrupt},
	{"compressed", http.StatusUnprocessableEntity, backend.ErrCompressed},
	{"read-only", http.StatusForbidden, backend.ErrReadOnly},
	{"unsupported", http.StatusNotImplemented, errors.ErrUnsupported},
}

// Code returns the code and the status of an error; ok is false for an error that only its message describes.
func Code(err error) (name string, status int, ok bool) {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.name, c.status, true
		}
	}
	return "", http.StatusInternalServerError, false
}

// ErrorOf returns the error that a code stands for; nil for an unknown code.
func ErrorOf(name string) error {
	for _, c := range codes {
		if c.name == name {
			return c.err
		}
	}
	return nil
}
