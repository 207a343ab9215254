package index

import (
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

// errBusy says that another process holds the lock.
var errBusy = errors.New("another process is using it")

// lostFor is how many commits after a failed one stay in memory before the next attempt to write: the disk may have room by then.
const lostFor = 32

// Commit writes what was put. If the folder cannot be written or locked, it sends one notice and the index continues in memory for some
// time; that is not an error. If another process is busy, the next Commit tries again. The only error is the cause of the cancellation of
// ctx. Other methods block while Commit waits for another process.
func (x *Index) Commit(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.staged) == 0 {
		return nil
	}
	if x.lost {
		x.missed++
	}
	if x.opt.Dir == "" || x.missed%lostFor != 0 {
		x.remember()
		return nil
	}
	unlock, err := x.lock(ctx)
	if err == nil {
		err = x.commit()
		unlock()
	}
	switch {
	// After errBusy everything stays staged.
	case errors.Is(err, errBusy):
	case err == nil:
		x.lost, x.missed = false, 0
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !x.lost:
		x.lost = true
		x.opt.Notice(fmt.Sprintf("the index in %s cannot be saved: %v", x.opt.Dir, err))
	}
	return nil
}

// lock creates the folder and takes its lock.
func (x *Index) lock(ctx context.Context) (unlock func(), err error) {
	if err := durable.MkdirAll(x.fs, x.opt.Dir, 0o700); err != nil {
		return nil, err
	}
	f, err := durable.OpenOwn(x.fs, x.path(lockName), os.O_RDWR)
	if err != nil {
		return nil, err
	}
	// Polling, since waiting in the kernel can be neither cancelled nor limited.
	const pause = 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		ok, err := f.TryLock()
		if ok {
			return func() { _ = f.Close() }, nil // which releases the lock
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

// commit merges what is staged into the files; the lock is held. It writes the signatures, then the catalogue that names them, and then
// removes the file that it no longer names. A reader, even after a crash, has a catalogue whose signatures exist, or detects that they do
// not.
func (x *Index) commit() error {
	x.sweep()
	// A catalogue is replaced by a rename or grows, so a changed one has another identity or size. If there was none, there may be one by
	// now.
	if x.seen == (durable.Info{}) || !x.unchanged() {
		x.reread()
	}
	next, err := x.write(x.kept.with(x.staged))
	if err != nil {
		return err
	}
	// As late as possible: whatever is in the way stays if the signatures cannot be written.
	if err := x.makeRoom(); err != nil {
		return err
	}
	if next.stale {
		next = next.packed() // the texts of removed logs must go
	}
	if !x.journal(next) {
		info, err := durable.Replace(x.fs, x.path(catalogueName), 0o600, encodeCatalogue(next))
		if err != nil {
			return err
		}
		x.seen = info
	}
	old, path := x.kept.generation, x.path(signaturesName(next.generation))
	if old != next.generation || x.kept.signatures != next.signatures {
		// If the file cannot be opened now, its signatures are unknown, and logs are searched as a whole.
		_ = x.sigs.open(x.fs, path, next.signatures)
	}
	// Held pieces are in the file now. Older catalogues still name their positions in memory: a reader that uses such a position learns
	// that the signatures are lost, and reads the logs.
	x.kept, x.now, x.staged, x.fresh, x.waiting, x.sigs.held = next, next, nil, 0, 0, nil
	if old != next.generation {
		_ = x.fs.Remove(x.path(signaturesName(old))) // otherwise sweep removes it
	}
	return nil
}

// remember is commit for an index that is in memory only. It joins what is staged, and drops the signatures of logs that were replaced
// since. That copies all others, so it waits until as much as they take has been put.
func (x *Index) remember() {
	if x.pending() < max(keepRoom, 2*x.remembered) {
		return
	}
	x.merge()
	m := mover{x: x, at: inMemory, moved: map[int64]int64{}}
	var list []Update
	of, put := map[string]int{}, map[[2]string]bool{}
	for _, s := range x.staged {
		if _, ok := of[s.Source]; !ok {
			of[s.Source], list = len(list), append(list, Update{Source: s.Source})
		}
		u := &list[of[s.Source]]
		u.Forget, u.Remove = u.Forget || s.Forget, append(u.Remove, s.Remove...)
		for k := range s.Put {
			name := [2]string{s.Source, s.Put[k].Name}
			if l, ok := x.now.Log(s.Source, name[1]); ok && !put[name] {
				m.move(l)
				u.Put, put[name] = append(u.Put, *l), true
			}
		}
	}
	for i := range list {
		list[i].Remove = slices.DeleteFunc(list[i].Remove, func(name string) bool { return put[[2]string{list[i].Source, name}] })
	}
	x.now, x.staged, x.waiting, x.sigs.held = x.kept.with(list), list, len(put), m.out
	x.remembered = x.pending()
}

// makeRoom removes a folder at the path of the catalogue, or renames it if it is not empty. The catalogue's rename replaces anything else.
// Nothing in the folder is deleted, since it may belong to the user.
func (x *Index) makeRoom() error {
	if x.odd == nil {
		return nil
	}
	path := x.path(catalogueName)
	if x.seen.Mode.IsDir() && x.fs.Remove(path) != nil {
		aside, err := path, x.odd
		for n := 1; err != nil && n < 10; n++ { // earlier names may exist
			aside = fmt.Sprintf("%s.aside-%d", path, n)
			err = x.fs.Rename(path, aside)
		}
		if err != nil {
			return x.odd
		}
		x.odd = fmt.Errorf("%w, and called %s now", x.odd, aside)
	}
	x.opt.Notice(fmt.Sprintf("the index in %s is rebuilt: %v", x.opt.Dir, x.odd))
	x.odd = nil
	return nil
}

// reread reads the catalogue of another process. Before that it holds the pieces that staged logs have in the old file, because the other
// process may have moved them.
func (x *Index) reread() {
	for u := range x.staged {
		for i := range x.staged[u].Put {
			l := &x.staged[u].Put[i]
			inFile := func(p piece) bool { return !p.held() }
			if slices.ContainsFunc(l.pieces, inFile) && x.holdAll(l) != nil {
				l.lose()
			}
		}
	}
	x.read()
}

// holdAll holds all pieces of a log, in the order of the log.
func (x *Index) holdAll(l *Log) error {
	var buf []byte
	pieces := slices.Clone(l.pieces)
	for k := range pieces {
		p := &pieces[k]
		data, err := x.sigs.read(*p, &buf)
		if err != nil {
			return err
		}
		// Pieces that are held already are held again: pieces are written in the order of their positions, which must stay that of the log.
		p.at = inMemory + int64(len(x.sigs.held))
		x.sigs.held = append(x.sigs.held, data...)
	}
	l.pieces = pieces
	return nil
}

// write appends the held pieces to the file. If less than half of the file counts, it instead copies all pieces to a file of the next
// generation; the old file stays until the catalogue names the new one, since other processes may be reading it. It returns the catalogue
// with the new positions, and leaves x as it is, so that staged logs keep their pieces if the commit fails. next is the catalogue with all
// that is staged.
func (x *Index) write(next *Catalogue) (*Catalogue, error) {
	live, add := int64(0), int64(0)
	seen := map[int64]bool{} // pieces that several logs share
	// Counted from scratch each time, so that pieces of replaced or forgotten logs need not be tracked.
	for i := range next.Sources {
		logs := next.Sources[i].Logs
		for k := range logs.refs {
			logs.eachPiece(k, func(p piece) {
				if p.shared && seen[p.at] {
					return
				}
				if live += p.size; p.held() {
					add += p.size
				}
				if p.shared {
					seen[p.at] = true
				}
			})
		}
	}
	size := next.signatures + add
	all := size > x.opt.Garbage && live < size/2
	if !all && add == 0 {
		return next, nil
	}
	m := mover{x: x, all: all, at: next.signatures, moved: map[int64]int64{}}
	generation := next.generation
	if all {
		generation++
		m.at = 0
	}
	f, err := durable.OpenOwn(x.fs, x.path(signaturesName(generation)), os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	begin := m.at
	// Bytes after the end were left by a commit that did not finish.
	if err = f.Truncate(begin); err == nil {
		next, err = m.copy(f, next)
	}
	if err != nil {
		// On a full disk: make room again.
		_ = f.Truncate(begin)
		return nil, errors.Join(err, f.Close())
	}
	next.generation, next.signatures = generation, m.at
	return next, f.Close()
}

// mover copies pieces to the end of a file.
type mover struct {
	x   *Index
	all bool  // all pieces, not only the held ones
	at  int64 // the end of the file
	// moved has the new positions of pieces: several logs may share one, and several updates may put one log.
	moved    map[int64]int64
	buf, out []byte
}

// copy copies pieces, and returns the catalogue with their new positions.
func (m *mover) copy(f durable.File, next *Catalogue) (*Catalogue, error) {
	var updates []Update
	base := next
	if m.all {
		for i := range next.Sources {
			logs := next.Sources[i].Logs
			u := Update{Source: next.Sources[i].Key}
			for k := range logs.refs {
				if err := m.put(f, &u, logs.At(k)); err != nil {
					return nil, err
				}
			}
			updates = append(updates, u)
		}
	} else {
		// Start again from the catalogue before: next has records that name pieces in memory, and they would stay in its pool.
		base = m.x.kept
		for i := range m.x.staged {
			staged := &m.x.staged[i]
			u := Update{Source: staged.Source, Remove: staged.Remove, Forget: staged.Forget}
			for k := range staged.Put {
				// A later update may have replaced or removed the log: next has what counts.
				l, ok := next.Log(staged.Source, staged.Put[k].Name)
				if !ok {
					continue
				}
				if err := m.put(f, &u, l); err != nil {
					return nil, err
				}
			}
			updates = append(updates, u)
		}
	}
	if _, err := f.Write(m.out); err != nil {
		return nil, err
	}
	return base.with(updates), nil
}

// put moves the pieces of a log and adds it to an update.
func (m *mover) put(f durable.File, u *Update, l *Log) (err error) {
	m.move(l)
	u.Put = append(u.Put, *l)
	if len(m.out) >= windowSize {
		_, err = f.Write(m.out)
		m.out = m.out[:0]
	}
	return err
}

// move copies the pieces of a log, in order.
func (m *mover) move(l *Log) {
	for n := range l.pieces {
		p := &l.pieces[n]
		if !m.all && !p.held() {
			continue
		}
		if at, ok := m.moved[p.at]; ok {
			p.at = at
			continue
		}
		data, err := m.x.sigs.read(*p, &m.buf)
		if err != nil {
			l.lose() // what was already copied is garbage until the next copy of all pieces
			return
		}
		m.moved[p.at] = m.at
		m.out = append(m.out, data...)
		p.at = m.at
		m.at += p.size
	}
}

// sweep removes what crashes left: temporary files, and signatures that no catalogue names. The lock is held, so no process uses them. It
// runs before anything is written, so that a full disk has room again. Signatures are removed only if the catalogue is the one that was
// read, since a newer one may name them.
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
			// best effort
			_ = x.fs.Remove(x.path(name))
		}
	}
}

// unchanged reports whether the catalogue in the folder is the one that was last read or written. The change time of a file that was
// written here is unknown; see durable.Replace.
func (x *Index) unchanged() bool {
	info, err := x.fs.Stat(x.path(catalogueName))
	if x.seen.Changed == 0 {
		info.Changed = 0
	}
	return err == nil && info == x.seen || errors.Is(err, fs.ErrNotExist) && x.seen == durable.Info{}
}
