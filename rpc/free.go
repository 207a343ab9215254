package rpc

import (
	"path/filepath"
	"strconv"

	"github.com/treeline-dev/treeline/store"
)

// The methods that need no session.

type pathParams struct {
	Path    *string `json:"path"`
	Dialect *string `json:"dialect"`
}

func loadEntries(c *call, p pathParams) ([]byte, error) {
	path, err := absolute("path", p.Path)
	if err != nil {
		return nil, err
	}
	opt, err := c.options(place{Dialect: p.Dialect})
	if err != nil {
		return nil, err
	}
	list, err := c.store.LoadEntries(c.outer, path, store.OpenOptions{Dialect: opt.Dialect})
	if err != nil {
		return nil, err
	}
	return array(list), nil
}

type textParams struct {
	Text *string `json:"text"`
}

func parseEntries(_ *call, p textParams) ([]byte, error) {
	var w wanted
	text := need(&w, "text", p.Text)
	if w.err != nil {
		return nil, w.err
	}
	return array(store.ParseEntries([]byte(text))), nil
}

func migrateEntries(c *call, p entriesParams) ([]byte, error) {
	var w wanted
	entries := w.list("entries", p.Entries)
	if w.err != nil {
		return nil, w.err
	}
	opt, err := c.options(place{Dialect: p.Dialect})
	if err != nil {
		return nil, err
	}
	list, err := c.store.MigrateEntries(opt.Dialect, entries)
	if err != nil {
		return nil, err
	}
	return array(list), nil
}

type dirParams struct {
	Dir     *string `json:"dir"`
	Dialect *string `json:"dialect"`
}

func findMostRecent(c *call, p dirParams) ([]byte, error) {
	dir, err := absolute("dir", p.Dir)
	if err != nil {
		return nil, err
	}
	opt, err := c.options(place{Dialect: p.Dialect})
	if err != nil {
		return nil, err
	}
	list, err := c.store.Recent(c.outer, opt.Dialect, dir, 1)
	if err != nil || len(list) == 0 {
		return null, err
	}
	return quote(list[0].Path), nil
}

type recentParams struct {
	SessionDir *string `json:"sessionDir"`
	Limit      *int    `json:"limit"`
	Dialect    *string `json:"dialect"`
}

func getRecentSessions(c *call, p recentParams) ([]byte, error) {
	dir, err := absolute("sessionDir", p.SessionDir)
	if err != nil {
		return nil, err
	}
	limit := or(p.Limit, 3)
	if limit < 0 {
		return nil, badParams(`parameter "limit": must not be negative`)
	}
	opt, err := c.options(place{Dialect: p.Dialect})
	if err != nil {
		return nil, err
	}
	list, err := c.store.Recent(c.outer, opt.Dialect, dir, limit)
	if err != nil {
		return nil, err
	}
	rows := make([][]byte, len(list))
	for i, r := range list {
		row := append([]byte(`{"path":`), quote(r.Path)...)
		row = append(row, `,"mtime":`...)
		row = strconv.AppendFloat(row, float64(r.Changed.UnixMicro())/1000, 'f', -1, 64)
		row = append(append(row, `,"name":`...), quote(r.Name)...)
		row = append(append(row, `,"fullName":`...), quote(r.FullName)...)
		rows[i] = append(row, '}')
	}
	return array(rows), nil
}

func list(c *call, p place) ([]byte, error) {
	var w wanted
	cwd := need(&w, "cwd", p.CWD)
	if w.err != nil {
		return nil, w.err
	}
	if cwd == "" {
		return nil, badParams(`parameter "cwd": must not be empty`)
	}
	opt, err := c.options(p)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(cwd) {
		if cwd, err = filepath.Abs(cwd); err != nil {
			return nil, err
		}
	}
	rows, err := c.store.Listings(c.outer, store.ListingOptions{Dialect: opt.Dialect, CWD: cwd, Dir: opt.Dir})
	if err != nil {
		return nil, err
	}
	return array(rows), nil
}

func listAll(c *call, p place) ([]byte, error) {
	opt, err := c.options(p)
	if err != nil {
		return nil, err
	}
	rows, err := c.store.Listings(c.outer, store.ListingOptions{Dialect: opt.Dialect, Dir: opt.Dir})
	if err != nil {
		return nil, err
	}
	return array(rows), nil
}
