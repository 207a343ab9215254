package rpc

import (
	"path/filepath"
	"strconv"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// whereParams say where a session is, or is to be.
type whereParams struct {
	CWD        *string `json:"cwd"`
	SessionDir *string `json:"sessionDir"`
	Dialect    *string `json:"dialect"`
}

// options are those for a session at a place.
// opt.Write is the server's own (--sync and the like), without what a client must ask for with each call. A
// dialect that is not named is nil, and the store finds out by the place or takes its default.
func (c *call) options(p whereParams) (store.CreateOptions, error) {
	opt := store.CreateOptions{CWD: or(p.CWD, ""), Write: c.opt.Write}
	opt.Write.Create, opt.Write.ReplaceUnreadable, opt.Write.Defer = false, false, ""
	if dir := or(p.SessionDir, ""); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return opt, err
		}
		opt.Dir = abs
	}
	if name := or(p.Dialect, ""); name != "" {
		d, err := c.store.Dialect(name)
		if err != nil {
			return opt, err
		}
		opt.Dialect = d
	}
	return opt, nil
}

// keep gives a session its handle and answers with it.
func (c *call) keep(s *store.Session, err error) ([]byte, error) {
	// The caller must not use the session any further: from here on it belongs to its queue.
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.last++
	o := &openSession{handle: "s" + strconv.Itoa(c.last), s: s}
	c.sessions[o.handle] = o
	c.mu.Unlock()
	return describe(o)
}

// describe is the answer of all that opens a session or makes it another one.
// Its members are a promise: session (the handle for further requests), id, file (null in memory), leafId (null
// before the first entry).
func describe(o *openSession) ([]byte, error) {
	leaf := o.s.Leaf()
	file := o.s.Path()
	text := append([]byte(`{"session":`), quote(o.handle)...)
	text = append(append(text, `,"id":`...), quote(string(o.s.ID()))...)
	text = append(append(text, `,"file":`...), quoteOrNull(file)...)
	text = append(append(text, `,"leafId":`...), quoteOrNull(string(leaf))...)
	return append(text, '}'), nil
}

// createParams: id and parentSession are for clients that choose their own. deferUntil says when the file is made;
// without it that is the dialect's habit.
type createParams struct {
	whereParams
	ID            *string `json:"id"`
	ParentSession *string `json:"parentSession"`
	DeferUntil    *string `json:"deferUntil"`
}

// create answers before there is a file wherever the dialect defers it: the path in the answer is where it will
// be.
func create(c *call, p createParams) ([]byte, error) {
	var w wanted
	need(&w, "cwd", p.CWD)
	if w.err != nil {
		return nil, w.err
	}
	opt, err := c.options(p.whereParams)
	if err != nil {
		return nil, err
	}
	opt.ID, opt.Parent = session.ID(or(p.ID, "")), or(p.ParentSession, "")
	// Left out, an id is made; empty, it is most likely a variable that the client forgot to fill.
	if p.ID != nil && *p.ID == "" {
		return nil, badParams(`parameter "id": must not be empty`)
	}
	switch until := or(p.DeferUntil, ""); until {
	case "":
	case "assistant":
		opt.Write.Defer = "assistant"
	case "message":
		opt.Write.Defer = "message"
	case "never":
		opt.Write.Defer = "never"
	default:
		return nil, badParams(`parameter "deferUntil": "assistant", "message" or "never", not %q`, until)
	}
	return c.keep(c.store.Create(c.ctx, opt))
}

// openParams: place is where the session goes that this one becomes later (newSession, fork), not where it is.
type openParams struct {
	whereParams
	Path              *string `json:"path"`
	ReplaceUnreadable *bool   `json:"replaceUnreadable"`
}

// open begins a session where there is no file, as the agents' open does, but never where there is one that cannot
// be read: that needs replaceUnreadable, and even then the old bytes stay beside it.
func open(c *call, p openParams) ([]byte, error) {
	path, err := absolute("path", p.Path)
	if err != nil {
		return nil, err
	}
	opt, err := c.options(p.whereParams)
	if err != nil {
		return nil, err
	}
	opt.Write.Create = true
	opt.Write.ReplaceUnreadable = or(p.ReplaceUnreadable, false)
	return c.keep(c.store.OpenWrite(c.ctx, path, opt))
}

