package rpc

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// whereParams say where a session is, or will be.
type whereParams struct {
	CWD        *string `json:"cwd"`
	SessionDir string  `json:"sessionDir"`
	Dialect    string  `json:"dialect"`
	// Profile is the profile of an agent that has several, instead of sessionDir.
	Profile string `json:"profile"`
	// Terminal names the terminal that the client runs in, for breadcrumbs. The server's own is the default.
	Terminal string `json:"terminal"`
	// Events asks for notifications of what happens to the session.
	Events bool `json:"events"`
}

// options are those for a session at a place. opt.Write is the server's own (--sync and the like), without what a client
// asks for with each call.
func (c *call) options(p whereParams) (opt store.CreateOptions, err error) {
	opt = store.CreateOptions{CWD: or(p.CWD, ""), Profile: p.Profile, Write: c.opt.Write}
	opt.Write.Create, opt.Write.ReplaceUnreadable, opt.Write.Defer = false, false, ""
	opt.Write.Terminal = p.Terminal
	if p.Events {
		c.fresh = &openSession{}
		opt.Write.Observer = c.notify(c.fresh, opt.Write.Observer)
	}
	if p.SessionDir != "" {
		if opt.Dir, err = filepath.Abs(p.SessionDir); err != nil {
			return opt, err
		}
	}
	in, err := c.dialect(p.Dialect)
	opt.Dialect = in.Dialect
	return opt, err
}

// optionsHere is options for a method that needs the cwd.
func (c *call) optionsHere(p whereParams) (store.CreateOptions, error) {
	if p.CWD == nil {
		return store.CreateOptions{}, missing("cwd")
	}
	return c.options(p)
}

// dialect gives options with the dialect of that name. "" is nil: the store then goes by the place, or uses its default.
func (c *call) dialect(name string) (opt store.OpenOptions, err error) {
	if name != "" {
		opt.Dialect, err = c.store.Dialect(name)
	}
	return opt, err
}

// keep gives a session its handle and answers with it. From then on the session belongs to its queue: the caller must not use
// it any further.
func (c *call) keep(s *store.Session, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	o := c.fresh
	if o == nil {
		o = &openSession{}
	}
	c.mu.Lock()
	c.last++
	o.handle, o.s = "s"+strconv.Itoa(c.last), s
	c.sessions[o.handle] = o
	c.mu.Unlock()
	return describe(o, nil)
}

