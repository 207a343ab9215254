package world

import (
	"path/filepath"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/backend/rows/crush"
	"github.com/treeline-dev/treeline/backend/rows/goose"
	"github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/internal/started"
)

// WithDatabases is a change of New: a world with an OpenCode, a Goose and a Crush that were started once.
func WithDatabases(w *World) {
	w.Helper()
	data := filepath.Join(w.Home, ".local", "share")
	_, err := started.OpenCode(data)
	w.Must(err)
	_, err = started.Goose(data)
	w.Must(err)
	w.Must(started.Crush(data, started.Project{Dir: w.CWD}))
	w.Drivers = []backend.Driver{codelia.Driver(), opencode.Driver(), goose.Driver(), crush.Driver(), w.files()}
}
