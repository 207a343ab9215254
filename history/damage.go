package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
)

// moveAside gives a database, with the files that belong to it, another name, and returns it. Nothing is deleted. fresh, if
// it is not "", is a database that takes its place. Neither may be open.
//
// After an error, or a crash, each file is there under one of its two names, or both; the database is the last to lose its
// old one, and with fresh there is one under that name at any time. It is the last because a database with the journal of
// another would be read as if the journal were its own.
func moveAside(path, fresh string, opt dbOptions) (string, error) {
	opt.fill()
	dir := filepath.Dir(path)
	to, err := freeName(opt.FS, path+".corrupt-"+opt.Clock().UTC().Format("20060102T150405Z"))
	if err != nil {
		return "", err
	}
	// A second name, then without the first: a crash in a rename may leave none.
	var linked []string
	for _, suffix := range litefile.Suffixes() {
		switch err := opt.FS.Link(path+suffix, to+suffix); {
		case err == nil:
			linked = append(linked, path+suffix)
		// Only the database itself must be there.
		case suffix != "" && errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM):
			// A file system without links has nothing better than a rename.
			if err := opt.FS.Rename(path+suffix, to+suffix); err != nil {
				return "", err
			}
		default:
			return "", err
		}
	}
	// The new names must last before the first old one goes.
	if err := opt.FS.SyncDir(dir); err != nil {
		return "", err
	}
	for _, name := range linked {
		if name == path {
			continue
		}
		if err := opt.FS.Remove(name); err != nil {
			return "", err
		}
	}
	if err := opt.FS.SyncDir(dir); err != nil {
		return "", err
	}
	switch {
	case fresh != "":
		err = opt.FS.Rename(fresh, path)
	case len(linked) > 0:
		err = opt.FS.Remove(path)
	}
	if err != nil {
		return "", err
	}
	return to, opt.FS.SyncDir(dir)
}

// Remove deletes a database and the files that belong to it, where there are any. It is for what can be made again. The
// database is the last to go, for the reason that moveAside has.
func removeDB(path string, opt dbOptions) error {
	opt.fill()
	for _, suffix := range litefile.Suffixes() {
		if err := opt.FS.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// freeName gives the name, or where it is taken, for the database or a file beside it, one with a number behind it.
func freeName(fsys durable.FS, name string) (string, error) {
	for n := range 1000 {
		try := name
		if n > 0 {
			try += "-" + strconv.Itoa(n)
		}
		taken := false
		for _, suffix := range litefile.Suffixes() {
			if _, err := fsys.Stat(try + suffix); err == nil {
				taken = true
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		if !taken {
			return try, nil
		}
	}
	return "", fmt.Errorf("%s: too many files of that name", name)
}

// salvage gives the prompts that can still be read of a damaged database, oldest first. Where the table cannot be read
// in one go it is read in pieces, forwards and around what is broken. The database is not changed.
func salvage(ctx context.Context, path string, opt dbOptions) ([]Prompt, error) {
	opt.fill()
	s, err := litefile.StampOf(opt.FS, path)
	if err != nil {
		return nil, err
	}
	// Not openReader: what it would look at first may be what is broken.
	h, err := attach(path, opt, s, false)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	// With this SQLite reads a file that is shorter than it should be. It does not write: nothing here does.
	_, _ = h.db.ExecContext(ctx, `PRAGMA writable_schema = ON`)
	var list []Prompt
	from, misses := int64(0), 0
	for from >= 0 { // until it overflows
		part, last, err := h.rowsFrom(ctx, from)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// An error may come after some rows: they are as good as any.
		list = append(list, part...)
		if err == nil {
			break
		}
		// Whatever comes next cannot be read: row by row as far as a page reaches, then further each time.
		const page = 200
		if misses++; len(part) > 0 {
			from, misses = last, 0
		}
		// So a gap of any length is crossed in some sixty more steps, and at its end at most as many rows are passed over
		// as the last step was long. Beyond 62 doublings the sum overflows, which ends the loop.
		from += 1 << max(0, misses-page)
	}
	return list, nil
}

// rowsFrom reads rows in the order of their ids until there are no more, or the next cannot be read.
func (h *History) rowsFrom(ctx context.Context, from int64) (list []Prompt, last int64, err error) {
	rows, err := h.db.QueryContext(ctx, `SELECT `+columns+` FROM history h WHERE h.id >= ? ORDER BY h.id`, from)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		p, err := scan(rows)
		if err != nil {
			return list, last, err
		}
		list, last = append(list, p), p.ID
	}
	return list, last, rows.Err()
}
