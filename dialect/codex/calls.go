package codex

import (
	"sync"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// called finds the calls of a log by their ids. Each record is read at most once in searches that go back far.
type called struct {
	mu    sync.Mutex
	types map[string]string // the types of the calls from position from up to position to, by id; of several, the last
	from  int
	to    int
}

// find gives the type of the last call with an id.
func (c *called) find(t *session.Tree, id string) (kind string, ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.types == nil || c.to > t.Len() {
		c.types, c.from, c.to = map[string]string{}, t.Len(), t.Len()
	}
	// A call usually stands shortly before its output. What was read is kept only if all records down to the known ones were.
	newer := map[string]string{}
	for i := t.Len() - 1; i >= c.to; i-- {
		kind, ok, err := note(newer, t.At(i), id)
		if ok || err != nil {
			return kind, ok, err
		}
	}
	for id, kind := range newer {
		c.types[id] = kind
	}
	c.to = t.Len()
	if kind, ok := c.types[id]; ok {
		return kind, true, nil
	}
	for c.from > 0 {
		kind, ok, err := note(c.types, t.At(c.from-1), id)
		if err != nil {
			return "", false, err
		}
		if c.from--; ok {
			return kind, true, nil
		}
	}
	return "", false, nil
}

// note notes the call of an entry, unless a later one with its id is noted. ok reports whether it is the call with the given id.
func note(types map[string]string, e session.Entry, id string) (kind string, ok bool, err error) {
	if e.Kind != session.KindMessage || e.Role != session.RoleAssistant {
		return "", false, nil
	}
	raw, err := e.Raw()
	if err != nil {
		return "", false, err
	}
	payload := rawjson.Get(raw, "payload")
	own := rawjson.Str(payload, "call_id")
	if own == "" {
		return "", false, nil
	}
	kind = rawjson.Str(payload, "type")
	if _, later := types[own]; !later {
		types[own] = kind
	}
	return kind, own == id, nil
}
