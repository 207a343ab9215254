package rpc

import (
	"errors"
	"io/fs"

	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/wire"
)

// historyParams choose a history.
type historyParams struct {
	DB string `json:"db" doc:"the history.db of an agent; the default is treeline's own"`
}

// history returns the options of a history.
func (c *call) history(p historyParams) (opt history.Options, err error) {
	opt = c.opt.History
	if opt.Sessions == nil {
		opt.Sessions = c.store
	}
	opt.DB, err = directory(p.DB)
	return opt, err
}

type historyAddParams struct {
	Prompt *string `json:"prompt" need:"" doc:"what was typed"`
	CWD    string  `json:"cwd" doc:"the working directory"`
	historyParams
}

// historyAdd answers after the prompt was written.
func historyAdd(c *call, p historyAddParams) (nothing, error) {
	opt, err := c.history(p.historyParams)
	if err != nil {
		return nothing{}, err
	}
	err = history.Add(c.ctx, opt, *p.Prompt, p.CWD)
	if errors.Is(err, history.ErrEmpty) {
		return nothing{}, badParams(`parameter "prompt": must not be empty`)
	}
	return nothing{}, err
}

type historySearchParams struct {
	Text     *string `json:"text" need:"" doc:"words; each must be the beginning of a word in the prompt"`
	Anywhere bool    `json:"anywhere" doc:"words match inside other words, too: for languages without spaces"`
	historyRecentParams
}

type historyRecentParams struct {
	CWD   string `json:"cwd" doc:"only prompts of that directory"`
	Limit *int   `json:"limit" doc:"the maximum number, up to 1000; the default is 100"`
	Uses  bool   `json:"uses" doc:"adds the entries where each prompt was used, which may read sessions"`
	historyParams
}

// historySearch returns an empty list if there is no history yet.
func historySearch(c *call, p historySearchParams) ([]wire.Prompt, error) {
	list := []wire.Prompt{}
	opt, err := c.history(p.historyParams)
	if err != nil {
		return nil, err
	}
	q := history.Query{Text: or(p.Text, ""), Anywhere: p.Anywhere}
	if q.Limit, err = limit(p.Limit, 100); err != nil {
		return nil, err
	}
	if q.CWD, err = directory(p.CWD); err != nil {
		return nil, err
	}
	found, err := history.Search(c.outer, opt, q)
	if errors.Is(err, fs.ErrNotExist) && p.DB == "" {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	var places *history.Places
	if p.Uses {
		if places, err = history.OpenPlaces(c.outer, opt); err != nil {
			return nil, err
		}
		defer places.Close()
	}
	for _, prompt := range found {
		shown := wire.NewPrompt(prompt.ID, prompt.Text, prompt.CWD, prompt.At)
		if places != nil {
			uses, err := places.Of(c.outer, prompt.Text, mostUses)
			if err != nil {
				return nil, err
			}
			for _, u := range uses {
				shown.Used(wire.Use{Session: u.Session, Entry: u.Entry, Dialect: u.Dialect, Path: u.Path, CWD: u.CWD}, u.At)
			}
		}
		list = append(list, shown)
	}
	return list, nil
}

// mostUses is the largest number of uses of a prompt in an answer: a prompt such as "go on" may have thousands.
const mostUses = 100

func historyRecent(c *call, p historyRecentParams) ([]wire.Prompt, error) {
	return historySearch(c, historySearchParams{historyRecentParams: p})
}