// absolute gives a path that must be there.
func absolute(name string, path *string) (string, error) {
	var w wanted
	p := need(&w, name, path)
	if w.err != nil {
		return "", w.err
	}
	if p == "" {
		return "", badParams("parameter %q: must not be empty", name)
	}
	return filepath.Abs(p)
}

// continueRecent goes by the terminal first, if the server was started in one, then by time; see
// store.ContinueRecent.
func continueRecent(c *call, p whereParams) ([]byte, error) {
	var w wanted
	need(&w, "cwd", p.CWD)
	if w.err != nil {
		return nil, w.err
	}
	opt, err := c.options(p)
	if err != nil {
		return nil, err
	}
	return c.keep(c.store.ContinueRecent(c.ctx, opt))
}

// inMemory takes a dialect all the same: it decides what the entries look like that the client gets.
func inMemory(c *call, p whereParams) ([]byte, error) {
	opt, err := c.options(p)
	if err != nil {
		return nil, err
	}
	// a folder would be where a session goes that this one becomes, and this one goes nowhere
	opt.Dir = ""
	return c.keep(c.store.InMemory(c.ctx, opt))
}

type forkParams struct {
	whereParams
	Source *string `json:"source"`
}

// forkFrom reads the source and never writes it, so it works with a file of another user, or of an old version.
// The cwd is needed because it, not the source, decides where the copy belongs.
func forkFrom(c *call, p forkParams) ([]byte, error) {
	source, err := absolute("source", p.Source)
	if err != nil {
		return nil, err
	}
	var w wanted
	need(&w, "cwd", p.CWD)
	if w.err != nil {
		return nil, w.err
	}
	opt, err := c.options(p.whereParams)
	if err != nil {
		return nil, err
	}
	return c.keep(c.store.ForkFrom(c.ctx, source, opt))
}

// rebound answers for a session that is another one now.
// The handle stays: to a client it is the same object, as in the agents' session manager, whose methods turn it
// into another session in place.
func (c *call) rebound(err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return describe(c.open)
}

type newSessionParams struct {
	ID            *string `json:"id"`
	ParentSession *string `json:"parentSession"`
}

// newSession leaves the old session as it is and needs no cwd: the new one is begun in the same place.
func newSession(c *call, p newSessionParams) ([]byte, error) {
	if p.ID != nil && *p.ID == "" {
		return nil, badParams(`parameter "id": must not be empty`)
	}
	return c.rebound(c.open.s.NewSession(c.ctx, session.ID(or(p.ID, "")), or(p.ParentSession, "")))
}

type leafParams struct {
	LeafID *string `json:"leafId"`
}

// createBranchedSession goes on in a copy of one path; the handle is then that of the copy.
func createBranchedSession(c *call, p leafParams) ([]byte, error) {
	var w wanted
	leaf := need(&w, "leafId", p.LeafID)
	if w.err != nil {
		return nil, w.err
	}
	return c.rebound(c.open.s.BranchedSession(c.ctx, session.EntryID(leaf)))
}

func fork(c *call, s *store.Session) ([]byte, error) { return c.rebound(s.Fork(c.ctx)) }

// move answers with the new file: the log may have gone to another folder.
func move(c *call, p whereParams) ([]byte, error) {
	var w wanted
	cwd := need(&w, "cwd", p.CWD)
	if w.err != nil {
		return nil, w.err
	}
	return c.rebound(c.open.s.Move(c.ctx, cwd))
}

func flush(c *call, s *store.Session) ([]byte, error) { return null, s.Flush(c.ctx) }

// closeSession flushes and closes. The handle is gone in any case.
func closeSession(c *call, s *store.Session) ([]byte, error) {
	c.mu.Lock()
	delete(c.sessions, c.open.handle)
	// Requests that came before this one was carried out are in the queue already. They find nil and are told that
	// it is closed.
	c.open.s = nil
	c.mu.Unlock()
	return null, s.Close()
}
