package rpc

import (
	"errors"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/repair"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// eitherParams name a session by ref if no handle is given.
type eitherParams struct {
	Ref string `json:"ref" doc:"a session that is not open: its path, its id or the beginning of it (also agent:id), or @last"`
	dialectParam
}

// reading calls use with the open session or, for a ref, with a session that is opened only for this.
func (c *call) reading(p eitherParams, use func(*store.Session) error) error {
	if c.open != nil {
		return use(c.open.s)
	}
	path, err := c.locate(p.Ref)
	if err != nil {
		return err
	}
	in, err := c.dialect(p.Dialect)
	if err != nil {
		return err
	}
	s, err := c.store.Open(c.outer, path, in)
	if err != nil {
		return err
	}
	return errors.Join(use(s), s.Close())
}

// check reads every record, and every blob that a record refers to. A log that is not a session is reported as a problem, not as a failure.
func check(c *call, p eitherParams) ([]session.Problem, error) {
	problems := []session.Problem{}
	err := c.reading(p, func(s *store.Session) error {
		found, err := c.store.Check(c.outer, s)
		problems = append(problems, found...)
		return err
	})
	var whole *session.Problem
	if errors.As(err, &whole) {
		return append(problems, *whole), nil
	}
	return problems, err
}

type repairParams struct {
	refParams
	Apply    bool `json:"apply" doc:"repairs the file; otherwise the repair is only planned"`
	Reattach bool `json:"reattach" doc:"attaches entries whose parent is missing to the entry before them"`
	heldParam
}

// repairLog is finished once it has begun if it replaces a file.
func repairLog(c *call, p repairParams) (wire.Plan, error) {
	path, err := c.locate(*p.Ref)
	if err != nil {
		return wire.Plan{}, err
	}
	do, ctx := c.store.PlanRepair, c.outer
	if p.Apply {
		do, ctx = c.store.Repair, c.ctx
	}
	plan, err := do(ctx, path, repair.Options{Reattach: p.Reattach, Force: p.ForceRewrite})
	if err != nil {
		return wire.Plan{}, err
	}
	return wire.NewPlan(plan), nil
}

type removeParams struct {
	refParams
	heldParam
}

// remove opens the session first, so that it cannot move arbitrary files to the trash.
func remove(c *call, p removeParams) (wire.Trashed, error) {
	path, err := c.locate(*p.Ref)
	if err != nil {
		return wire.Trashed{}, err
	}
	s, err := c.store.Open(c.outer, path, store.OpenOptions{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return wire.Trashed{}, err
	}
	put := c.store.Trash
	if p.ForceRewrite {
		put = c.store.TrashHeld
	}
	item, err := put(c.ctx, path)
	if err != nil {
		return wire.Trashed{}, err
	}
	return wire.NewTrashed(item), nil
}

type restoreParams struct {
	ID *string `json:"id" need:"" doc:"the id in the trash, or the beginning of it"`
}

func restore(c *call, p restoreParams) (wire.Trashed, error) {
	item, err := c.store.Restore(c.ctx, *p.ID)
	if err != nil {
		return wire.Trashed{}, err
	}
	return wire.NewTrashed(item), nil
}

func listTrash(c *call, _ struct{}) ([]wire.Trashed, error) {
	items, err := c.store.Trashed(c.outer)
	list := make([]wire.Trashed, 0, len(items))
	for _, item := range items {
		list = append(list, wire.NewTrashed(item))
	}
	return list, err
}

type resumeParams struct {
	Agent string `json:"agent" doc:"the agent that continues it, as a dialect; the default is its own"`
	eitherParams
	LeafID *session.EntryID `json:"leafId" doc:"the entry to continue from; the default is the leaf"`
}

// resumeCommand may write: see treeline.Store.ResumeCommand.
func resumeCommand(c *call, p resumeParams) (j wire.Resume, err error) {
	in, err := c.dialect(p.Agent)
	if err != nil {
		return j, err
	}
	err = c.reading(p.eitherParams, func(s *store.Session) error {
		r, err := c.store.ResumeCommand(c.ctx, s, treeline.ResumeOptions{In: in.Dialect, Leaf: p.LeafID, Write: c.opt.Write})
		if err == nil {
			j = wire.NewResume(r.Launch, r.Dir, wire.Resumed{
				ID: r.ID, Path: r.Path, Dialect: r.Dialect, Leaf: r.Leaf, From: r.From, Holders: r.Holders, Report: r.Report, Problems: r.Problems,
			})
		}
		return err
	})
	return j, err
}

type convertParams struct {
	To *string `json:"to" need:"" doc:"the dialect of the new session"`
	eitherParams
	LeafID *session.EntryID `json:"leafId" doc:"converts only the path to this entry"`
	Dir    string           `json:"dir" doc:"the folder of the new file; the default is the agent's own"`
}

// convertSession only reads the old session. The new one is closed; the report has its path. If the request is cancelled, there is none.
func convertSession(c *call, p convertParams) (report wire.Conversion, err error) {
	to, err := c.store.Dialect(*p.To)
	if err != nil {
		return report, err
	}
	opt := convert.Options{To: to, Leaf: p.LeafID, Write: c.opt.Write}
	if opt.Dir, err = directory(p.Dir); err != nil {
		return report, err
	}
	err = c.reading(p.eitherParams, func(s *store.Session) error {
		made, r, err := c.store.ConvertSession(c.outer, s, opt)
		if err != nil {
			return err
		}
		report = wire.NewConversion(r)
		return made.Close()
	})
	return report, err
}
