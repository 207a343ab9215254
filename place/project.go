package place

import (
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend"
)

// Project gives the directory whose sessions are meant in the working directory, among all rows of a list: the nearest one
// upwards with sessions, but not above the root of the repository. In a linked worktree of git without sessions it is
// the same directory of the main worktree, or the nearest one above that. Outside of repositories, the home folder and the
// root of the file system are only the project of themselves. If there are no sessions, it is the working directory.
func (m *Machine) Project(rows []Row) string {
	dirs := func(yield func(string) bool) {
		for i := range rows {
			if r := &rows[i]; r.Err == nil && r.CWD != "" && !yield(r.CWD) {
				return
			}
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

// ProjectAmong is Project with the directories that have sessions or runs. also, if not nil, knows more of them.
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
	// Resolving links asks the file system. Mostly the spelling of a candidate is known.
	var resolved map[string]bool
	has := func(dir string) bool {
		if spelled[dir] {
			return true
		}
		if resolved == nil {
			resolved = make(map[string]bool, len(spelled))
			for dir := range spelled {
				resolved[m.canonical(dir)] = true
			}
		}
		return resolved[m.canonical(dir)] || also != nil && also(dir)
	}
	for _, dir := range m.candidates(here) {
		if has(dir) {
			return dir
		}
	}
	return here
}

// candidates gives the directories that may be the project of another one, the nearest first.
func (m *Machine) candidates(here string) []string {
	root, main := repository(here)
	if root == "" {
		list := upTo(here, "")
		for i, dir := range list {
			if dir == filepath.Dir(dir) || m.SameDir(dir, m.opt.Env.Home) {
				return list[:max(i, 1)]
			}
		}
		return list
	}
	list := upTo(here, root)
	if main != "" {
		if rest, err := filepath.Rel(root, here); err == nil {
			list = append(list, upTo(filepath.Join(main, rest), main)...)
		}
	}
	return list
}

// upTo lists a directory and those above it, up to root or, without one, to the root of the file system.
func upTo(dir, root string) (list []string) {
	for {
		list = append(list, dir)
		above := filepath.Dir(dir)
		if dir == root || above == dir {
			return list
		}
		dir = above
	}
}

// repository finds the root of the git repository around a directory; "" if there is none. If it is a linked worktree,
// main is the root of the main one.
func repository(dir string) (root, main string) {
	for _, d := range upTo(dir, "") {
		git := filepath.Join(d, ".git")
		info, err := os.Stat(git)
		switch {
		case err != nil:
			continue
		case info.IsDir():
			return d, ""
		}
		return d, mainWorktree(d, git)
	}
	return "", ""
}

// mainWorktree reads the .git file of a linked worktree: it names a folder inside the repository, and that folder's file
// commondir names the repository. A submodule has a .git file, too, but no commondir. A bare repository has no main
// worktree.
func mainWorktree(root, git string) string {
	text, err := os.ReadFile(git)
	inside, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
	if err != nil || !ok {
		return ""
	}
	inside = under(root, strings.TrimSpace(inside))
	text, err = os.ReadFile(filepath.Join(inside, "commondir"))
	common := under(inside, strings.TrimSpace(string(text)))
	if err != nil || filepath.Base(common) != ".git" {
		return ""
	}
	return filepath.Dir(common)
}

// under makes a path absolute by a folder.
func under(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
