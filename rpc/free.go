package rpc

import (
	"path/filepath"
	"strconv"

	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// The methods that need no session.

// pathParams: paths may be relative; they are then taken from the server's working directory. What only reads runs
// with c.outer, so that it ends when the server is told to stop; what writes has c.ctx and is finished.
type pathParams struct {
	Path    *string `json:"path"`
	Dialect *string `json:"dialect"`
}

// loadEntries gives a file's records unmigrated. Where there is no file, or no header in it, the list is empty:
// the agents' own method does not fail either.
func loadEntries(c *call, p pathParams) ([]byte, error) {
	path, err := absolute("path", p.Path)
	if err != nil {
		return nil, err
	}
	opt, err := c.options(whereParams{Dialect: p.Dialect})
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

// parseEntries splits a text into JSON values and passes over what is none. It needs no dialect because it does
// not look whether they are entries.
func parseEntries(_ *call, p textParams) ([]byte, error) {
	var w wanted
	text := need(&w, "text", p.Text)
	if w.err != nil {
		return nil, w.err
	}
	return array(store.ParseEntries([]byte(text))), nil
}

// migrateEntries works on the client's own list and touches no file. The order and the number of the answers are
// those of the list, so that a client can put them back where they came from.
func migrateEntries(c *call, p entriesParams) ([]byte, error) {
	var w wanted
	entries := w.list("entries", p.Entries)
	if w.err != nil {
		return nil, w.err
	}
	opt, err := c.options(whereParams{Dialect: p.Dialect})
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

// findMostRecent answers with a path, or null. Only the folder counts, not the working directory that the header
// names: that is continueRecent's question.
func findMostRecent(c *call, p dirParams) ([]byte, error) {
	dir, err := absolute("dir", p.Dir)
	if err != nil {
		return nil, err
	}
	opt, err := c.options(whereParams{Dialect: p.Dialect})
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

// getRecentSessions is for a start screen: only the beginning of each log is read, so it is quick in a folder of
// thousands. Without a limit there are three, as in oh-my-pi.
func getRecentSessions(c *call, p recentParams) ([]byte, error) {
	dir, err := absolute("sessionDir", p.SessionDir)
	if err != nil {
		return nil, err
	}
	limit := or(p.Limit, 3)
	if limit < 0 {
		return nil, badParams(`parameter "limit": must not be negative`)
	}
	opt, err := c.options(whereParams{Dialect: p.Dialect})
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
		// Milliseconds with a fraction, as JavaScript's mtimeMs. Microseconds are as fine as a float64 of that
		// size can be.
		row = strconv.AppendFloat(row, float64(r.Changed.UnixMicro())/1000, 'f', -1, 64)
		row = append(append(row, `,"name":`...), quote(r.Name)...)
		row = append(append(row, `,"fullName":`...), quote(r.FullName)...)
		rows[i] = append(row, '}')
	}
	return array(rows), nil
}

// list is for one working directory, listAll for all. The rows are those of the agent's own program, so their
// members differ from dialect to dialect; FORMATS.md has the table ("Lists").
func list(c *call, p whereParams) ([]byte, error) {
	var w wanted
	cwd := need(&w, "cwd", p.CWD)
	if w.err != nil {
		return nil, w.err
	}
	// To Listings an empty cwd means all directories, which is what listAll is for: asked here it is a slip.
	if cwd == "" {
		return nil, badParams(`parameter "cwd": must not be empty`)
	}
	opt, err := c.options(p)
	if err != nil {
		return nil, err
	}
	// The folder's name is made from the path, and a relative one would make a name that no agent ever used.
	if !filepath.IsAbs(cwd) {
		if cwd, err = filepath.Abs(cwd); err != nil {
			return nil, err
		}
	}
	rows, err := c.store.Listings(c.outer, place.ListingOptions{Dialect: opt.Dialect, CWD: cwd, Dir: opt.Dir})
	if err != nil {
		return nil, err
	}
	return array(rows), nil
}

// listAll is for all directories: a cwd that is sent along is not looked at.
func listAll(c *call, p whereParams) ([]byte, error) {
	opt, err := c.options(p)
	if err != nil {
		return nil, err
	}
	rows, err := c.store.Listings(c.outer, place.ListingOptions{Dialect: opt.Dialect, Dir: opt.Dir})
	if err != nil {
		return nil, err
	}
	return array(rows), nil
}
