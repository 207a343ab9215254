package view

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
)

// Recent caches the list of runs for a moment: a page of a session only shows which runs there are.
type Recent struct {
	mu   sync.Mutex
	at   time.Time
	rows []treeline.RunRow
}

const recentTime = 5 * time.Second

// Get returns the runs of a store that can be read.
func (c *Recent) Get(ctx context.Context, s *treeline.Store, clock func() time.Time) ([]treeline.RunRow, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := clock()
	if !c.at.IsZero() && now.Sub(c.at) < recentTime {
		return c.rows, nil
	}
	rows, err := s.Runs(ctx, treeline.RunListOptions{Problem: func(error) {}})
	if err != nil {
		return nil, err
	}
	c.rows, c.at = slices.DeleteFunc(rows, func(r treeline.RunRow) bool { return r.Err != nil }), now
	return c.rows, nil
}
