// Package logs answers the HTTP operations on the logs and blobs of an archive, over any backend.Backend; see package
// backend/remote/protocol for the messages, and Rows for the list of operations. It does not decide what callers may do: the server in
// front of it has checked host, origin, token and length of the query, and passes May, which every operation calls.
//
// No part of a request is used as a path: names are checked by backend.CheckName, then by the backend.
//
// Contents are sent and received in pieces. A slow caller holds one piece and one connection, but no lock and no connection to a database.
// A body that must be in memory as a whole (an append, a replacement) is collected in a temporary file if it is large, and only a few are
// in memory at a time. The same holds for a long line of a log that is created.
package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/server/guard"
)

// Options say what is served.
type Options struct {
	// Backend has the logs. The optional interfaces Foldered, Mirror, Watcher, Identified and blob.Keeper are offered if it has them. The
	// names of its logs must tell which are lines (backend.IsText). The caller closes it after Close.
	Backend backend.Backend
	// Writing returns the backend for a writer, whose name is recorded with each write. It is called for each mutation. If it is nil,
	// Backend is used, and limited writers may not write.
	Writing func(writer backend.Writer) (backend.Backend, error)
	// Patience is how long a caller may take for each piece; 0 means 30 seconds.
	Patience time.Duration
	// Epoch identifies the log of events: the numbers of another process mean nothing.
	Epoch string
	// MaxStreams is the largest number of event streams; 0 means 256.
	MaxStreams int
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
}

// Logs answers requests. Its methods may be called from several goroutines at once.
type Logs struct {
	opt    Options
	b      backend.Backend
	held   holding
	refs   references
	feed   feed
	large  chan struct{} // one for each body that is in memory as a whole
	ctx    context.Context
	cancel context.CancelFunc
}

// New returns the operations on a backend. All streams end with ctx.
func New(ctx context.Context, opt Options) *Logs {
	opt.Patience, opt.MaxStreams = cmp.Or(opt.Patience, 30*time.Second), cmp.Or(opt.MaxStreams, 256)
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	l := &Logs{opt: opt, b: opt.Backend, large: make(chan struct{}, 2)}
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.feed.wake = make(chan struct{})
	return l
}

// Close ends all streams and closes the open logs. There must be no requests after it.
func (l *Logs) Close() error {
	l.cancel()
	err := l.feed.stop()
	l.held.drop()
	return err
}

// Call is a request that is being answered.
type Call struct {
	W http.ResponseWriter
	R *http.Request
	// May decides whether the caller may read or write a log; nil allows everything. Its error is sent as the answer. If a log is created
	// or replaced, head is the beginning of the new content, up to 64 KB. Otherwise head is nil, and the log's content decides: log has the
	// generation of that content, or none if it is not known. For a blob of a log that does not exist yet, head is empty but not nil.
	//
	// Lists omit logs that may not be read.
	May func(ctx context.Context, log backend.Log, write bool, head []byte) error
	// Remains reports whether a stream of events may go on; nil means yes. It is called before events are sent, and from time to time.
	Remains func() bool
	// Writer is recorded with each write.
	Writer backend.Writer
}

func (c *Call) ctx() context.Context { return c.R.Context() }

func (c *Call) may(name string, write bool, head []byte) error {
	if c.May == nil {
		return nil
	}
	return c.May(c.ctx(), backend.Log{Name: name}, write, head)
}

// seenMost is how often a log is looked at again because it was replaced while the caller's right to it was checked.
const seenMost = 5

// seen returns a log that the caller may read or write. The log had this generation during the check, so the caller is shown or changes
// nothing but this generation, whatever the log holds by then. For a caller that is not limited it returns the zero Log.
func (l *Logs) seen(c *Call, name string, write bool) (at backend.Log, err error) {
	if c.May == nil {
		return backend.Log{}, nil
	}
	for range seenMost {
		before, err := l.b.Stat(c.ctx(), name)
		if errors.Is(err, backend.ErrNotExist) {
			before, err = backend.Log{Name: name}, nil // May refuses it with the same text as a log that is hidden
		}
		if err == nil {
			err = c.May(c.ctx(), before, write, nil)
		}
		if err == nil {
			at, err = l.b.Stat(c.ctx(), name)
		}
		if err != nil || at.Generation == before.Generation {
			return at, err
		}
	}
	return backend.Log{}, fmt.Errorf("%s: %w", name, backend.ErrChanged)
}

