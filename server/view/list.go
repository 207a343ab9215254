package view

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/session"
)

// List is a list of sessions at one moment. It does not change. What only some pages need is computed when it is first needed.
type List struct {
	// Tag differs from the tag of every other list.
	Tag string
	// Rows are the sessions, newest first, then by path. Keys name them in requests.
	Rows []place.Row
	Keys []string
	// ByPath has the index of each path's row.
	ByPath map[string]int
	// Problems say what could not be read.
	Problems []string

	byKey map[string]int
	long  func(*place.Row) string // longKey, or that of an archive

	once   sync.Once
	family Family // see FamilyOf

	viewing sync.Mutex
	views   map[string]*List // see Limited
}

// newList makes a list of rows, which it sorts.
func newList(tag string, rows []place.Row, problems []string) *List {
	l := &List{Tag: tag, Problems: problems, long: longKey}
	l.fill(rows)
	return l
}

// fill sorts the rows and gives them keys.
func (l *List) fill(rows []place.Row) {
	rows = place.Drop(rows, func(r *place.Row) bool {
		if r.Err != nil {
			l.Problems = append(l.Problems, r.Path+": "+r.Err.Error())
		}
		return r.Err != nil || r.ID == "" && r.Log.Size == 0
	})
	sorting.By(rows, func(a, b place.Row) int {
		return cmp.Or(b.When().Compare(a.When()), strings.Compare(a.Path, b.Path))
	})
	count := make(map[session.ID]int, len(rows))
	for i := range rows {
		count[rows[i].ID]++
	}
	l.Rows, l.Keys = rows, make([]string, len(rows))
	l.byKey, l.ByPath = make(map[string]int, len(rows)), make(map[string]int, len(rows))
	for i := range rows {
		key := string(rows[i].ID)
		if count[rows[i].ID] > 1 || !addressable(key) {
			key = l.long(&rows[i])
		}
		l.Keys[i], l.byKey[key], l.ByPath[rows[i].Path] = key, i, i
	}
}

// longestID is the largest length of an id that can be part of an address.
const longestID = 256

// addressable reports whether an id can be the key of a session: a plain part of a path that cannot be the key of another session.
func addressable(id string) bool {
	return id != "" && len(id) <= longestID && !strings.Contains(id, "@") && guard.PlainPath("/"+id) && !strings.Contains(id, "/")
}

// longKey returns the key of a session whose id other sessions have, too, or cannot be a key. In the latter case the key begins with @.
func longKey(r *place.Row) string {
	sum := sha256.Sum256([]byte(r.Path))
	key := "@" + hex.EncodeToString(sum[:4])
	if addressable(string(r.ID)) {
		key = string(r.ID) + key
	}
	return key
}

// Find returns the row with a key, and its own key. A key with the hash of a path stays valid when its session is the only one left with
// the id. An id that several sessions have finds none of them.
func (l *List) Find(key string) (*place.Row, string, error) {
	if i, ok := l.byKey[key]; ok {
		return &l.Rows[i], l.Keys[i], nil
	}
	id, _, long := strings.Cut(key, "@")
	if i, ok := l.byKey[id]; ok && long && l.long(&l.Rows[i]) == key {
		return &l.Rows[i], l.Keys[i], nil
	}
	var same []string
	for i := range l.Rows {
		if string(l.Rows[i].ID) == key {
			same = append(same, l.Keys[i])
		}
	}
	if len(same) > 0 {
		return nil, "", fmt.Errorf("%w: several have the id %.80q; use one of %s", place.ErrNoSession, key, strings.Join(same[:min(len(same), 10)], ", "))
	}
	return nil, "", fmt.Errorf("%w: %.80q", place.ErrNoSession, key)
}

// KeyOf returns the key of the session at a path, or "" if it is not in the list.
func (l *List) KeyOf(path string) string {
	if i, ok := l.ByPath[path]; ok {
		return l.Keys[i]
	}
	return ""
}

// KeyByID returns the key of the session with an id, or "" if there is none or several.
func (l *List) KeyByID(id session.ID) string {
	if i, ok := l.byKey[string(id)]; ok {
		return l.Keys[i]
	}
	return ""
}

// viewsMost is the largest number of limited views of one list that are kept.
const viewsMost = 32

// Limited returns a list of the rows of a grant's projects. Nothing in it depends on other rows: keys, relatives, counts and the tag are
// made of these rows alone. What could not be read belongs to no project.
func (l *List) Limited(g *access.Grant) *List {
	scope := strings.Join(g.Projects, "\x00")
	l.viewing.Lock()
	defer l.viewing.Unlock()
	if v := l.views[scope]; v != nil {
		return v
	}
	v := &List{long: l.long}
	v.fill(Rows(l.Rows, g.Allows))
	v.orphan()
	scoped := sha256.Sum256([]byte(scope))
	v.Tag = v.sum() + hex.EncodeToString(scoped[:6])
	if l.views == nil || len(l.views) >= viewsMost {
		l.views = map[string]*List{}
	}
	l.views[scope] = v
	return v
}

// orphan clears parents that are not in the list, since they may belong to another project.
func (l *List) orphan() {
	for i, parent := range place.Parents(l.Rows) {
		if parent < 0 {
			l.Rows[i].Parent = ""
		}
	}
}
