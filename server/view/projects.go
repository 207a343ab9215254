package view

import "sync"

// Projects are those of logs that no list has, by path, for as long as nothing changes.
type Projects struct {
	mu   sync.Mutex
	seen uint64 // changes when they were found out
	of   map[string]string
}

// projectsMost is how many are kept.
const projectsMost = 100_000

// Get gives the project of a log, if it is known since so many changes.
func (c *Projects) Get(seen uint64, path string) (project string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen != seen {
		return "", false
	}
	project, known = c.of[path]
	return project, known
}

// Put keeps the project of a log.
func (c *Projects) Put(seen uint64, path, project string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || c.seen != seen || len(c.of) >= projectsMost {
		c.seen, c.of = seen, map[string]string{}
	}
	c.of[path] = project
}
