package rpc

import (
	"cmp"
	"path/filepath"
	"strconv"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// folderParams say in which folder sessions are.
type folderParams struct {
	SessionDir string `json:"sessionDir" doc:"the folder of its file; the default is the agent's own"`
	dialectParam
	Profile string `json:"profile" doc:"a profile of Operator, instead of sessionDir; the default is $OPERATOR_PROFILE, or none"`
}

// placeParams say where a session is or will be, and the format it has.
type placeParams struct {
	folderParams
	Terminal string `json:"terminal" doc:"the terminal that the client runs in, such as /dev/pts/3, for agents that note which terminal used which session; the default is the server's own"`
	Events   bool   `json:"events" doc:"sends notifications of what happens to the session"`
}

// heldParam is for methods that may replace or remove a file.
type heldParam struct {
	ForceRewrite bool `json:"forceRewrite" doc:"replaces or removes the file even while another program has it open for writing; what that program writes later is lost"`
}

// forceParam is for methods that create a session or open one for writing. It applies as long as the session is open.
type forceParam struct {
	heldParam
	Force bool `json:"force" doc:"writes what is otherwise refused because it looks like a mistake: a working directory that does not exist or is a file, an entry without its message, a message without a role, text that is not UTF-8, a compaction whose first kept entry is not before it"`
}

func (p forceParam) set(opt *store.WriteOptions) {
	opt.Force, opt.ForceRewrite = p.Force, p.ForceRewrite
}

// dialectParam names a dialect. Without it, create chooses one (place.Machine.Default), and the format of an existing file is detected.
type dialectParam struct {
	Dialect string `json:"dialect" doc:"the agent's format, such as omp or pi"`
}

// hereParams are the parameters of methods that need the working directory.
type hereParams struct {
	CWD *string `json:"cwd" need:"" doc:"the working directory of the session"`
	placeParams
}

// options returns the options of a session at a place. opt.Write has the server's own options (--sync and the like), without those that a
// client sets in each call.
func (c *call) options(p placeParams) (opt store.CreateOptions, err error) {
	opt = store.CreateOptions{Profile: p.Profile, Write: c.opt.Write}
	opt.Write.Create, opt.Write.ReplaceUnreadable, opt.Write.Defer, opt.Write.Force = false, false, "", false
	opt.Write.Terminal = p.Terminal
	if p.Events {
		c.fresh = &openSession{}
		opt.Write.Observer = c.observe(c.fresh, opt.Write.Observer)
	}
	if p.SessionDir != "" {
		if p.Profile != "" {
			return opt, badParams(`parameters "sessionDir" and "profile" exclude each other`)
		}
		if opt.Dir, err = filepath.Abs(p.SessionDir); err != nil {
			return opt, err
		}
	}
	in, err := c.dialect(p.Dialect)
	opt.Dialect = in.Dialect
	return opt, err
}

// optionsHere is options with the working directory.
func (c *call) optionsHere(p hereParams) (store.CreateOptions, error) {
	opt, err := c.options(p.placeParams)
	opt.CWD = *p.CWD
	return opt, err
}

// dialect returns options with the dialect of that name. With "" it is nil: the store then chooses by the place, or uses its default.
func (c *call) dialect(name string) (opt store.OpenOptions, err error) {
	if name != "" {
		opt.Dialect, err = c.store.Dialect(name)
	}
	return opt, err
}

// opened is the answer of every method that opens a session or makes its handle refer to another one.
type opened struct {
	Session string           `json:"session"`
	ID      session.ID       `json:"id"`
	Dialect string           `json:"dialect"`
	File    *string          `json:"file"`   // null in memory
	LeafID  *session.EntryID `json:"leafId"` // null before the first entry
}

// keep gives a session a handle, and answers with it. From then on the session belongs to its queue: the caller must not use it any more.
func (c *call) keep(s *store.Session, err error) (opened, error) {
	if err != nil {
		return opened{}, err
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

// describe describes the current state of a session.
func describe(o *openSession, err error) (opened, error) {
	if err != nil {
		return opened{}, err
	}
	return opened{Session: o.handle, ID: o.s.ID(), Dialect: o.s.Dialect().Name(), File: optional(o.s.Path()), LeafID: optional(o.s.Leaf())}, nil
}

// In createParams, id and parentSession are for clients that choose their own. deferUntil says when the file is created; the default is the
// dialect's.
type createParams struct {
	hereParams
	newSessionParams
	forceParam
	DeferUntil string `json:"deferUntil" one:"assistant message never" doc:"when the file is created: with the first message of the assistant, with the first message of user or assistant, or at once; the default is message, for omp-doc and operator-doc assistant, for wave-doc never; with level always the first append creates the file, and flush always does"`
}

// create answers with the path even while creation is deferred.
func create(c *call, p createParams) (opened, error) {
	opt, err := c.optionsHere(p.hereParams)
	if err != nil {
		return opened{}, err
	}
	if opt.ID, err = p.id(); err != nil {
		return opened{}, err
	}
	opt.Parent = p.ParentSession
	p.set(&opt.Write)
	if opt.Dialect == nil {
		chosen, err := c.store.Default(c.ctx, opt.CWD)
		if err != nil {
			return opened{}, err
		}
		opt.Dialect, opt.Dir = chosen.Dialect, cmp.Or(opt.Dir, chosen.Dir)
	}
	switch p.DeferUntil {
	case "assistant":
		opt.Write.Defer = "assistant"
	case "message":
		opt.Write.Defer = "message"
	case "never":
		opt.Write.Defer = "never"
	}
	return c.keep(c.store.Create(c.ctx, opt))
}

// In openParams, sessionDir is the folder of the sessions that newSession and fork make from this one.
type openParams struct {
	Path *string `json:"path" need:"" doc:"the file"`
	placeParams
	ReadOnly          bool `json:"readOnly" doc:"opens an existing session for reading; nothing is written, and appends are refused"`
	ReplaceUnreadable bool `json:"replaceUnreadable" doc:"renames a file that is not a session and starts one"`
	forceParam
}

// open creates the session if there is no file, as in the agents' programs. A file that cannot be read is refused without
// replaceUnreadable; with it, the old bytes are kept next to the new file.
func open(c *call, p openParams) (opened, error) {
	path, err := absolute("path", *p.Path)
	if err != nil {
		return opened{}, err
	}
	opt, err := c.options(p.placeParams)
	if err != nil {
		return opened{}, err
	}
	if p.ReadOnly {
		if p.ReplaceUnreadable {
			return opened{}, badParams(`parameter "replaceUnreadable": it cannot be combined with "readOnly"`)
		}
		return c.keep(c.store.Open(c.ctx, path, store.OpenOptions{Dialect: opt.Dialect}))
	}
	opt.Write.Create, opt.Write.ReplaceUnreadable = true, p.ReplaceUnreadable
	p.set(&opt.Write)
	return c.keep(c.store.OpenWrite(c.ctx, path, opt))
}

// absolute returns an absolute path. A relative one is resolved in the server's working directory.
func absolute(name, path string) (string, error) {
	if path == "" {
		return "", badParams("parameter %q: must not be empty", name)
	}
	return filepath.Abs(path)
}

type continueParams struct {
	hereParams
	forceParam
}

// continueRecent continues the last session of the terminal, if the server was started in one, and otherwise the newest one.
func continueRecent(c *call, p continueParams) (opened, error) {
	opt, err := c.optionsHere(p.hereParams)
	if err != nil {
		return opened{}, err
	}
	p.set(&opt.Write)
	return c.keep(c.store.ContinueRecent(c.ctx, opt))
}

type memoryParams struct {
	CWD string `json:"cwd" doc:"the working directory that its header names"`
	dialectParam
}

// inMemory takes a dialect, too, because it decides what the client's entries look like.
func inMemory(c *call, p memoryParams) (opened, error) {
	opt, err := c.options(placeParams{folderParams: folderParams{dialectParam: p.dialectParam}})
	if err != nil {
		return opened{}, err
	}
	opt.CWD = p.CWD
	return c.keep(c.store.InMemory(c.ctx, opt))
}

type forkParams struct {
	Source *string `json:"source" need:"" doc:"the file that is copied"`
	hereParams
	forceParam
}

// forkFrom only reads the source, so it works with a file of another user or of an old version. It needs cwd, which decides where the copy
// belongs.
func forkFrom(c *call, p forkParams) (opened, error) {
	source, err := absolute("source", *p.Source)
	if err != nil {
		return opened{}, err
	}
	opt, err := c.optionsHere(p.hereParams)
	if err != nil {
		return opened{}, err
	}
	p.set(&opt.Write)
	return c.keep(c.store.ForkFrom(c.ctx, source, opt))
}

type newSessionParams struct {
	ID            *string `json:"id" doc:"the id of the new session; the default is generated"`
	ParentSession string  `json:"parentSession" doc:"the file of the session that this one continues"`
}

// id refuses an empty id, which is most likely a variable that the client forgot to set. Without an id, one is generated.
func (p newSessionParams) id() (session.ID, error) {
	if p.ID != nil && *p.ID == "" {
		return "", badParams(`parameter "id": must not be empty`)
	}
	return session.ID(or(p.ID, "")), nil
}

// newSession creates a session in the same place. As in the agents' session managers, the handle then refers to the new session. The same
// holds for the methods below.
func newSession(c *call, p newSessionParams) (opened, error) {
	id, err := p.id()
	if err != nil {
		return opened{}, err
	}
	return describe(c.open, c.open.s.NewSession(c.ctx, id, p.ParentSession))
}

type leafParams struct {
	LeafID *string `json:"leafId" need:"" doc:"the last entry that is copied"`
}

// createBranchedSession copies one path.
func createBranchedSession(c *call, p leafParams) (opened, error) {
	return describe(c.open, c.open.s.BranchedSession(c.ctx, session.EntryID(*p.LeafID)))
}

func fork(c *call, s *store.Session) (opened, error) { return describe(c.open, s.Fork(c.ctx)) }

type moveParams struct {
	CWD *string `json:"cwd" need:"" doc:"the new working directory"`
}

// move answers with the new path: the log may have moved to another folder.
func move(c *call, p moveParams) (opened, error) {
	return describe(c.open, c.open.s.Move(c.ctx, *p.CWD))
}

func flush(c *call, s *store.Session) (nothing, error) { return nothing{}, s.Flush(c.ctx) }

// closeSession flushes and closes the session. The handle becomes invalid even if this fails. Requests that are already queued find a nil
// session, and fail because it is closed.
func closeSession(c *call, s *store.Session) (nothing, error) {
	c.mu.Lock()
	delete(c.sessions, c.open.handle)
	c.open.s = nil
	c.mu.Unlock()
	return nothing{}, s.Close()
}
