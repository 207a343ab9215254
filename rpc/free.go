package rpc

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// The methods that need no session. Those that only read run with c.outer and end when the server is told to stop. Those that
// write run with c.ctx and are finished.

type pathParams struct {
	Path    *string `json:"path" need:""`
	Dialect string  `json:"dialect"`
}

// loadEntries gives the records of a file unmigrated. The list is empty if there is no file or no header in it: the agents'
// own method does not fail either.
func loadEntries(c *call, p pathParams) ([]byte, error) {
	path, err := absolute("path", *p.Path)
	if err != nil {
		return nil, err
	}
	in, err := c.dialect(p.Dialect)
	if err != nil {
		return nil, err
	}
	return arrayOf(c.store.LoadEntries(c.outer, path, in))
}

type textParams struct {
	Text *string `json:"text" need:""`
}

// parseEntries splits a text into JSON values and skips everything else. It needs no dialect: it does not check whether they
// are entries.
func parseEntries(_ *call, p textParams) ([]byte, error) {
	return array(store.ParseEntries([]byte(*p.Text))), nil
}

// migrateEntries works on the client's own list and touches no file. The answers have the order and the number of the list.
func migrateEntries(c *call, p entriesParams) ([]byte, error) {
	in, err := c.dialect(p.Dialect)
	if err != nil {
		return nil, err
	}
	return arrayOf(c.store.MigrateEntries(in.Dialect, records(*p.Entries)))
}

type dirParams struct {
	Dir     *string `json:"dir" need:""`
	Dialect string  `json:"dialect"`
}

// findMostRecent answers with a path, or null. Only the folder counts; continueRecent goes by the working directory.
func findMostRecent(c *call, p dirParams) ([]byte, error) {
	list, err := c.recent("dir", *p.Dir, p.Dialect, 1)
	if err != nil || len(list) == 0 {
		return null, err
	}
	return quote(list[0].Path), nil
}

func (c *call) recent(name, dir, dialect string, limit int) ([]place.RecentSession, error) {
	dir, err := absolute(name, dir)
	if err != nil {
		return nil, err
	}
	in, err := c.dialect(dialect)
	if err != nil {
		return nil, err
	}
	return c.store.Recent(c.outer, in.Dialect, dir, limit)
}

type recentParams struct {
	SessionDir *string `json:"sessionDir" need:""`
	Limit      *int    `json:"limit"`
	Dialect    string  `json:"dialect"`
}

// getRecentSessions is for a start screen. It reads only the beginning of each log, so it is fast in a folder of thousands.
// The default limit is three, as in oh-my-pi.
func getRecentSessions(c *call, p recentParams) ([]byte, error) {
	limit := or(p.Limit, 3)
	if limit < 0 {
		return nil, badParams(`parameter "limit": must not be negative`)
	}
	list, err := c.recent("sessionDir", *p.SessionDir, p.Dialect, limit)
	if err != nil {
		return nil, err
	}
	rows := make([][]byte, len(list))
	for i, r := range list {
		// Milliseconds with a fraction, like JavaScript's mtimeMs. A float64 of that size has no digits after microseconds.
		mtime := strconv.FormatFloat(float64(r.Changed.UnixMicro())/1000, 'f', -1, 64)
		rows[i] = fmt.Appendf(nil, `{"path":%s,"mtime":%s,"name":%s,"fullName":%s}`,
			quote(r.Path), mtime, quote(r.Name), quote(r.FullName))
	}
	return array(rows), nil
}

// list is for one working directory, listAll for all of them. The rows are those of the agent's own program, so their
// members depend on the dialect; FORMATS.md has the table ("Lists").
func list(c *call, p whereParams) ([]byte, error) {
	opt, err := c.optionsHere(p)
	switch {
	case err != nil:
		return nil, err
	case opt.CWD == "": // to Listings it means all directories
		return nil, badParams(`parameter "cwd": must not be empty`)
	}
	// The name of the folder is made from the absolute path.
	if !filepath.IsAbs(opt.CWD) {
		if opt.CWD, err = filepath.Abs(opt.CWD); err != nil {
			return nil, err
		}
	}
	return c.listings(opt)
}

// listings lists the sessions of opt.CWD, in a folder or a profile if one is named.
func (c *call) listings(opt store.CreateOptions) ([]byte, error) {
	if opt.Profile != "" {
		if opt.Dir != "" {
			return nil, badParams(`parameters "sessionDir" and "profile" exclude each other`)
		}
		d := opt.Dialect
		if d == nil {
			d = c.store.Dialects()[0]
		}
		dir, err := c.store.ProfileDir(d, opt.Profile)
		if err != nil {
			return nil, err
		}
		opt.Dir = dir
	}
	return arrayOf(c.store.Listings(c.outer, place.ListingOptions{Dialect: opt.Dialect, CWD: opt.CWD, Dir: opt.Dir}))
}

// listAll ignores a cwd.
func listAll(c *call, p whereParams) ([]byte, error) {
	opt, err := c.options(p)
	if err != nil {
		return nil, err
	}
	opt.CWD = ""
	return c.listings(opt)
}