// mayChange checks whether the caller may change a log in the state that it saw.
func (l *Logs) mayChange(c *Call, at backend.Log) error {
	now, err := l.seen(c, at.Name, true)
	if err == nil && c.May != nil && now.Generation != at.Generation {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	return err
}

// mayRead reports whether the caller may read a log of a list, which need not be looked up again.
func (c *Call) mayRead(at backend.Log) bool {
	return c.May == nil || c.May(c.ctx(), at, false, nil) == nil
}

// Row is an operation: its path, its parameters, its result and the function that carries it out.
type Row struct {
	Method, Path string
	// Name is the operation's id; Doc says what it does.
	Name, Doc string
	// Media is the type of the answer, and Body that of the request; "" means none.
	Media, Body string
	// Writes reports whether the operation changes logs.
	Writes bool
	// Params is a struct whose fields have the tags path, query, need and doc. Result is the type of a JSON answer.
	Params, Result reflect.Type
	// Answer carries the operation out; params is a *Params.
	Answer func(l *Logs, c *Call, params any) error
}

// nothing is the type of an empty answer.
type nothing struct{}

func row[P, R any](method, path, name, media, body, doc string, f func(*Logs, *Call, P) error) *Row {
	return newRow(&Row{Method: method, Path: path, Name: name, Doc: doc, Media: media, Body: body, Result: reflect.TypeFor[R]()}, f)
}

// newRow sets what follows from f, a function with parameters. It has no type parameters: the compiler would generate code for each type.
func newRow(r *Row, f any) *Row {
	do := reflect.ValueOf(f)
	r.Params = do.Type().In(2)
	r.Answer = func(l *Logs, c *Call, params any) error {
		Version(c.W.Header())
		if l == nil {
			return c.Plain(ErrNoArchive)
		}
		err, _ := do.Call([]reflect.Value{reflect.ValueOf(l), reflect.ValueOf(c), reflect.ValueOf(params).Elem()})[0].Interface().(error)
		return c.Plain(err)
	}
	return r
}

func get[P, R any](path, name, media, doc string, f func(*Logs, *Call, P) error) *Row {
	return row[P, R](http.MethodGet, path, name, media, "", doc, f)
}

func post[P any](path, name, doc string, f func(*Logs, *Call, P) error) *Row {
	r := row[P, protocol.Row](http.MethodPost, path, name, protocol.JSON, protocol.Bytes, doc, f)
	r.Writes = true
	return r
}

// Rows returns all operations. A server without an archive has them, too, and answers that it has none.
func Rows() []*Row {
	put := row[blobParams, nothing](http.MethodPut, protocol.Blobs+"/{ref}", "putBlob", protocol.JSON, protocol.Bytes,
		"Stores a blob, before the log that refers to it is written. Its bytes must have the hash of the reference.", (*Logs).putBlob)
	put.Writes = true
	return []*Row{
		get[listParams, protocol.Row](protocol.Logs, "listLogs", protocol.Lines, "Lists the logs of the archive by name, one per line. "+
			"The last line has `end`; without it the list was cut off. With `marks` it also has the notes of the programs that copied the logs, and removed logs.",
			(*Logs).list),
		get[folderParams, []string](protocol.Logs+"/folders", "listLogFolders", protocol.JSON, "Lists the folders directly below a folder.", (*Logs).folders),
		get[noParams, protocol.Identity](protocol.Logs+"/identity", "getArchive", protocol.JSON, "Returns the identity of the archive, which is the same on every server of it.", (*Logs).identity),
		get[nameParams, protocol.Row](protocol.Logs+"/stat", "getLog", protocol.JSON, "Describes a log as it is now.", (*Logs).stat),
		get[contentParams, nothing](protocol.Logs+"/content", "readLog", protocol.Bytes, "Returns bytes of a log: all, or those in [`from`,`to`), followed with `tail` by the last ones. "+
			"With `generation` and `size` it returns the log that the caller saw, otherwise the current one. The headers `Treeline-*` describe it.", (*Logs).content),
		get[eventParams, string](protocol.Logs+"/events", "watchLogs", protocol.Events, "Streams the names of logs that may have changed, as server-sent events. "+
			"A name that ends in a slash is a folder, an empty one means all. `Last-Event-ID` resumes a stream.", (*Logs).events),
		post(protocol.Logs+"/create", "createLog", "Creates a log from the bytes of the body: lines, or one record.", (*Logs).create),
		post(protocol.Logs+"/append", "appendToLog", "Appends the lines of the body, if the log still has this generation and size.", (*Logs).append),
		post(protocol.Logs+"/replace", "replaceLog", "Replaces the content of a log, if it still has this generation and size.", (*Logs).replace),
		post(protocol.Logs+"/remove", "removeLog", "Removes a log, if it still has this generation and size.", (*Logs).remove),
		post(protocol.Logs+"/extend", "extendLog", "Adds bytes to an exact copy of another log. They may continue an unterminated line.", (*Logs).extend),
		post(protocol.Logs+"/overwrite", "overwriteLog", "Replaces an exact copy of another log, or creates it if no generation is given.", (*Logs).overwrite),
		get[blobParams, nothing](protocol.Blobs+"/{ref}", "getArchivedBlob", protocol.Bytes, "Returns a blob that a log refers to.", (*Logs).blob),
		put,
		row[logParams, []string](http.MethodPost, protocol.Logs+"/missing", "findMissingBlobs", protocol.JSON, protocol.Bytes,
			"Takes blob references, one per line, and returns those that the archive does not have.", (*Logs).missing),
	}
}

// Parameters that several operations have.
type (
	noParams   struct{}
	nameParams struct {
		Name string `query:"name" need:"" doc:"the name of the log: ORIGIN/SOURCE/NAME"`
	}
	atParams struct {
		nameParams
		Generation string `query:"generation" doc:"the generation that the caller saw"`
		Size       int64  `query:"size" doc:"the size that the caller saw"`
	}
	markParams struct {
		atParams
		Mark int64 `query:"mark" doc:"how many bytes at the start of the body are a note that is stored with the log"`
	}
)

func (p atParams) log() backend.Log {
	return backend.Log{Name: p.Name, Generation: p.Generation, Size: p.Size}
}

// check refuses invalid names.
func (p nameParams) check() error {
	if len(p.Name) > protocol.NameMost {
		return fmt.Errorf("%.80s…: %w: it is longer than %d bytes", p.Name, backend.ErrName, protocol.NameMost)
	}
	return backend.CheckName(p.Name)
}

// ErrNoArchive is the error of a server without an archive.
var ErrNoArchive = fmt.Errorf("this server keeps no archive: %w", guard.Refuse(http.StatusNotFound, "it shows the sessions of its own machine"))

// Version adds the header that marks answers of an archive.
func Version(h http.Header) { h.Set(protocol.Version, protocol.Current) }

// ReadOnly adds the header that says that all writes are refused, so that the caller need not try another one.
func ReadOnly(h http.Header) {
	Version(h)
	name, _, _ := protocol.Code(backend.ErrReadOnly)
	h.Set(protocol.Error, name)
}

// Plain gives an error the HTTP status and the code that clients recognize.
func (c *Call) Plain(err error) error {
	if err == nil {
		return nil
	}
	name, status, ok := protocol.Code(err)
	if !ok {
		return err
	}
	c.W.Header().Set(protocol.Error, name)
	return guard.Refuse(status, "%s", err.Error())
}