// describe is the answer of all that opens a session or makes it another one. Its members are stable: session (the handle),
// id, file (null in memory), leafId (null before the first entry).
func describe(o *openSession, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"session":%s,"id":%s,"file":%s,"leafId":%s}`,
		quote(o.handle), quote(string(o.s.ID())), quoteOrNull(o.s.Path()), quoteOrNull(string(o.s.Leaf()))), nil
}

// createParams: id and parentSession are for clients that choose their own. deferUntil says when the file is created; the
// default is the dialect's.
type createParams struct {
	whereParams
	newSessionParams
	DeferUntil string `json:"deferUntil"`
}

// create answers with the path even while creation is deferred.
func create(c *call, p createParams) ([]byte, error) {
	opt, err := c.optionsHere(p.whereParams)
	if err != nil {
		return nil, err
	}
	if opt.ID, err = p.id(); err != nil {
		return nil, err
	}
	opt.Parent = p.ParentSession
	switch p.DeferUntil {
	case "":
	case "assistant":
		opt.Write.Defer = "assistant"
	case "message":
		opt.Write.Defer = "message"
	case "never":
		opt.Write.Defer = "never"
	default:
		return nil, badParams(`parameter "deferUntil": "assistant", "message" or "never", not %q`, p.DeferUntil)
	}
	return c.keep(c.store.Create(c.ctx, opt))
}

// openParams: sessionDir is for the session that this one becomes later (newSession, fork).
type openParams struct {
	whereParams
	Path              *string `json:"path" need:""`
	ReplaceUnreadable bool    `json:"replaceUnreadable"`
}

// open begins a session if there is no file, as the agents' open does. A file that cannot be read is refused without
// replaceUnreadable, and with it the old bytes stay beside the new file.
func open(c *call, p openParams) ([]byte, error) {
	path, err := absolute("path", *p.Path)
	if err != nil {
		return nil, err
	}
	opt, err := c.options(p.whereParams)
	if err != nil {
		return nil, err
	}
	opt.Write.Create, opt.Write.ReplaceUnreadable = true, p.ReplaceUnreadable
	return c.keep(c.store.OpenWrite(c.ctx, path, opt))
}

// absolute gives an absolute path. A relative one is resolved in the server's working directory.
func absolute(name, path string) (string, error) {
	if path == "" {
		return "", badParams("parameter %q: must not be empty", name)
	}
	return filepath.Abs(path)
}

// continueRecent goes by the terminal first, if the server was started in one, then by time.
func continueRecent(c *call, p whereParams) ([]byte, error) {
	opt, err := c.optionsHere(p)
	if err != nil {
		return nil, err
	}
	return c.keep(c.store.ContinueRecent(c.ctx, opt))
}

// inMemory takes a dialect as well: it decides what the client's entries look like.
func inMemory(c *call, p whereParams) ([]byte, error) {
	opt, err := c.options(p)
	if err != nil {
		return nil, err
	}
	opt.Dir = "" // it is never stored
	return c.keep(c.store.InMemory(c.ctx, opt))
}

type forkParams struct {
	whereParams
	Source *string `json:"source" need:""`
}

// forkFrom only reads the source, so it works with a file of another user or of an old version. It needs the cwd, which
// decides where the copy belongs.
func forkFrom(c *call, p forkParams) ([]byte, error) {
	source, err := absolute("source", *p.Source)
	if err != nil {
		return nil, err
	}
	opt, err := c.optionsHere(p.whereParams)
	if err != nil {
		return nil, err
	}
	return c.keep(c.store.ForkFrom(c.ctx, source, opt))
}

type newSessionParams struct {
	ID            *string `json:"id"`
	ParentSession string  `json:"parentSession"`
}

// id refuses an empty id, which is most likely a variable that the client forgot to fill. An absent one is generated.
func (p newSessionParams) id() (session.ID, error) {
	if p.ID != nil && *p.ID == "" {
		return "", badParams(`parameter "id": must not be empty`)
	}
	return session.ID(or(p.ID, "")), nil
}

// newSession begins a session in the same place. As in the agents' session manager, the handle then refers to the new
// session; so do those of the methods below.
func newSession(c *call, p newSessionParams) ([]byte, error) {
	id, err := p.id()
	if err != nil {
		return nil, err
	}
	return describe(c.open, c.open.s.NewSession(c.ctx, id, p.ParentSession))
}

type leafParams struct {
	LeafID *string `json:"leafId" need:""`
}

// createBranchedSession copies one path.
func createBranchedSession(c *call, p leafParams) ([]byte, error) {
	return describe(c.open, c.open.s.BranchedSession(c.ctx, session.EntryID(*p.LeafID)))
}

func fork(c *call, s *store.Session) ([]byte, error) { return describe(c.open, s.Fork(c.ctx)) }

type moveParams struct {
	CWD *string `json:"cwd" need:""`
}

// move answers with the new file: the log may have moved to another folder.
func move(c *call, p moveParams) ([]byte, error) {
	return describe(c.open, c.open.s.Move(c.ctx, *p.CWD))
}

func flush(c *call, s *store.Session) ([]byte, error) { return null, s.Flush(c.ctx) }

// closeSession flushes and closes. The handle becomes invalid even if that fails. Requests that are queued already find nil
// and are told that the session is closed.
func closeSession(c *call, s *store.Session) ([]byte, error) {
	c.mu.Lock()
	delete(c.sessions, c.open.handle)
	c.open.s = nil
	c.mu.Unlock()
	return null, s.Close()
}
