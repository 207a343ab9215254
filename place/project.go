package place

import (
	"iter"
	"path/filepath"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/worktree"
)

// Project returns the directory whose sessions are meant in the working directory, among all rows of a list. It is the nearest directory
// upwards with sessions, but not above the root of the repository. In a linked worktree of git without sessions it is the same directory of
// the main worktree, or the nearest one above that. Outside of repositories, the home folder and the root of the file system are a project
// only for themselves. If there are no sessions, it is the working directory.
func (m *Machine) Project(rows []Row) string { return m.ProjectWith(nil, rows) }

// ProjectWith is Project; more are directories that have sessions besides those of the rows, and may be nil.
func (m *Machine) ProjectWith(more iter.Seq[string], rows []Row) string {
	dirs := func(yield func(string) bool) {
		for i := range rows {
			if r := &rows[i]; r.Err == nil && r.CWD != "" && !yield(r.CWD) {
				return
			}
		}
		if more != nil {
			more(yield)
		}
	}
	return m.ProjectAmong(dirs, func(dir string) bool {
		for i := range rows {
			if r := &rows[i]; r.Err == nil && r.CWD == "" && m.placed(r, dir) {
				return true
			}
		}
		return false
	})
}

// ProjectAmong is Project; dirs are the directories that have sessions or runs. also, if not nil, reports whether another directory does.
func (m *Machine) ProjectAmong(dirs iter.Seq[string], also func(dir string) bool) string {
	here := m.opt.Env.WorkDir
	if backend.Scheme(here) != "" {
		return here
	}
	spelled, last := map[string]bool{}, ""
	for dir := range dirs {
		if dir == here {
			return here // the usual case
		}
		if dir != last { // sessions of one directory often follow one another
			spelled[dir], last = true, dir
		}
	}
	// To resolve links means to ask the file system. Usually the spelling of a candidate is known.
	var resolved map[string]bool
	has := func(dir string) bool {
		if spelled[dir] {
			return true
		}
		if resolved == nil {
			resolved = make(map[string]bool, len(spelled))
			for dir := range spelled {
				resolved[m.Resolved(dir)] = true
			}
		}
		return resolved[m.Resolved(dir)] || also != nil && also(dir)
	}
	for _, dir := range m.candidates(here) {
		if has(dir) {
			return dir
		}
	}
	return here
}

// candidates returns the directories that may be the project of another one, the nearest first.
func (m *Machine) candidates(here string) []string {
	root, main := worktree.Repository(here)
	if root == "" {
		list := worktree.UpTo(here, "")
		for i, dir := range list {
			if dir == filepath.Dir(dir) || m.SameDir(dir, m.opt.Env.Home) {
				return list[:max(i, 1)]
			}
		}
		return list
	}
	list := worktree.UpTo(here, root)
	if main != "" {
		if rest, err := filepath.Rel(root, here); err == nil {
			list = append(list, worktree.UpTo(filepath.Join(main, rest), main)...)
		}
	}
	return list
}
