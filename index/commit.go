package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// errBusy: another process holds the lock.
var errBusy = errors.New("another process is at work on it")

// Commit keeps what was put. Where that cannot be, because the folder cannot be written or locked, it is said once and the
// index goes on in memory; that is no error. A commit that another process does not let through is tried again at the next
// one. The error is the cause of cancellation of ctx. The lock of the index is held meanwhile: who asks for the catalogue
// waits as long as another process may make us wait.
func (x *Index) Commit(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.staged) == 0 || x.opt.Dir == "" || x.lost {
		return nil
	}
	unlock, err := x.lock(ctx)
	if err == nil {
		err = x.commit()
		unlock()
	}
	switch {
	// What is staged stays staged.
	case err == nil || errors.Is(err, errBusy):
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		x.lost = true
		x.opt.Notice(fmt.Sprintf("the index in %s cannot be kept: %v", x.opt.Dir, err))
	}
	return nil
}

// lock makes the folder and takes its lock.
func (x *Index) lock(ctx context.Context) (unlock func(), err error) {
	if err := durable.MkdirAll(x.fs, x.opt.Dir, 0o700); err != nil {
		return nil, err
	}
	f, err := x.fs.Open(x.path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// Asked again and again instead of waiting in the kernel: that could not be cancelled, and has no limit of time.
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		ok, err := f.TryLock()
		if ok {
			return func() { _ = f.Close() }, nil // which gives up the lock
		}
		if err == nil && waited >= x.opt.LockWait {
			err = errBusy
		}
		if err == nil {
			err = x.opt.Wait(ctx, pause)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
	}
}

// commit adds what was staged to what the files hold now. The lock is held. In this order: signatures, then the catalogue
// that names them, then the removal of those that it names no more. Whoever reads meanwhile, or after a crash, has a
// catalogue whose signatures are there, or notices that they are not.
func (x *Index) commit() error {
	x.sweep()
	// A catalogue is only ever replaced by a rename, so that another one is another file and shows here. Where there was none,
	// there may be signatures by now.
	if x.seen == (durable.Info{}) || !x.unchanged() {
		x.reread()
	}
	next := x.kept.with(x.staged)
	if err := x.write(next); err != nil {
		return err
	}
	// As late as possible: what stands there stays if the signatures cannot be written.
	if err := x.makeRoom(); err != nil {
		return err
	}
	data := encodeCatalogue(next)
	info, err := durable.Replace(x.fs, x.path(catalogueName), 0o600, bytes.NewReader(data))
	if err != nil {
		return err
	}
	old, path := x.kept.generation, x.path(signaturesName(next.generation))
	if old != next.generation || x.kept.signatures != next.signatures {
		// A file that cannot be opened now is one whose signatures are not known: nothing is wrong for that.
		_ = x.sigs.open(x.fs, path, next.signatures)
	}
	// Held pieces are in the file now. Catalogues that somebody got before still name them in memory: such a reader is told
	// that these signatures are not to be had, and looks at the logs themselves.
	x.kept, x.now, x.seen, x.staged, x.fresh, x.sigs.held = next, next, info, nil, 0, nil
	if old != next.generation {
		_ = x.fs.Remove(x.path(signaturesName(old))) // sweep finds it, otherwise
	}
	return nil
}

// makeRoom removes the folder that somebody left in the catalogue's place, or gives it another name where there is something
// in it. All else is replaced with the catalogue. It may be somebody's: nothing in it is deleted.
func (x *Index) makeRoom() error {
	if x.odd == nil {
		return nil
	}
	path := x.path(catalogueName)
	if x.seen.Mode.IsDir() && x.fs.Remove(path) != nil {
		aside, err := path, x.odd
		for n := 1; err != nil && n < 10; n++ { // the names before may be taken
			aside = fmt.Sprintf("%s.aside-%d", path, n)
			err = x.fs.Rename(path, aside)
		}
		if err != nil {
			return x.odd
		}
		x.odd = fmt.Errorf("%w, and called %s now", x.odd, aside)
	}
	x.opt.Notice(fmt.Sprintf("the index in %s is made anew: %v", x.opt.Dir, x.odd))
	x.odd = nil
	return nil
}

// reread reads the catalogue that another process left. Pieces that staged logs have in the old file are held, because the
// other may have moved them.
func (x *Index) reread() {
	for u := range x.staged {
		for i := range x.staged[u].Put {
			l := &x.staged[u].Put[i]
			if !slices.ContainsFunc(l.pieces, func(p piece) bool { return p.at < inMemory }) {
				continue
			}
			if err := x.holdAll(l); err != nil {
				l.lose()
			}
		}
	}
	x.read()
}

// holdAll holds all pieces of a log, one behind the other: the order of their places is that of the log.
func (x *Index) holdAll(l *Log) error {
	var buf []byte
	pieces := slices.Clone(l.pieces)
	for k := range pieces {
		p := &pieces[k]
		data, err := x.sigs.read(*p, &buf)
		if err != nil {
			return err
		}
		// Also those that are held already: pieces are written in the order of their places, and a log's must not change
		// theirs.
		p.at = inMemory + int64(len(x.sigs.held))
		x.sigs.held = append(x.sigs.held, data...)
	}
	l.pieces = pieces
	return nil
}

// write appends the pieces that are not in the file yet, and copies all to a new file where most of the old one counts no
// more. It leaves x as it is; next gets the new places.
func (x *Index) write(next *Catalogue) error {
	fresh := x.freshPieces(next)
	live, add := int64(0), int64(0)
	// What counts is counted anew each time: pieces of logs that were replaced or forgotten are nobody's, and are not kept
	// track of.
	for i := range next.Sources {
		for k := range next.Sources[i].Logs {
			for _, p := range next.Sources[i].Logs[k].pieces {
				live += p.size
			}
		}
	}
	for _, p := range fresh {
		add += p.size
	}
	if size := next.signatures + add; size > x.opt.Garbage && live < size/2 {
		return x.rewrite(next)
	}
	if len(fresh) == 0 {
		return nil
	}
	f, err := x.fs.Open(x.path(signaturesName(next.generation)), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	// What lies behind the end is of a commit that was never finished.
	err = f.Truncate(next.signatures)
	// In the order in which they were put: then they mostly lie one behind the other, and need not be copied.
	slices.SortFunc(fresh, func(a, b *piece) int { return cmp.Compare(a.at, b.at) })
	for i := 0; i < len(fresh) && err == nil; {
		begin := fresh[i].at - inMemory
		end := begin
		for ; i < len(fresh) && fresh[i].at-inMemory == end; i++ {
			end += fresh[i].size
		}
		_, err = f.Write(x.sigs.held[begin:end])
	}
	if err != nil {
		// A disk that is full is not kept so by what is of no use.
		_ = f.Truncate(next.signatures)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	at := next.signatures
	for _, p := range fresh {
		p.at, at = at, at+p.size
	}
	next.signatures = at
	return nil
}

// freshPieces gives the pieces that are only held. They are copied first: the staged logs keep theirs, should the commit
// fail.
func (x *Index) freshPieces(next *Catalogue) []*piece {
	var list []*piece
	for i := range next.Sources {
		logs := next.Sources[i].Logs
		for k := range logs {
			l := &logs[k]
			if !slices.ContainsFunc(l.pieces, func(p piece) bool { return p.at >= inMemory }) {
				continue
			}
			// The log itself is next's own: only what was put since the last commit has held pieces, and with made that
			// list of logs anew.
			l.pieces = slices.Clone(l.pieces)
			for n := range l.pieces {
				if l.pieces[n].at >= inMemory {
					list = append(list, &l.pieces[n])
				}
			}
		}
	}
	return list
}

// rewrite copies all pieces to a file of the next generation. The old file stays as it is until the catalogue names the new
// one: others are reading it, and a crash may come in between.
func (x *Index) rewrite(next *Catalogue) error {
	generation := next.generation + 1
	path := x.path(signaturesName(generation))
	// It may be there, of a commit that was never finished.
	f, err := x.fs.Open(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	at := int64(0)
	var buf, out []byte
	for i := range next.Sources {
		logs := slices.Clone(next.Sources[i].Logs) // others look at these
		next.Sources[i].Logs = logs
		for k := range logs {
			l := &logs[k]
			l.pieces = slices.Clone(l.pieces)
			for n := range l.pieces {
				p := &l.pieces[n]
				data, readErr := x.sigs.read(*p, &buf)
				if readErr != nil {
					// What was copied of it already is garbage, until the next time.
					l.lose()
					break
				}
				out = append(out, data...)
				p.at = at
				at += p.size
			}
			if len(out) >= windowSize && err == nil {
				_, err = f.Write(out)
				out = out[:0]
			}
		}
	}
	if err == nil {
		_, err = f.Write(out)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	next.generation, next.signatures = generation, at
	return nil
}

// sweep removes what crashes left: files in the making, and signatures that no catalogue names. The lock is held, so none of
// them is anybody's. It is done before anything is written, so that a disk that a crash left full has room again.
// Signatures go only while the catalogue is the one that we read: another one may name them.
func (x *Index) sweep() {
	entries, err := x.fs.ReadDir(x.opt.Dir)
	if err != nil {
		return
	}
	current := signaturesName(x.kept.generation)
	for _, e := range entries {
		name := e.Name()
		stale := strings.HasPrefix(name, signaturesPrefix) && name != current && x.unchanged()
		if stale || strings.HasPrefix(name, durable.TempPrefix) {
			// One that stays does no harm.
			_ = x.fs.Remove(x.path(name))
		}
	}
}

// unchanged says whether the catalogue is still the one that we read or wrote. When one that we wrote got its name is not
// known; see durable.Replace.
func (x *Index) unchanged() bool {
	info, err := x.fs.Stat(x.path(catalogueName))
	if x.seen.Changed == 0 {
		info.Changed = 0
	}
	return err == nil && info == x.seen || errors.Is(err, fs.ErrNotExist) && x.seen == durable.Info{}
}
