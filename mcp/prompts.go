package mcp

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

type promptArgs struct {
	Words string `json:"words" doc:"words that must all occur in the prompt, in the syntax of search_sessions; without words, the newest prompts are returned"`
	scopeArgs
	spanArgs
	pageArgs
}

// promptList is a page of the user's prompts. Each prompt is listed once, with the places where it was used. project is the directory whose
// prompts are listed, null for all. widened means that the current project has no hit.
type promptList struct {
	About    string        `json:"about"`
	Project  *string       `json:"project"`
	Widened  bool          `json:"widened"`
	Prompts  []shownPrompt `json:"prompts"`
	Next     *string       `json:"next"`
	Problems []string      `json:"problems"`
}

// shownPrompt is a prompt that may be cut. cut is the number of bytes that are omitted.
type shownPrompt struct {
	wire.Prompt
	Cut int `json:"cut,omitempty"`
}

// promptMost is the largest number of bytes of a prompt that are returned.
const promptMost = 2000

// recalling collects prompts for a result.
type recalling struct {
	*call
	space  *room
	limit  int
	result promptList
	number map[string]int // number of each text in the result
}

// recallPrompts reads the sessions themselves, which are always up to date, and not the prompt history, which only the user updates.
func recallPrompts(c *call, a promptArgs) (promptList, error) {
	r := recalling{call: c, number: map[string]int{}, result: promptList{About: about, Prompts: []shownPrompt{}, Problems: []string{}}}
	var err error
	if r.space, r.limit, err = a.bounds(); err != nil {
		return r.result, err
	}
	at, err := begin(a.Cursor, digest("prompts", a.Words, a.Project, a.Agent, a.Since, a.Until))
	if err != nil {
		return r.result, err
	}
	var more bool
	if strings.TrimSpace(a.Words) == "" {
		more, err = r.newest(a, &at)
	} else {
		more, err = r.matching(a, &at)
	}
	if r.result.Widened = at.Wide; at.Dir != "" {
		r.result.Project = &at.Dir
	}
	if more {
		r.result.Next = at.cursor()
	}
	return r.result, err
}

// newest returns the prompts of the most recently used sessions. at.N is how many prompts of the session at at.After have been returned.
func (r *recalling) newest(a promptArgs, at *position) (more bool, err error) {
	f := treeline.Filter{Source: a.Agent}
	since, until, err := a.parse(r.opt.Clock())
	if err != nil {
		return false, err
	}
	f.Since = since // but not Until: a session that was used later may have earlier prompts
	if a.Cursor == "" {
		if at.Dir, err = r.dir(a.scopeArgs); err != nil {
			return false, err
		}
	}
	f.CWD = at.Dir
	const page = 20
	return r.walk(f, at, page, &r.result.Problems, func(row *place.Row) (bool, error) {
		if begun, ok := row.Created.Time(); ok && !until.IsZero() && !begun.Before(until) {
			return true, nil
		}
		list, err := r.typed(row)
		if err != nil {
			return false, err
		}
		for i, p := range list[min(at.N, len(list)):] {
			if !since.IsZero() && p.At.Before(since) || !until.IsZero() && !p.At.Before(until) {
				continue
			}
			if ok, err := r.add(row, p); !ok || err != nil {
				at.N += i
				return false, err
			}
		}
		at.N = 0
		return true, nil
	})
}

// typed returns the prompts of a session, the last one first. A session that cannot be read is a problem of the result.
func (r *recalling) typed(row *place.Row) (list []session.Prompt, err error) {
	if row.IsTask() {
		return nil, nil
	}
	s, err := r.store.Open(r.ctx, row.Path, treeline.OpenOptions{})
	if err != nil {
		return nil, r.problem(err)
	}
	defer s.Close()
	finder, err := r.scrubber(s)
	if err != nil {
		return nil, r.problem(err)
	}
	for p, err := range s.Prompts(r.ctx) {
		if err != nil {
			if err = r.problem(err); err != nil {
				return nil, err
			}
			continue
		}
		if p.Text = scrubText(finder, p.Text); p.Text != "" {
			list = append(list, p)
		}
	}
	slices.Reverse(list)
	return list, nil
}

// problem notes an error, unless the call was cancelled.
func (r *recalling) problem(err error) error {
	if r.ctx.Err() != nil {
		return err
	}
	r.tell(&r.result.Problems)(err)
	return nil
}

// add adds a prompt to the result. It returns false if there is no room.
func (r *recalling) add(row *place.Row, p session.Prompt) (bool, error) {
	const mostUses = 5
	text, left := p.Text, 0
	if parts, _, rest := window([]wire.Part{{Type: "text", Text: &text}}, 0, promptMost+partCost); len(parts) > 0 {
		text, left = *parts[0].Text, rest
	}
	use := wire.Use{Path: r.where(row.Path), Dialect: row.Dialect.Name(), Session: name(row.ID), Entry: name(p.Entry), CWD: r.where(row.CWD)}
	shown := shownPrompt{wire.NewPrompt(0, text, use.CWD, p.At), left}
	shown.Used(use, p.At)
	if i, ok := r.number[p.Text]; ok {
		known := &r.result.Prompts[i]
		if len(known.Uses) == mostUses {
			return true, nil
		}
		ok, err := r.space.take(shown.Uses[0])
		if ok {
			known.Uses = append(known.Uses, shown.Uses[0])
		}
		return ok, err
	}
	if len(r.result.Prompts) == r.limit {
		return false, nil
	}
	ok, err := r.space.take(shown)
	if ok {
		r.number[p.Text] = len(r.result.Prompts)
		r.result.Prompts = append(r.result.Prompts, shown)
	}
	return ok, err
}

// matching returns the prompts that match a query. A search finds the entries; the sessions tell which of them were typed, and their whole
// text. at.N counts the hits that were examined.
func (r *recalling) matching(a promptArgs, at *position) (more bool, err error) {
	opt := find.Options{Source: a.Agent, Fields: query.FieldUser, Rewrite: r.rewrite(), Problem: func(err error) { _ = r.problem(err) }}
	if opt.Since, opt.Until, err = a.parse(r.opt.Clock()); err != nil {
		return false, err
	}
	sessions := map[string]map[session.EntryID]session.Prompt{}
	for first := a.Cursor == ""; ; first = false {
		found, err := r.search(a.Words, opt, at, a.scopeArgs, first, max(r.limit, 50))
		if err != nil {
			return false, err
		}
		for i := range found.Hits {
			h := &found.Hits[i]
			if h.Session != nil && h.Entry != "" {
				known, ok := sessions[h.Session.Path]
				if !ok {
					known = map[session.EntryID]session.Prompt{}
					list, err := r.typed(h.Session)
					if err != nil {
						return false, err
					}
					for _, p := range list {
						known[p.Entry] = p
					}
					sessions[h.Session.Path] = known
				}
				if p, ok := known[h.Entry]; ok {
					if ok, err := r.add(h.Session, p); !ok || err != nil {
						return true, err
					}
				}
			}
			r.searches.gave(at, found.Hits[i:i+1])
		}
		if !found.More {
			return false, nil
		}
	}
}
