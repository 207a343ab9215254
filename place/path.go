package place

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend"
)

// Paths are those of files, spelled as the system spells them, or URLs, which have slashes on every system.

func isURL(p string) bool { return backend.Scheme(p) != "" }

func isAbs(p string) bool { return isURL(p) || filepath.IsAbs(p) }

// UTF8 returns a directory as sessions name it: each byte that is not UTF-8 becomes U+FFFD, as when the agents read it.
func UTF8(dir string) string { return string([]rune(dir)) }

// Clean is filepath.Clean for file paths and URLs.
func Clean(p string) string {
	if scheme := backend.Scheme(p); scheme != "" {
		rest := path.Clean("/" + p[len(scheme)+len("://"):])
		return scheme + "://" + strings.TrimPrefix(rest, "/")
	}
	return filepath.Clean(p)
}

// Abs is filepath.Abs for file paths, and Clean for URLs.
func Abs(p string) (string, error) {
	if isURL(p) {
		return Clean(p), nil
	}
	return filepath.Abs(p)
}

// Join appends names, which are spelled with slashes, to a root.
func Join(root string, names ...string) string {
	name := path.Join(names...)
	if isURL(root) {
		if name == "" {
			return Clean(root)
		}
		return Clean(root) + "/" + name
	}
	return filepath.Join(root, filepath.FromSlash(name))
}

// Dir returns the folder of a path.
func Dir(p string) string {
	if isURL(p) {
		p = Clean(p)
		return p[:strings.LastIndexByte(p, '/')]
	}
	return filepath.Dir(p)
}

// Base returns the last element of a path.
func Base(p string) string {
	if isURL(p) {
		p = Clean(p)
		return p[strings.LastIndexByte(p, '/')+1:]
	}
	return filepath.Base(p)
}

// Within reports whether a path is the folder or lies below it. It compares only names: the caller resolves links.
func Within(folder, p string) bool {
	folder, p = Clean(folder), Clean(p)
	separator := byte(filepath.Separator)
	if isURL(folder) || isURL(p) {
		separator = '/'
	}
	if rest, ok := strings.CutPrefix(p, folder); ok && (rest == "" || rest[0] == separator) {
		return true
	}
	if separator == '/' && isAbs(folder) && isAbs(p) && folder != "/" {
		return false // Rel would return the same, more slowly
	}
	rel, err := filepath.Rel(folder, p)
	return err == nil && filepath.IsLocal(rel)
}

// Below returns the name that a path has below a folder, with slashes; ok is false if it lies elsewhere.
func Below(folder, p string) (name string, ok bool) {
	if isURL(folder) || isURL(p) {
		rest, ok := strings.CutPrefix(Clean(p), Clean(folder))
		if !ok || rest != "" && rest[0] != '/' {
			return "", false
		}
		return strings.TrimPrefix(rest, "/"), true
	}
	rel, err := filepath.Rel(folder, p)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	if rel == "." {
		return "", true
	}
	return filepath.ToSlash(rel), true
}

// SessionsAbove returns the nearest folder called "sessions" that a path lies in. References in the log refer to its neighbour "blobs".
func SessionsAbove(p string) (string, bool) {
	if isURL(p) {
		return "", false
	}
	for dir := filepath.Dir(p); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "sessions" {
			return dir, true
		}
	}
	return "", false
}

// TerminalName makes the name of a breadcrumb from the name of a terminal: a device such as "/dev/pts/3", or a name that a terminal program
// uses. It returns "" for a name that could leave its folder.
func TerminalName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:`, r) {
			return '-'
		}
		return r
	}, strings.TrimPrefix(name, "/dev/"))
	if name == "." || name == ".." || strings.HasPrefix(name, ".treeline-") || len(name) > 200 {
		return ""
	}
	return name
}
