package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
)

// moveAside renames a database and the files that belong to it, and returns the new name. Nothing is deleted. fresh, if not
// "", is a database that takes its place. Neither may be open.
//
// After an error or a crash each file has its old name, its new name, or both. The database loses its old name last, because
// another database there would be read with the wrong journal; with fresh there is always one under that name.
func moveAside(path, fresh string, opt dbOptions) (string, error) {
	opt.fill()
	dir := filepath.Dir(path)
	to, err := freeName(opt.FS, path+litefile.Aside+opt.Clock().UTC().Format("20060102T150405Z"))
	if err != nil {
		return "", err
	}
	// Link and then remove: a crash during a rename may leave neither name.
	var linked []string
	for _, suffix := range litefile.Suffixes() {
		switch err := opt.FS.Link(path+suffix, to+suffix); {
		case err == nil:
			linked = append(linked, path+suffix)
		// Only the database itself must exist.
		case suffix != "" && errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM):
			// The file system has no links.
			if err := opt.FS.Rename(path+suffix, to+suffix); err != nil {
				return "", err
			}
		default:
			return "", err
		}
	}
	// The new names must be durable before the first old one is removed.
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

// removeDB deletes a database that can be made again, and the files that belong to it. The database is the last, for the
// reason given at moveAside.
func removeDB(path string, opt dbOptions) error {
	opt.fill()
	for _, suffix := range litefile.Suffixes() {
		if err := opt.FS.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// freeName returns the name, with a number appended if the database or a file beside it exists.
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

// salvage returns the prompts of a damaged database that can still be read, from an id on, oldest first. It skips what is damaged. The
// database is not changed.
func salvage(ctx context.Context, path string, from int64, opt dbOptions) ([]Prompt, error) {
	opt.fill()
	s, err := litefile.StampOf(opt.FS, path)
	if err != nil {
		return nil, err
	}
	// Not openReader, which may fail because of the damage.
	h, err := attach(path, opt, s, false)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	// This makes SQLite read a truncated file. Nothing is written.
	_, _ = h.db.ExecContext(ctx, `PRAGMA writable_schema = ON`)
	var list []Prompt
	misses := 0
	for from >= 0 { // until it overflows
		part, last, err := h.rowsFrom(ctx, from)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// Rows before the error are good.
		list = append(list, part...)
		if err == nil {
			break
		}
		// The next row cannot be read: skip row by row for about a page, then in growing steps.
		const page = 200
		if misses++; len(part) > 0 {
			from, misses = last, 0
		}
		// So a gap of any length takes about sixty more steps, and at its end at most one step of rows is lost. After 62
		// doublings the sum overflows, which ends the loop.
		from += 1 << max(0, misses-page)
	}
	return list, nil
}

// rowsFrom reads rows in the order of their ids up to the end or to the first that cannot be read.
func (h *History) rowsFrom(ctx context.Context, from int64) (list []Prompt, last int64, err error) {
	err = each(ctx, h.db, func(rows *sql.Rows) error {
		p, err := scan(rows)
		if err == nil {
			list, last = append(list, p), p.ID
		}
		return err
	}, `SELECT `+columns+` FROM history h WHERE h.id >= ? ORDER BY h.id`, from)
	return list, last, err
}
