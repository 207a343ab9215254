// Package copies finds out which logs are copies of which. Some agents fork a session by copying its records to a new log that does not
// name the old one (session.Copier). Such logs begin with the same message.
package copies

import (
	"cmp"
	"math"
	"strings"

	"github.com/treeline-dev/treeline/internal/sorting"
)

// Log is one of the logs that begin with the same message.
type Log struct {
	Path string
	// Created is when the log was created, in milliseconds; 0 if no record tells.
	Created int64
	// Messages maps its messages to the times when they were made, in milliseconds.
	Messages map[uint64]int64

	own int64 // when the first message was made that no other log has
}

// Relation is the result of a comparison for a log: the messages up to Until are those of Parent. Until is index.Summary.Forked. Whole: the
// log has no message of its own. If it grows, all of it is read, and it is compared again, since it may still be copied.
type Relation struct {
	Parent string
	Until  int64
	Whole  bool
}

// Settled reports whether some logs are as they were when they were compared: none is new or was read as a whole since, and none is gone.
// forked is the index.Summary.Forked of each.
func Settled(forked []int64) bool {
	originals := 0
	for _, until := range forked {
		switch until {
		case original(len(forked)):
			originals++
		case 0:
			return false
		}
	}
	return originals == 1 || len(forked) == 0
}

// original returns the index.Summary.Forked of the original of n logs.
func original(n int) int64 {
	if n == 1 {
		return 0
	}
	return -int64(n)
}

// Relate finds the original of a group, and what the other logs are copies of: each is a copy of that one before it with which it shares
// most. The first log is the one that was created first. If no record tells that, it is the one that first has something of its own, or has
// nothing.
func Relate(group []Log) []Relation {
	count := map[uint64]int{}
	for i := range group {
		for id := range group[i].Messages {
			count[id]++
		}
	}
	order := make([]int, len(group))
	for i := range group {
		c := &group[i]
		order[i], c.own = i, math.MinInt64
		for id, at := range c.Messages {
			if count[id] == 1 && (c.own == math.MinInt64 || at < c.own) {
				c.own = at
			}
		}
	}
	sorting.By(order, func(i, k int) int {
		a, b := &group[i], &group[k]
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.own, b.own), cmp.Compare(len(a.Messages), len(b.Messages)), strings.Compare(a.Path, b.Path))
	})
	list := make([]Relation, len(group))
	for n, i := range order {
		c, most := &group[i], 0
		of := Relation{Until: original(len(group)), Whole: c.own == math.MinInt64}
		for _, k := range order[:n] {
			if n, until := c.shares(&group[k]); n > most {
				most, of.Parent, of.Until = n, group[k].Path, until
			}
		}
		list[i] = of
	}
	return list
}

// shares counts the messages that two logs have in common, and returns when the copy begins to have its own.
func (a *Log) shares(b *Log) (n int, until int64) {
	for id, at := range a.Messages {
		if _, ok := b.Messages[id]; ok {
			n++
			until = max(until, at+1, 1) // 0 and less would mean that it is not a copy
		}
	}
	return n, until
}
