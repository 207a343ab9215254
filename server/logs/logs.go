// Package logs answers the HTTP operations on the logs and blobs of an archive, over any backend.Backend; see package
// backend/remote/protocol for what is said, and Rows for the list of operations. It decides nothing about its callers: the
// server in front of it has checked host, origin, token and length of the query, and passes May, which every operation asks.
//
// Nothing of a request is a path: names are checked by backend.CheckName, then by the backend.
//
// Contents are sent and received a piece at a time. A caller that is slow holds a piece and a connection, no lock, and no
// connection of a database. A body that must be in memory as a whole (an append, a replacement) is first collected in a temporary
// file if it is large, and few are in memory at a time. So is a long line of a log that is created.
package logs

import (
	"cmp"
	"context"
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
	// Backend has the logs. It says itself which of its optional interfaces there are: Foldered, Mirror, Watcher,
	// Identified and blob.Keeper are passed on. Which of its logs are lines must be told by their names (backend.IsText). The
	// caller closes it after Close.
	Backend backend.Backend
	// Writing gives the same Backend with a writer that is noted with each write; nil is Backend, which no limited writer may
	// write. It is called for each mutation.
	Writing func(writer backend.Writer) (backend.Backend, error)
	// Patience is how long a caller may take for each piece; 0 is 30 seconds.
	Patience time.Duration
	// Epoch names the log of events: the numbers of another process mean nothing.
	Epoch string
	// MaxStreams bounds the callers of events; 0 is 256.
	MaxStreams int
	// Clock is the time; nil is time.Now.
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

// New gives the operations on a backend. All streams end with ctx.
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

// Close ends all streams and lets go of open logs. No request may come afterwards.
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
	// May decides whether the caller may read or write a log; nil allows everything. Its error is the answer. head is how the
	// content begins that a log is created with or replaced by, up to 64 KB. Otherwise it is nil, and what the log holds
	// decides: log has the generation that it holds, or none if that is not known. For a blob whose log does not exist yet, head is
	// empty and not nil.
	//
	// Lists leave out logs that may not be read.
	May func(ctx context.Context, log backend.Log, write bool, head []byte) error
	// Remains reports whether a stream of events may go on; nil lets it. It is asked before events are told, and now and then.
	Remains func() bool
	// Writer is noted with each write.
	Writer backend.Writer
}

func (c *Call) ctx() context.Context { return c.R.Context() }

func (c *Call) may(name string, write bool, head []byte) error {
	if c.May == nil {
		return nil
	}
	return c.May(c.ctx(), backend.Log{Name: name}, write, head)
}

// mayRead is may for a log of a list, which need not be looked up again.
func (c *Call) mayRead(at backend.Log) bool {
	return c.May == nil || c.May(c.ctx(), at, false, nil) == nil
}

// Row is an operation: what is asked for, what it takes and gives, and how it is carried out.
type Row struct {
	Method, Path string
	// Name is the operation's id, Doc says what it does.
	Name, Doc string
	// Media is the type of the answer, Body that of the request; "" for none.
	Media, Body string
	// Writes: it changes logs.
	Writes bool
	// Params is a struct whose fields have the tags path, query, need and doc. Result is the shape of JSON.
	Params, Result reflect.Type
	// Answer carries it out; params is a *Params.
	Answer func(l *Logs, c *Call, params any) error
}

// nothing is the shape of an answer that has none.
type nothing struct{}

func row[P, R any](method, path, name, media, body, doc string, f func(*Logs, *Call, P) error) *Row {
	return newRow(&Row{Method: method, Path: path, Name: name, Doc: doc, Media: media, Body: body, Result: reflect.TypeFor[R]()}, f)
}

// newRow fills in what follows from a function with parameters. It has no type parameters: each type would have its own code.
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

// Rows are all operations. A server without an archive has them too, and answers that it has none.
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

// check refuses names that cannot be.
func (p nameParams) check() error {
	if len(p.Name) > protocol.NameMost {
		return fmt.Errorf("%.80s…: %w: it is longer than %d bytes", p.Name, backend.ErrName, protocol.NameMost)
	}
	return backend.CheckName(p.Name)
}

// ErrNoArchive is why a server without an archive refuses.
var ErrNoArchive = fmt.Errorf("this server keeps no archive: %w", guard.Refuse(http.StatusNotFound, "it shows the sessions of its own machine"))

// Version marks an answer as one of an archive.
func Version(h http.Header) { h.Set(protocol.Version, protocol.Current) }

// ReadOnly marks an answer as a refusal of all writes: its caller need not try another one.
func ReadOnly(h http.Header) {
	Version(h)
	name, _, _ := protocol.Code(backend.ErrReadOnly)
	h.Set(protocol.Error, name)
}

// Plain gives an error the status and the code that clients know it by.
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
