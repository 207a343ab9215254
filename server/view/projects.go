package view

import "sync"

// Projects caches the projects of logs by path. Each one belongs to one generation of its log.
type Projects struct {
	mu sync.Mutex
	of map[string]projectOf
}

type projectOf struct{ generation, project string }

// projectsMost is the largest number of projects that are kept.
const projectsMost = 100_000

// Get returns the project of a log, if it is known for this generation.
func (c *Projects) Get(path, generation string) (project string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, known := c.of[path]
	if p.generation != generation {
		return "", false
	}
	return p.project, known
}

// Put stores the project of a generation of a log. It replaces that of another generation.
func (c *Projects) Put(path, generation, project string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= projectsMost {
		c.of = map[string]projectOf{}
	}
	c.of[path] = projectOf{generation, project}
}
