package view

import "sync"

// Projects are those of logs, by path. Each is of one generation of its log.
type Projects struct {
	mu sync.Mutex
	of map[string]projectOf
}

type projectOf struct{ generation, project string }

// projectsMost is how many are kept.
const projectsMost = 100_000

// Get gives the project of a log, if it is known for this generation.
func (c *Projects) Get(path, generation string) (project string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, known := c.of[path]
	if p.generation != generation {
		return "", false
	}
	return p.project, known
}

// Put keeps the project of a generation of a log, in place of that of another one.
func (c *Projects) Put(path, generation, project string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= projectsMost {
		c.of = map[string]projectOf{}
	}
	c.of[path] = projectOf{generation, project}
}
