package litefile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/treeline-dev/treeline/internal/spill"
)

// capture copies a database while its program writes and moves pages into it all the time. It copies the pages of the file one after the
// other, whatever their state, and keeps all frames that the log gets meanwhile. Every page that the program changed in the file is in one
// of these frames, so the last kept commit, overlaid on the copy, is the database after that commit. Online backups work in this way, too.
//
// It fails with errOvertaken if frames were overwritten, or the log was removed, before they were kept. A log is restarted only after the
// program has moved it into the file, usually after 1000 frames; here it is checked after each piece of the copy.
type capture struct {
	log   *os.File
	wal   wal // of the run that is followed
	base  spill.Bytes
	redo  spill.Bytes // pages of the kept frames
	pages map[uint32]int64
}

var errOvertaken = errors.New("the log was overwritten before it was read")

// piece is how much of the file is copied between two checks of the log.
const piece = 512 << 10

// capture returns a Snapshot that no program changes, nil if the log has not begun.
func (f *Followed) capture(ctx context.Context) (*Snapshot, error) {
	c := &capture{log: f.log, pages: map[uint32]int64{}}
	if c.wal.begin(c.log, f.pageSize); c.wal.salts == [8]byte{} {
		return nil, nil
	}
	snap, err := c.run(ctx, f.file, f.pageSize)
	if err == nil {
		err = f.unreplaced()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	stamp := f.stamp
	f.drop()
	snap.start, snap.kept = stamp, c
	f.now = snap
	return snap, nil
}

// unreplaced fails if the open files are no longer those of the database: the last program that closes it removes the log, and the next one
// makes another.
func (f *Followed) unreplaced() error {
	for path, file := range map[string]*os.File{f.path: f.file, f.path + "-wal": f.log} {
		now, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return errOvertaken
		}
		opened, openedErr := file.Stat()
		if err := errors.Join(err, openedErr); err != nil {
			return err
		}
		if !os.SameFile(now, opened) {
			return errOvertaken
		}
	}
	return nil
}

func (c *capture) run(ctx context.Context, file *os.File, pageSize int) (*Snapshot, error) {
	if err := c.follow(); err != nil {
		return nil, err
	}
	// Pages that are moved into the file from now on are in frames that are followed.
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, piece)
	for at := int64(0); at < info.Size(); at += piece {
		n, err := file.ReadAt(buf[:min(piece, info.Size()-at)], at)
		if err != nil && !errors.Is(err, io.EOF) { // the file may have become shorter
			return nil, err
		}
		if _, err := c.base.Write(buf[:n]); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := c.follow(); err != nil {
			return nil, err
		}
	}
	if err := c.follow(); err != nil {
		return nil, err
	}
	count := c.wal.size
	if len(c.pages) == 0 {
		count = uint32(c.base.Size() / int64(pageSize))
	}
	return &Snapshot{file: &c.base, log: &c.redo, pageSize: pageSize, pages: c.pages, count: count}, nil
}

// follow keeps what was committed since, even if the log was restarted.
func (c *capture) follow() error {
	for {
		from := c.wal.frames
		if err := c.keep(); err != nil {
			return err
		}
		salt, ok := salts(c.log)
		if ok && salt == c.wal.salts {
			return nil
		}
		// Frames that the last run wrote at its end may still follow those of the new run in the file.
		if err := c.keep(); err != nil {
			return err
		}
		if !ok || !c.wal.precedes(salt) || c.wal.overtaken(c.log, from, salt) {
			return errOvertaken
		}
		size := c.wal.size
		if c.wal.begin(c.log, c.wal.pageSize); c.wal.salts != salt {
			return errOvertaken
		}
		c.wal.size = size // until the new run has a commit
	}
}

// keep copies the pages of the run's new transactions.
func (c *capture) keep() error {
	wrote, err := c.wal.extend(c.log)
	if err != nil {
		return err
	}
	page := make([]byte, c.wal.pageSize)
	for _, p := range slices.Compact(slices.Sorted(slices.Values(wrote))) {
		if _, err := c.log.ReadAt(page, c.wal.pages[p]); err != nil {
			return errors.Join(err, errOvertaken) // it was truncated
		}
		c.pages[p] = c.redo.Size()
		if _, err := c.redo.Write(page); err != nil {
			return err
		}
	}
	return nil
}

// Close discards the copy.
func (c *capture) Close() error { return errors.Join(c.base.Close(), c.redo.Close()) }
