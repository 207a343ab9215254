package file

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// Times for replacing and removing a log that programs without a lock may write to.
const (
	// holdWait is how long a program may have the file open before it counts as a holder: one that opens the file for
	// each append has it open for microseconds.
	holdWait = 100 * time.Millisecond
	// lateWait is how long the old file is watched while a program has it open and writes nothing.
	lateWait = time.Second
	// lateMost is the longest time that it is watched while a program writes to it.
	lateMost = 10 * time.Second
	// lateQuiet is how long the file must be open in no program before watching ends: a program that found the path before the
	// rename may not have opened the file yet.
	lateQuiet = 5 * time.Millisecond
	// lateBlind is how long the old file is watched if the system does not tell which programs have it open.
	lateBlind = 50 * time.Millisecond
)

// mostLooks limits how often lines are carried over before the rename.
const mostLooks = 10

// Replace implements backend.Backend; see ReplaceShared.
func (b *Backend) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	now, _, err := b.ReplaceShared(ctx, at, backend.RewriteOptions{}, records...)
	return now, err
}

// ReplaceShared implements backend.Rewriter. It holds the lock of the old file up to the rename: a writer that waits for that
// lock then finds that the path leads to another file. See the package comment for programs that take no lock.
func (b *Backend) ReplaceShared(ctx context.Context, at backend.Log, opt backend.RewriteOptions, records ...[]byte) (now backend.Log, late backend.Late, err error) {
	w, err := b.take(ctx, at.Name)
	if err != nil {
		return backend.Log{}, late, err
	}
	defer b.give(w)
	content, err := backend.Encode(nil, at.Name, backend.IsText(at.Name), records...)
	if err != nil {
		return backend.Log{}, late, err
	}
	return w.replace(ctx, at, opt, bytes.NewReader(content))
}

// replace replaces the content of a log.
func (w *writer) replace(ctx context.Context, at backend.Log, opt backend.RewriteOptions, content io.Reader) (now backend.Log, late backend.Late, err error) {
	b, end := w.b, &ending{Reader: content}
	old, err := w.hold(ctx, at, opt)
	if err != nil {
		return backend.Log{}, late, err
	}
	defer old.close()
	// A symbolic link to a log of lines stays one: its target is replaced. Its content was compared, so it is a log. A whole
	// log can be any file, and a link to it may have been planted: the link itself is replaced.
	path := w.path
	if r, ok := b.fs.(durable.Resolver); ok && old.lines {
		if path, err = r.EvalSymlinks(path); err != nil {
			return backend.Log{}, late, failed(at.Name, err)
		}
	}
	info, err := durable.ReplaceGrowing(b.fs, path, fileMode, end, func() ([]byte, error) {
		more, err := old.grown()
		if len(more) > 0 && len(end.tail) > 0 && !bytes.HasSuffix(end.tail, []byte{'\n'}) {
			return nil, conflict(at.Name) // the lines would continue the last one
		}
		end.see(more)
		return more, err
	})
	if err == nil {
		err = b.syncAbove(filepath.Dir(w.path))
	}
	if err != nil && old.named() {
		return backend.Log{}, late, failed(at.Name, err)
	}
	w.dirty = false
	_ = old.f.Unlock() // best effort: closing it does the same
	// The Log is that of the file at the rename. If another writer has appended since, the next mutation conflicts.
	now = fullLogOf(at.Name, info, end.tail)
	var drainErr error
	late.Holders, drainErr = old.drain(ctx, func(lines []byte) (err error) {
		now, err = w.carry(lines)
		return err
	})
	late.Records = old.records()
	if err = cmp.Or(failed(at.Name, err), drainErr); err != nil {
		return backend.Log{}, late, err
	}
	return now, late, nil
}

// Remove implements backend.Backend; see RemoveShared. Folders stay.
func (b *Backend) Remove(ctx context.Context, at backend.Log) error {
	_, err := b.RemoveShared(ctx, at, backend.RewriteOptions{})
	return err
}

// RemoveShared implements backend.Rewriter.
func (b *Backend) RemoveShared(ctx context.Context, at backend.Log, opt backend.RewriteOptions) (late backend.Late, err error) {
	w, err := b.take(ctx, at.Name)
	if err != nil {
		return late, err
	}
	defer b.give(w)
	old, err := w.hold(ctx, at, opt)
	if err != nil {
		return late, err
	}
	defer old.close()
	if late.Kept, err = old.keep(opt); err != nil {
		return late, err
	}
	if err := b.fs.Remove(w.path); err != nil {
		return late, failed(at.Name, err)
	}
	w.dirty = false // nothing is left to sync
	if b.opt.Durability != backend.DurabilityNone {
		err = failed(at.Name, b.fs.SyncDir(filepath.Dir(w.path)))
	}
	_ = old.f.Unlock() // best effort: closing it does the same
	var drainErr error
	late.Holders, drainErr = old.drain(ctx, func([]byte) error { return nil })
	late.Records = old.records()
	return late, cmp.Or(err, drainErr)
}

