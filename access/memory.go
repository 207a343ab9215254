package access

import (
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/sorting"
)

// Memory is a Book in memory.
type Memory struct {
	mu      sync.Mutex
	tokens  []held
	records []Record
}

type held struct {
	Grant
	keys Keys
}

var _ Book = (*Memory)(nil)

// Add implements Book.
func (m *Memory) Add(_ context.Context, g Grant, k Keys) error {
	if err := g.Validate(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at(g.Name) >= 0 {
		return fmt.Errorf("%q: %w", g.Name, ErrExist)
	}
	g.Projects = slices.Clone(g.Projects)
	m.tokens = append(m.tokens, held{g, k})
	return nil
}

// at returns the index of the token with a name that is not revoked, or -1.
func (m *Memory) at(name string) int {
	return slices.IndexFunc(m.tokens, func(h held) bool { return h.Name == name && h.Revoked.IsZero() })
}

// List implements Book.
func (m *Memory) List(context.Context) ([]Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Grant, len(m.tokens))
	for i := range m.tokens {
		list[i] = m.tokens[i].Grant
	}
	sorting.By(list, func(a, b Grant) int { return cmp.Or(cmp.Compare(a.Name, b.Name), a.Created.Compare(b.Created)) })
	return list, nil
}

// Revoke implements Book.
func (m *Memory) Revoke(_ context.Context, name string, at time.Time) (Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.at(name)
	if i < 0 {
		return Grant{}, fmt.Errorf("%q: %w", name, ErrNoToken)
	}
	m.tokens[i].Revoked = at
	return m.tokens[i].Grant, nil
}

// Find implements Book.
func (m *Memory) Find(_ context.Context, sum Sum) (Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := -1
	for i := range m.tokens {
		if m.tokens[i].keys.Has(sum) {
			found = i
		}
	}
	if found < 0 {
		return Grant{}, ErrNoToken
	}
	return m.tokens[found].Grant, nil
}

// Has reports whether a hash is one of the two, in constant time.
func (k Keys) Has(sum Sum) bool {
	return subtle.ConstantTimeCompare(k.Token[:], sum[:])|subtle.ConstantTimeCompare(k.Cookie[:], sum[:]) == 1
}

// Touch implements Book.
func (m *Memory) Touch(_ context.Context, used map[string]time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, at := range used {
		if i := m.at(name); i >= 0 && m.tokens[i].Used.Before(at) {
			m.tokens[i].Used = at
		}
	}
	return nil
}

// Note implements Book.
func (m *Memory) Note(_ context.Context, records ...Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = append(m.records, records...)
	return nil
}

// Records implements Book.
func (m *Memory) Records(_ context.Context, q Query) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Record{}
	for _, r := range slices.Backward(m.records) {
		if q.Passes(r) {
			list = append(list, r)
		}
	}
	sorting.By(list, func(a, b Record) int { return b.Time.Compare(a.Time) })
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
	}
	return list, nil
}

// Close implements Book.
func (m *Memory) Close() error { return nil }
