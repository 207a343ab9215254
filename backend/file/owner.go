package file

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Owner is a process that has a log open for writing.
type Owner struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Program string    `json:"program"`
	Since   time.Time `json:"since"`
}

// String is for messages.
func (o Owner) String() string {
	return fmt.Sprintf("%s (process %d on %s, writing since %s)", o.Program, o.PID, o.Host, o.Since.Format(time.RFC3339))
}

// Owners returns who has the log open for writing, as noted beside it. A process that was killed may still be noted.
func (b *Backend) Owners(ctx context.Context, name string) ([]Owner, error) {
	path, err := b.begin(ctx, name)
	if err != nil {
		return nil, err
	}
	owners, err := b.readOwners(notePath(path))
	if gone(err) {
		return nil, nil
	}
	return owners, err
}

// notePath is where the writers of a log are noted.
func notePath(path string) string {
	dir, base := filepath.Split(path)
	const room = 200 // file names have 255 bytes
	if len(base) > room {
		h := fnv.New64a()
		_, _ = h.Write([]byte(base))
		base = fmt.Sprintf("%s-%x", strings.ToValidUTF8(base[:room], ""), h.Sum64())
	}
	return dir + ownPrefix + base + ".writers"
}

// me is what others are told of this process.
func (b *Backend) me() Owner {
	o := b.opt.Owner
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
	if o.Host == "" {
		o.Host, _ = os.Hostname()
	}
	if o.Program == "" {
		o.Program = filepath.Base(os.Args[0])
	}
	if o.Since.IsZero() {
		o.Since = b.opt.Clock().UTC().Round(0)
	}
	return o
}

// announce notes that we write to the log. The caller holds its lock, so notes do not get into one another's way. A note
// that cannot be made keeps nobody from writing: it is for messages only, and what a lock is worth is up to the system.
func (w *writer) announce() {
	w.announced = true
	me := w.b.me()
	_ = w.b.editOwners(notePath(w.path), func(owners []Owner) []Owner { return append(w.living(owners), me) })
}

// withdraw takes the note back; the note of nobody is removed. Errors do not matter: a note that stays is one of a process
// that does not write any more, as after a crash.
func (w *writer) withdraw() {
	if !w.announced {
		return
	}
	w.announced = false
	if w.f != nil {
		if got, err := w.f.TryLock(); err != nil || !got {
			return // somebody is at work and will find the note outdated
		}
		defer w.unlock()
	}
	_ = w.b.editOwners(notePath(w.path), w.living)
}

// living leaves out ourselves and those who are certainly gone. Of processes on other machines nothing is known.
func (w *writer) living(owners []Owner) (left []Owner) {
	me := w.b.me()
	for _, o := range owners {
		if o.Host == me.Host && (o.PID == me.PID || !alive(o.PID)) {
			continue
		}
		left = append(left, o)
	}
	return left
}

// readOwners reads a note. Lines that do not make sense are left out: two who write at once, or a crash, can do that.
func (b *Backend) readOwners(path string) ([]Owner, error) {
	f, err := b.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseOwners(f)
}

func parseOwners(f durable.File) (owners []Owner, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// Anybody may have put anything there: a limit keeps it from filling our memory. Hundreds of writers fit.
	const limit = 64 << 10
	text := make([]byte, min(info.Size, limit))
	n, _ := f.ReadAt(text, 0)
	for line := range bytes.Lines(text[:n]) {
		var o Owner
		if json.Unmarshal(line, &o) == nil && o.PID > 0 {
			owners = append(owners, o)
		}
	}
	return owners, nil
}

// editOwners changes a note.
func (b *Backend) editOwners(path string, edit func([]Owner) []Owner) error {
	f, err := b.fs.Open(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, fileMode)
	if err != nil {
		return err
	}
	defer f.Close()
	owners, err := parseOwners(f)
	if err != nil {
		return err
	}
	if owners = edit(owners); len(owners) == 0 {
		return b.fs.Remove(path)
	}
	var text []byte
	for _, o := range owners {
		line, err := json.Marshal(o)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	// In place, not by a rename: who reads half of it leaves the other half out, and nothing depends on it.
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.Write(text)
	return err
}

// heldBy says for a message who may be holding the lock.
func (b *Backend) heldBy(path string) string {
	owners, _ := b.readOwners(notePath(path))
	me := b.me()
	var others []string
	for _, o := range owners {
		if o.PID != me.PID || o.Host != me.Host {
			others = append(others, o.String())
		}
	}
	if len(others) == 0 {
		return ""
	}
	return ": " + strings.Join(others, " or ")
}

// inUse says whether the file is a note that names somebody who may be alive.
func (b *Backend) inUse(path string) bool {
	owners, err := b.readOwners(path)
	if err != nil || !strings.HasSuffix(path, ".writers") {
		return false
	}
	me := b.me()
	for _, o := range owners {
		if o.Host != me.Host || alive(o.PID) {
			return true
		}
	}
	return false
}