// oldFile is the file of a log that is being replaced or removed.
type oldFile struct {
	w     *writer
	f     durable.File
	lines bool
	size  int64  // how much of it is known
	tail  []byte // the last known bytes
	late  []byte // whole lines that came after those that the caller saw
	looks int    // looks at the appended lines before the rename
	open  bool   // the last line that the caller saw has no newline
}

// hold takes the lock, verifies that the log is what the caller saw, and that no other program has it open for writing. The
// file is open for reading only: durable.Shared can then tell.
func (w *writer) hold(ctx context.Context, at backend.Log, opt backend.RewriteOptions) (*oldFile, error) {
	w.drop()
	w.reading = true
	defer func() {
		w.drop()
		w.reading = false
	}()
	info, err := w.lock(ctx)
	if errors.Is(err, syscall.EBADF) {
		// Network file systems lock only what is open for writing.
		w.drop()
		w.reading = false
		info, err = w.lock(ctx)
	}
	if err != nil {
		return nil, err
	}
	old := &oldFile{w: w, f: w.f, lines: backend.IsText(w.name), size: at.Size}
	err = w.verify(at, info)
	switch {
	case err == nil:
		old.tail = slices.Clone(w.tail)
	case opt.Grown && errors.Is(err, backend.ErrConflict) && old.grewFrom(at):
	default:
		return nil, err
	}
	old.open = !bytes.HasSuffix(old.tail, []byte{'\n'}) && old.size > 0
	if !opt.Force {
		if err := old.refuse(ctx); err != nil {
			return nil, err
		}
	}
	w.f = nil // old owns it now
	return old, nil
}

func (o *oldFile) close() { _ = o.f.Close() } // it was only read

// named reports whether the log is still this file: the rename was not done.
func (o *oldFile) named() bool {
	at, err := o.w.b.fs.Stat(o.w.path)
	info, ferr := o.f.Stat()
	return err != nil || ferr != nil || at.SameFile(info)
}

// grewFrom reports whether the file is the one that the caller saw, with more at its end.
func (o *oldFile) grewFrom(at backend.Log) bool {
	seen, ok := parseGeneration(at.Generation)
	info, tail, err := look(o.f, o.w.name, at.Size)
	o.tail = tail
	return err == nil && ok && seen.full && seen.dev == info.Dev && seen.ino == info.Ino && seen.tail == hashTail(tail)
}

// refuse returns ErrHeld if another program keeps the file open.
func (o *oldFile) refuse(ctx context.Context) error {
	holders, err := o.w.b.keepers(ctx, o.f)
	if err == nil && len(holders) > 0 {
		err = fmt.Errorf("%s: %w: %s", o.w.name, backend.ErrHeld, strings.Join(holders, ", "))
	}
	return err
}

// Holders implements backend.Holder.
func (b *Backend) Holders(ctx context.Context, name string) ([]string, error) {
	path, err := b.begin(ctx, name)
	if err != nil {
		return nil, err
	}
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, failed(name, err)
	}
	defer f.Close()
	return b.keepers(ctx, f)
}

