package place

import (
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
)

// History is a file in which an agent keeps what was typed.
type History struct {
	// Dialect is the dialect of the agent's sessions.
	Dialect dialect.Dialect
	// Path is the file, which need not exist.
	Path string
	// Read parses a line of the file; see dialect.Historian.
	Read func(line []byte) (dialect.Typed, bool)
}

// Histories returns the files in which agents keep what was typed; they lie beside the folders of the sources.
func (m *Machine) Histories() (list []History) {
	for _, src := range m.Sources() {
		h, ok := src.Dialect.Layout().(dialect.Historian)
		if !ok || isURL(src.Root.Sessions) {
			continue
		}
		path := filepath.Join(filepath.Dir(src.Root.Sessions), h.HistoryFile())
		if !slices.ContainsFunc(list, func(o History) bool { return o.Path == path }) { // two folders may share one
			list = append(list, History{Dialect: src.Dialect, Path: path, Read: h.ReadTyped})
		}
	}
	return list
}
