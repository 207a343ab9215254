package opencode

import (
	"context"
	"crypto/sha1"
	"database/sql"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/internal/durable"
)

// The project of directories that are not in a repository.
const (
	global     = "global"
	globalRoot = "/"
)

// projectOf returns the id and the worktree of the project that a directory belongs to: the one with the nearest worktree that the database
// knows, else the one that the program would make. The program names a repository without a remote and without a file of its own after its
// first commit, which is not looked up here: such a session is global.
func projectOf(ctx context.Context, tx *sql.Tx, directory string) (id, worktree string, err error) {
	found, err := tx.QueryContext(ctx, `SELECT id, worktree FROM project`)
	if err != nil {
		return "", "", err
	}
	defer found.Close()
	id, worktree = global, globalRoot
	for found.Next() {
		var other, at string
		if err := found.Scan(&other, &at); err != nil {
			return "", "", err
		}
		if len(at) > len(worktree) && (directory == at || strings.HasPrefix(directory, strings.TrimSuffix(at, "/")+"/")) {
			id, worktree = other, at
		}
	}
	if err := found.Err(); err != nil || id != global {
		return id, worktree, err
	}
	if made, at := repository(directory); made != "" {
		return made, at, nil
	}
	return global, globalRoot, nil
}

// repository returns the id that the program makes for the repository around a directory; "" if it cannot be determined from files.
func repository(directory string) (id, worktree string) {
	for dir := directory; ; dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		info, err := os.Stat(git)
		switch {
		case err == nil && info.IsDir():
			if remote := originOf(filepath.Join(git, "config")); remote != "" {
				sum := sha1.Sum([]byte("git-remote:" + remote))
				return hex.EncodeToString(sum[:]), dir
			}
			if own, err := durable.ReadRegular(filepath.Join(git, "opencode")); err == nil {
				return strings.TrimSpace(string(own)), dir
			}
			return "", ""
		case dir == filepath.Dir(dir):
			return "", ""
		}
	}
}

// originOf returns host and path of the remote "origin" in a configuration of git; "" if there is none.
func originOf(config string) string {
	text, err := durable.ReadRegular(config)
	if err != nil {
		return ""
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inside = line == `[remote "origin"]`
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && inside && strings.TrimSpace(key) == "url" {
			return hostPath(strings.TrimSpace(value))
		}
	}
	return ""
}

// hostPath returns host and path of a remote, without the user, the port and the ending ".git".
func hostPath(remote string) string {
	var host, path string
	if u, err := url.Parse(remote); err == nil && u.Host != "" {
		host, path = u.Hostname(), u.Path
	} else if before, after, ok := strings.Cut(remote, ":"); ok && !strings.Contains(before, "/") {
		host, path = before[strings.LastIndexByte(before, '@')+1:], after
	} else {
		return ""
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	return strings.ToLower(host) + "/" + path
}
