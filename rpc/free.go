package rpc

import (
	"encoding/json"
	"path/filepath"

	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// These methods need no session. Those that only read use c.outer, and end when they are cancelled or the server is told to stop. Those that
// write use c.ctx, and are finished.

type pathParams struct {
	Path *string `json:"path" need:"" doc:"the file"`
	dialectParam
}

// loadEntries returns the records of a file without migration. The list is empty if there is no file or it has no header: the agents' own
// method does not fail either.
func loadEntries(c *call, p pathParams) (raw[[]agentEntry], error) {
	path, err := absolute("path", *p.Path)
	if err != nil {
		return nil, err
	}
	in, err := c.dialect(p.Dialect)
	if err != nil {
		return nil, err
	}
	return arrayOf[agentEntry](c.store.LoadEntries(c.outer, path, in))
}

type textParams struct {
	Text *string `json:"text" need:"" doc:"JSON Lines"`
}

// parseEntries splits a text into JSON values and skips everything else. It needs no dialect, since it does not check whether they are
// entries.
func parseEntries(_ *call, p textParams) (raw[[]json.RawMessage], error) {
	return array(store.ParseEntries([]byte(*p.Text))), nil
}

type migrateParams struct {
	entriesParams
	dialectParam
}

// migrateEntries migrates the client's own list and touches no file. The result has the order and the length of the list.
func migrateEntries(c *call, p migrateParams) (raw[[]agentEntry], error) {
	in, err := c.dialect(p.Dialect)
	if err != nil {
		return nil, err
	}
	return arrayOf[agentEntry](c.store.MigrateEntries(in.Dialect, records(*p.Entries)))
}

type dirParams struct {
	Dir *string `json:"dir" need:"" doc:"the folder"`
	dialectParam
}

// findMostRecent returns a path, or null. It looks only at the folder; continueRecent also looks at the working directory.
func findMostRecent(c *call, p dirParams) (*string, error) {
	list, err := c.recent("dir", *p.Dir, p.Dialect, 1)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0].Path, nil
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
	SessionDir *string `json:"sessionDir" need:"" doc:"the folder"`
	Limit      *int    `json:"limit" doc:"how many; the default is 3"`
	dialectParam
}

// recentSession is a row for a start screen. MTime is in milliseconds with a fraction, like JavaScript's mtimeMs: a float64 of
// that size has no digits after microseconds.
type recentSession struct {
	Path     string  `json:"path"`
	MTime    float64 `json:"mtime"`
	Name     string  `json:"name"`
	FullName string  `json:"fullName"`
}

// getRecentSessions is for a start screen. It reads only the beginning of logs that changed, so it is fast even in a folder of thousands.
// The default limit is three, as in oh-my-pi.
func getRecentSessions(c *call, p recentParams) ([]recentSession, error) {
	limit := or(p.Limit, 3)
	if limit < 0 {
		return nil, badParams(`parameter "limit": must not be negative`)
	}
	list, err := c.recent("sessionDir", *p.SessionDir, p.Dialect, limit)
	if err != nil {
		return nil, err
	}
	rows := make([]recentSession, len(list))
	for i, r := range list {
		rows[i] = recentSession{r.Path, float64(r.Changed.UnixMicro()) / 1000, r.Name, r.FullName}
	}
	return rows, nil
}

type textsParam struct {
	Texts *bool `json:"texts" doc:"false leaves out allMessagesText"`
}

// listParams are the parameters of a list.
type listParams struct {
	CWD *string `json:"cwd" need:"" doc:"the working directory of the session"`
	listAllParams
}

type listAllParams struct {
	folderParams
	textsParam
}

// list lists the sessions of one working directory, and listAll those of all. The rows are those of the agent's own program, so their
// members depend on the dialect; FORMATS.md has the table ("Lists").
func list(c *call, p listParams) (raw[[]agentRow], error) {
	opt, err := c.optionsHere(hereParams{p.CWD, placeParams{folderParams: p.folderParams}})
	switch {
	case err != nil:
		return nil, err
	case opt.CWD == "": // to Listings, it means all directories
		return nil, badParams(`parameter "cwd": must not be empty`)
	}
	// The name of the folder is derived from the absolute path.
	if !filepath.IsAbs(opt.CWD) {
		if opt.CWD, err = filepath.Abs(opt.CWD); err != nil {
			return nil, err
		}
	}
	return c.listings(opt, p.textsParam)
}

// listings lists the sessions of opt.CWD, in a folder or a profile if one is given.
func (c *call) listings(opt store.CreateOptions, texts textsParam) (raw[[]agentRow], error) {
	if opt.Profile != "" {
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
	return arrayOf[agentRow](c.store.Listings(c.outer, place.ListingOptions{
		Dialect: opt.Dialect, CWD: opt.CWD, Dir: opt.Dir, NoTexts: !or(texts.Texts, true),
	}))
}

func listAll(c *call, p listAllParams) (raw[[]agentRow], error) {
	opt, err := c.options(placeParams{folderParams: p.folderParams})
	if err != nil {
		return nil, err
	}
	return c.listings(opt, p.textsParam)
}