// keepers names the programs that have a file open for writing, and keep it open: one that opens the file for each append
// does not count.
func (b *Backend) keepers(ctx context.Context, f durable.File) ([]string, error) {
	for waited, pause := time.Duration(0), time.Millisecond; ; waited, pause = waited+pause, 2*pause {
		names, _ := holdersOf(f)
		if len(names) == 0 || waited >= holdWait {
			return names, nil
		}
		if err := b.opt.Wait(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// holdersOf names the programs that take no lock and have the file open for writing. blind says that the system does not tell.
func holdersOf(f durable.File) (names []string, blind bool) {
	shared, ok := f.(durable.Shared)
	if !ok {
		return nil, false // a file system without other processes
	}
	writers, err := shared.Writers()
	for _, w := range writers {
		if !w.Own && !slices.Contains(names, w.Process) {
			names = append(names, w.Process)
		}
	}
	return names, err != nil
}

// grown returns the whole lines that were appended since the last call. Any other change of the file, or of the path, is a
// conflict.
func (o *oldFile) grown() ([]byte, error) {
	at, err := o.w.b.fs.Stat(o.w.path)
	if err != nil && !gone(err) {
		return nil, err
	}
	info, tail, lookErr := look(o.f, o.w.name, o.size)
	switch {
	case lookErr != nil:
		return nil, conflict(o.w.name)
	case err != nil, !at.SameFile(info), !bytes.Equal(tail, o.tail):
		return nil, conflict(o.w.name)
	case info.Size == o.size:
		return nil, nil
	case !o.lines || o.open:
		// What was appended belongs to the record that the caller saw.
		return nil, conflict(o.w.name)
	}
	// A program can write faster than this one syncs. Lines that are left are found after the rename.
	if o.looks++; o.looks > mostLooks {
		return nil, nil
	}
	return o.take(info.Size)
}

// keep passes the lines that were appended since the caller saw the log on to Keep, until there are no more.
func (o *oldFile) keep(opt backend.RewriteOptions) (kept int, err error) {
	for {
		more, err := o.grown()
		if err != nil || len(more) > 0 && !opt.Grown {
			return kept, conflict(o.w.name)
		}
		if len(more) == 0 || opt.Keep == nil {
			return kept, nil
		}
		records := o.records()
		if err := opt.Keep(records); err != nil {
			return kept, err
		}
		kept += len(records)
		o.late = nil
	}
}

// take reads the whole lines up to size.
func (o *oldFile) take(size int64) ([]byte, error) {
	if size <= o.size {
		return nil, nil
	}
	lines := make([]byte, size-o.size)
	if _, err := o.f.ReadAt(lines, o.size); err != nil {
		return nil, err
	}
	lines = lines[:bytes.LastIndexByte(lines, '\n')+1]
	o.size += int64(len(lines))
	o.late = append(o.late, lines...)
	o.tail = append(o.tail, lines...)
	o.tail = o.tail[max(0, len(o.tail)-tailSize):]
	return lines, nil
}

// drain passes on the lines that other programs write to the file after it lost its name, until none has it open, and
// returns those that still have.
func (o *oldFile) drain(ctx context.Context, carry func(lines []byte) error) (holders []string, err error) {
	if !o.lines {
		return nil, nil // what is written to the old file cannot be added to a whole log
	}
	var waited, wrote, quiet time.Duration // wrote: the time when a line last came
	began := o.w.b.opt.Clock()
	for pause := lateQuiet / 5; ; pause = min(2*pause, 50*time.Millisecond) {
		// First the holders: what a program wrote before it closed the file is then seen below.
		names, blind := holdersOf(o.f)
		info, err := o.f.Stat()
		var lines []byte
		if err == nil {
			lines, err = o.take(info.Size)
		}
		if len(lines) > 0 {
			wrote = waited
			err = errors.Join(err, carry(o.separate(lines)))
		}
		if err != nil {
			return names, failed(o.w.name, err)
		}
		if _, ok := o.f.(durable.Shared); !ok || waited >= min(wrote+lateWait, lateMost) || blind && waited >= lateBlind || quiet >= lateQuiet || ctx.Err() != nil {
			return names, o.rest(info.Size, carry)
		}
		if err := o.w.b.opt.Wait(ctx, pause); err == nil {
			waited = max(waited+pause, o.w.b.opt.Clock().Sub(began)) // the look takes time, too
		}
		if quiet += pause; len(names) > 0 || blind {
			quiet = 0
		}
	}
}

// separate drops the newline of a line that the caller saw without one: the new log has it already.
func (o *oldFile) separate(lines []byte) []byte {
	if o.open {
		lines = bytes.TrimPrefix(lines, []byte{'\n'})
		o.late, o.open = slices.Clone(lines), false
	}
	return lines
}

// rest passes on a last line that never got its newline.
func (o *oldFile) rest(size int64, carry func(lines []byte) error) error {
	if size <= o.size {
		return nil
	}
	line := make([]byte, size-o.size)
	if _, err := o.f.ReadAt(line, o.size); err != nil {
		return failed(o.w.name, err)
	}
	line = append(line, '\n')
	o.late = append(o.late, line...)
	return carry(o.separate(line))
}

// records returns the late lines as records.
func (o *oldFile) records() (list [][]byte) {
	for line := range bytes.Lines(o.late) {
		list = append(list, bytes.TrimSuffix(line, []byte{'\n'}))
	}
	return list
}

// carry appends lines to the log that has replaced another one, and makes them durable. It cannot be cancelled: there is no other copy of
// the lines.
func (w *writer) carry(lines []byte) (backend.Log, error) {
	ctx := context.Background()
	info, err := w.lock(ctx)
	if err != nil {
		return backend.Log{}, err
	}
	defer w.unlock()
	if err := w.refresh(info); err != nil {
		return backend.Log{}, err
	}
	if n := len(w.tail); n > 0 && w.tail[n-1] != '\n' {
		lines = append([]byte{'\n'}, lines...)
	}
	before := w.left
	if err := w.write(before.Size, lines); err != nil {
		return backend.Log{}, err
	}
	if err := w.sync(); err != nil {
		w.drop()
		return backend.Log{}, failed(w.name, err)
	}
	now, err := w.settle(before, lines)
	if errors.Is(err, backend.ErrInterleaved) {
		// The lines are there, after those of another program.
		if err = w.refresh(durable.Info{}); err == nil {
			now = w.last
		}
	}
	return now, err
}
