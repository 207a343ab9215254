// Package demo makes a machine of sessions to look at: three projects, three weeks, thirteen agents. Nothing in it is anyone's.
//
// A session is a story, a file in the folder stories. Each is written through the store as an agent would write it, entry by
// entry, with the agent's own format, folders and habits. The same clock gives the same machine,
// except for the ids of Wave's sessions, of which a process makes none twice, and the times in Codelia's database. Another clock
// gives other times, and the same ids.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/started"
)

//go:embed stories/*.txt
var stories embed.FS

// chart is a picture of bars, of which some stand out: the errors of prices.
//
//go:embed chart.png
var chart []byte

// Machine returns the options of a store whose home is dir. It reads nothing of the user's: no settings, no environment. Codelia's
// sessions need the driver of its database.
func Machine(dir string, clock func() time.Time, drivers ...backend.Driver) treeline.Options {
	return treeline.Options{
		Home: dir, WorkDir: dir, Getenv: func(string) string { return "" }, NoConfig: true, NoBreadcrumbs: true,
		Clock: clock, Backends: drivers,
	}
}

// Write makes the machine in dir, an empty folder. By the clock, the last session is some minutes old and the first three weeks. The
// drivers are those for Machine.
func Write(ctx context.Context, dir string, clock func() time.Time, drivers ...backend.Driver) error {
	return WriteProjects(ctx, dir, home, clock, drivers...)
}

// home is the folder of the stories' projects.
const home = "/home/you"

// WriteProjects is Write with the projects in another folder: a command that is started in one of them finds its sessions. It does not make
// the folders.
func WriteProjects(ctx context.Context, dir, projects string, clock func() time.Time, drivers ...backend.Driver) (err error) {
	s, err := treeline.New(Machine(dir, clock, drivers...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	files, err := fs.Glob(stories, "stories/*.txt")
	if err != nil {
		return err
	}
	w := &writer{store: s, now: clock().UTC(), told: map[string]*told{}}
	if w.databases, err = databases(dir, filepath.Join(projects, "ledger")); err != nil {
		return err
	}
	for _, path := range w.databases {
		open, openErr := started.Open(path)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, open.Close()) }()
	}
	for i, file := range files { // in the order of their names: a fork comes after what it was made from
		text, err := stories.ReadFile(file)
		if err != nil {
			return err
		}
		story, err := parse(strings.Replace(string(text), "\ncwd: "+home+"/", "\ncwd: "+projects+"/", 1))
		if err == nil {
			err = w.tell(ctx, strings.TrimSuffix(path.Base(file), ".txt"), story, byte(i))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// databases makes the databases of agents for which treeline makes none, and returns their paths by agent. Crush has one for each project
// that it was started in. Here it lies beside the registry, since the project need not exist.
func databases(dir, project string) (paths map[string]string, err error) {
	data := filepath.Join(dir, ".local", "share")
	crush := filepath.Join(data, "crush", filepath.Base(project))
	paths = map[string]string{"crush": filepath.Join(crush, "crush.db")}
	if paths["opencode"], err = started.OpenCode(data); err != nil {
		return nil, err
	}
	if paths["goose"], err = started.Goose(data); err != nil {
		return nil, err
	}
	return paths, started.Crush(data, started.Project{Dir: project, Data: crush})
}
