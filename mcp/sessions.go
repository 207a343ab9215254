package mcp

import (
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

type listArgs struct {
	scopeArgs
	spanArgs
	Title     string   `json:"title" doc:"a pattern with * and ? for the title or, without one, the first prompt, such as *login*"`
	Model     string   `json:"model" doc:"only sessions in which this model answered: a part of its name"`
	Has       []string `json:"has" one:"label branch compaction problem blob run" doc:"only sessions with all of these"`
	SubAgents bool     `json:"subAgents" doc:"also list the sessions of sub-agents"`
	pageArgs
}

// sessionList is a page of the list of sessions, the most recently used first. project is the directory whose sessions are listed, null for
// all. Problems say what could not be read.
type sessionList struct {
	Project  *string    `json:"project"`
	Sessions []wire.Row `json:"sessions"`
	Next     *string    `json:"next"`
	Problems []string   `json:"problems"`
}

func (a listArgs) filter(c *call) (f treeline.Filter, err error) {
	f = treeline.Filter{Source: a.Agent, Model: a.Model, Title: a.Title}
	for _, word := range a.Has {
		if word == "run" {
			f.Run = true
			continue
		}
		h, _ := index.ParseHas(word) // the tag of the argument allows only these words
		f.Has |= h
	}
	f.Since, f.Until, err = a.parse(c.opt.Clock())
	return f, err
}

func listSessions(c *call, a listArgs) (result sessionList, err error) {
	result = sessionList{Sessions: []wire.Row{}, Problems: []string{}}
	space, n, err := a.bounds()
	if err != nil {
		return result, err
	}
	f, err := a.filter(c)
	if err != nil {
		return result, err
	}
	at, err := begin(a.Cursor, digest("list", append(a.Has, a.Project, a.Agent, a.Since, a.Until, a.Title, a.Model)...))
	if err != nil {
		return result, err
	}
	if a.Cursor == "" {
		if at.Dir, err = c.dir(a.scopeArgs); err != nil {
			return result, err
		}
	}
	f.CWD = at.Dir
	if f.CWD != "" {
		result.Project = &f.CWD
	}
	more, err := c.walk(f, &at, n, &result.Problems, func(r *place.Row) (bool, error) {
		if r.IsTask() && !a.SubAgents {
			return true, nil
		}
		j := c.row(r)
		if len(result.Sessions) == n {
			return false, nil
		}
		ok, err := space.take(j)
		if ok {
			result.Sessions = append(result.Sessions, j)
		}
		return ok, err
	})
	if more {
		result.Next = at.cursor()
	}
	return result, err
}

// tell returns a function that adds problems to a result, three at most.
func (c *call) tell(problems *[]string) func(error) {
	return func(err error) {
		if len(*problems) < 3 {
			*problems = append(*problems, c.line(err.Error(), promptWidth))
		}
	}
}

// walk calls use with the sessions that pass a filter, starting after a position, until it returns false. The position then is before that
// session, and more is true.
func (c *call) walk(f treeline.Filter, at *position, page int, problems *[]string, use func(*place.Row) (bool, error)) (more bool, err error) {
	opt := treeline.PageOptions{Limit: page}
	opt.Problem = c.tell(problems)
	for {
		opt.After = at.After
		found, err := c.store.Page(c.ctx, f, opt)
		if err != nil {
			return false, err
		}
		for i := range found.Rows {
			goOn, err := use(&found.Rows[i])
			switch {
			case err != nil:
				return false, err
			case goOn:
				continue
			case i > 0:
				// The position in a list is that of the row before it. Only a page that ends there returns it.
				opt.Limit = i
				found, err = c.store.Page(c.ctx, f, opt)
				at.After = found.Next
				return at.After != "", err // "" if the rest was removed meanwhile
			}
			return true, nil
		}
		if at.After = found.Next; at.After == "" {
			return false, nil
		}
	}
}

// row returns a session in a list.
func (c *call) row(r *place.Row) wire.Row {
	j := wire.NewRow(r)
	j.Title, j.Prompt = c.line(j.Title, titleWidth), c.line(j.Prompt, promptWidth)
	j.ID, j.Path, j.CWD, j.Parent = name(j.ID), c.where(j.Path), c.where(j.CWD), c.where(j.Parent)
	if j.Known != nil {
		j.Models = j.Models[:min(len(j.Models), 8)]
		for i := range j.Models {
			j.Models[i] = c.line(j.Models[i], modelWidth)
		}
	}
	return j
}
