package view

import (
	"sync"
	"time"

	"github.com/treeline-dev/treeline/usage"
)

// Sums caches sums of usage. An old sum is made again when it is asked for, but this takes at most a tenth of the time.
type Sums struct {
	mu   sync.Mutex
	kept map[string]*sum
}

// sum is a cached sum.
type sum struct {
	mu         sync.Mutex // held while the sum is made
	report     usage.Report
	made, rest time.Time // the sum is not made again before rest
}

// sumsMost is the largest number of sums that are kept.
const sumsMost = 64

// Get returns the sum with a name and the time when it was made. f makes the sum; concurrent calls for the same name wait.
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
