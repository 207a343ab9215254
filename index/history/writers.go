package history

import (
	"sync"

	"github.com/treeline-dev/treeline/internal/durable"
)

// fileID tells files apart, whatever they are called.
type fileID struct{ dev, ino uint64 }

// writers are the databases that this process has open for writing. On Unix a process gives up all its locks on a file
// when it closes any opening of it: to copy such a database would take the locks from under SQLite. It is read through
// SQLite instead, which leaves no trace either: the files beside the database are there already.
var writers = registry{open: map[fileID]int{}}

type registry struct {
	mu   sync.Mutex
	open map[fileID]int
}

// add notes a database and says what it is; one that cannot be looked at is noted as none.
func (r *registry) add(fsys durable.FS, path string) fileID {
	info, err := fsys.Stat(path)
	if err != nil {
		return fileID{}
	}
	id := fileID{info.Dev, info.Ino}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[id]++
	return id
}

func (r *registry) remove(id fileID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[id]--; r.open[id] <= 0 {
		delete(r.open, id)
	}
}

func (r *registry) has(info durable.Info) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open[fileID{info.Dev, info.Ino}] > 0
}
