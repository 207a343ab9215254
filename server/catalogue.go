package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/session"
)

// catalogue is the list of sessions as it was last read. It is read again when the watch told of a change, and not more
// often than a tenth of the time.
type catalogue struct {
	s     *Server
	stale atomic.Uint64 // changes so far

	mu   sync.Mutex // held while it is read
	now  *listing   // nil: not read yet
	seen uint64     // changes when it was read
	rest time.Time  // it is not read again before
}

// listing is the list at one moment. It does not change; what pages need besides is worked out when the first one does.
type listing struct {
	tag      string      // differs from that of every other list
	rows     []place.Row // newest first, then by path
	keys     []string    // of the rows
	byKey    map[string]int
	byPath   map[string]int
	problems []string

	once   sync.Once
	family family // see familyOf

	viewing sync.Mutex
	views   map[string]*listing // see limited
	others  map[string]string   // projects of logs that are not rows, by path
}

// spoil has the list read again.
func (c *catalogue) spoil() { c.stale.Add(1) }

// force has the list read again at once: the server itself changed something.
func (c *catalogue) force() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest = time.Time{}
	c.stale.Add(1)
}

// withoutWatch is how long a list is used if nothing tells of changes.
const withoutWatch = 2 * time.Second

// get gives the list. Reading it is not cancelled with the request: others wait for it, too.
func (c *catalogue) get(ctx context.Context) (*listing, error) {
	c.s.watch(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	began := c.s.opt.Clock()
	stale := c.stale.Load()
	c.s.feed.mu.Lock()
	live := c.s.feed.live
	c.s.feed.mu.Unlock()
	switch {
	case c.now == nil:
	case stale == c.seen && live:
		return c.now, nil
	case began.Before(c.rest):
		return c.now, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &listing{tag: strconv.FormatUint(stale+1, 10)}
	var mu sync.Mutex
	rows, err := c.s.store.Catalogue(c.s.ctx, treeline.RefreshOptions{Problem: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		l.problems = append(l.problems, err.Error())
	}})
	if err != nil {
		return nil, err
	}
	c.s.counts.refreshes.Add(1)
	l.fill(rows)
	took := c.s.opt.Clock().Sub(began)
	c.now, c.seen, c.rest = l, stale, began.Add(10*took)
	if !live {
		c.rest = began.Add(max(withoutWatch, 10*took))
	}
	return l, nil
}

// fill sorts the rows and names them.
func (l *listing) fill(rows []place.Row) {
	rows = place.Drop(rows, func(r *place.Row) bool {
		if r.Err != nil {
			l.problems = append(l.problems, r.Path+": "+r.Err.Error())
		}
		return r.Err != nil || r.ID == "" && r.Log.Size == 0
	})
	slices.SortStableFunc(rows, func(a, b place.Row) int {
		return cmp.Or(b.When().Compare(a.When()), strings.Compare(a.Path, b.Path))
	})
	count := make(map[session.ID]int, len(rows))
	for i := range rows {
		count[rows[i].ID]++
	}
	l.rows, l.keys = rows, make([]string, len(rows))
	l.byKey, l.byPath = make(map[string]int, len(rows)), make(map[string]int, len(rows))
	for i := range rows {
		key := string(rows[i].ID)
		if count[rows[i].ID] > 1 || !addressable(key) {
			key = longKey(&rows[i])
		}
		l.keys[i], l.byKey[key], l.byPath[rows[i].Path] = key, i, i
	}
}

// longestID is the length of an id that can be part of an address.
const longestID = 256

// addressable reports whether an id can be the key of a session: a part of a path that means itself, and not the key of another one.
func addressable(id string) bool {
	return id != "" && len(id) <= longestID && !strings.Contains(id, "@") && guard.PlainPath("/"+id) && !strings.Contains(id, "/")
}

// longKey names one of several sessions with the same id, or one whose id is no key. It then begins with the @.
func longKey(r *place.Row) string {
	sum := sha256.Sum256([]byte(r.Path))
	key := "@" + hex.EncodeToString(sum[:4])
	if addressable(string(r.ID)) {
		key = string(r.ID) + key
	}
	return key
}

// find gives the row that a key names. A key with the hash of a path stays good when its session is the only one left with
// the id; an id that several sessions have names none of them.
func (l *listing) find(key string) (*place.Row, string, error) {
	if i, ok := l.byKey[key]; ok {
		return &l.rows[i], l.keys[i], nil
	}
	id, _, long := strings.Cut(key, "@")
	if i, ok := l.byKey[id]; ok && long && longKey(&l.rows[i]) == key {
		return &l.rows[i], l.keys[i], nil
	}
	var same []string
	for i := range l.rows {
		if string(l.rows[i].ID) == key {
			same = append(same, l.keys[i])
		}
	}
	if len(same) > 0 {
		return nil, "", fmt.Errorf("%w: several have the id %.80q; use one of %s", place.ErrNoSession, key, strings.Join(same[:min(len(same), 10)], ", "))
	}
	return nil, "", fmt.Errorf("%w: %.80q", place.ErrNoSession, key)
}

// keyOf gives the key of the session at a path, "" for one that is not listed.
func (l *listing) keyOf(path string) string {
	if i, ok := l.byPath[path]; ok {
		return l.keys[i]
	}
	return ""
}
