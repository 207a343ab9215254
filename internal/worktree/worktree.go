// Package worktree finds the git repository around a directory. It reads git's own files and starts no program.
package worktree

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/internal/durable"
)

// UpTo lists a directory and those above it, up to root or, without one, to the root of the file system.
func UpTo(dir, root string) (list []string) {
	for {
		list = append(list, dir)
		above := filepath.Dir(dir)
		if dir == root || above == dir {
			return list
		}
		dir = above
	}
}

// Repository finds the root of the git repository around a directory; "" if there is none. If it is a linked worktree,
// main is the root of the main one.
func Repository(dir string) (root, main string) {
	for _, d := range UpTo(dir, "") {
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
	text, err := durable.ReadRegular(git)
	inside, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
	if err != nil || !ok {
		return ""
	}
	inside = under(root, strings.TrimSpace(inside))
	text, err = durable.ReadRegular(filepath.Join(inside, "commondir"))
	common := under(inside, strings.TrimSpace(string(text)))
	if err != nil || filepath.Base(common) != ".git" {
		return ""
	}
	return filepath.Dir(common)
}

// under makes a path absolute, relative to dir.
func under(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
