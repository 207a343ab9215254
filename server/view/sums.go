package view

import (
	"sync"
	"time"

	"github.com/treeline-dev/treeline/usage"
)

// Sums keeps sums of what sessions used. A sum that is asked for is made anew, but making it takes at most a tenth of the time.
type Sums struct {
	mu   sync.Mutex
	kept map[string]*sum
}

// sum is one of them.
type sum struct {
	mu         sync.Mutex // held while it is made
	report     usage.Report
	made, rest time.Time // it is not made again before rest
}

// sumsMost is how many are kept.
const sumsMost = 64

// Get gives the sum of a name and when it was made. f makes it; others that ask for the same wait.
func (c *Sums) Get(name string, clock func() time.Time, f func() (usage.Report, error)) (usage.Report, time.Time, error) {
	c.mu.Lock()
	s := c.kept[name]
	if s == nil {
		if s = new(sum); len(c.kept) >= sumsMost || c.kept == nil {
			c.kept = map[string]*sum{}
		}
		c.kept[name] = s
	}
	c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	began := clock()
	if began.Before(s.rest) {
		return s.report, s.made, nil
	}
	report, err := f()
	if err != nil {
		return report, began, err
	}
	s.report, s.made, s.rest = report, began, began.Add(10*clock().Sub(began))
	return report, began, nil
}
