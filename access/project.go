package access

import (
	"fmt"
	"path"
	"strings"
)

// Match reports whether a pattern matches a working directory. In a pattern, * matches any text within one name, ? any character of a name,
// and ** any number of names, including none: /home/*/work/** matches /home/ann/work and everything below it. Other characters match
// themselves. Patterns and directories of Windows may have both kinds of slashes, and are compared without regard to case.
func Match(pattern, dir string) bool {
	p, windows := parts(pattern)
	d, other := parts(dir)
	if d == nil || p == nil || windows != other && pattern != everywhere {
		return false
	}
	return matchParts(p, d)
}

// everywhere is the pattern that every directory matches, on every system.
const everywhere = "**"

// parts splits a path. It returns nil if the path is not absolute. windows reports whether it is a path of Windows, which is returned in
// lower case.
func parts(text string) (list []string, windows bool) {
	switch {
	case text == everywhere:
		return []string{everywhere}, false
	case isDrive(text), strings.HasPrefix(text, `\\`):
		text, windows = strings.ToLower(strings.ReplaceAll(text, `\`, "/")), true
		if strings.HasPrefix(text, "//") {
			text = "//" + path.Clean(text)[1:] // a share is not a folder of the root
		} else {
			text = path.Clean(text)
		}
	case strings.HasPrefix(text, "/"):
		text = path.Clean(text) // resolves "..": /work/../secret is /secret
	default:
		return nil, false
	}
	list = strings.Split(strings.TrimSuffix(text, "/"), "/")
	return list, windows
}

// isDrive reports whether a path begins with a drive and a slash.
func isDrive(text string) bool {
	return len(text) >= 3 && text[1] == ':' && (text[2] == '\\' || text[2] == '/') &&
		(text[0] >= 'a' && text[0] <= 'z' || text[0] >= 'A' && text[0] <= 'Z')
}

// matchParts matches names one by one. It keeps the set of pattern prefixes that match so far, so the number of steps is at most the
// product of both lengths.
func matchParts(pattern, dir []string) bool {
	fits := make([]bool, len(pattern)+1) // the first i parts of the pattern match what was read
	fits[0] = true
	skip := func() { // ** may match no name
		for i, p := range pattern {
			fits[i+1] = fits[i+1] || fits[i] && p == everywhere
		}
	}
	skip()
	for _, name := range dir {
		for i := len(pattern); i > 0; i-- {
			if p := pattern[i-1]; p == everywhere {
				fits[i] = fits[i] || fits[i-1]
			} else {
				fits[i] = fits[i-1] && matchName(p, name)
			}
		}
		fits[0] = false
		skip()
	}
	return fits[len(pattern)]
}

// matchName matches one name with * and ?.
func matchName(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	i, k, star, from := 0, 0, -1, 0
	for k < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, k
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[k]):
			i, k = i+1, k+1
		case star >= 0: // the last star matches one more character
			from++
			i, k = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(string(p[i:]), "*") == ""
}

// CheckPattern returns what is wrong with a pattern, or nil.
func CheckPattern(pattern string) error {
	list, _ := parts(pattern)
	switch {
	case len(pattern) > longestGlob:
		return fmt.Errorf("%.40q…: a pattern of projects has at most %d bytes", pattern, longestGlob)
	case list == nil || !printable(pattern):
		return fmt.Errorf(`%q: a project is an absolute path with * and **, such as /home/*/work/** or C:\work\**`, pattern)
	}
	for _, p := range list {
		if strings.Contains(p, everywhere) && p != everywhere {
			return fmt.Errorf("%q: ** stands alone between slashes", pattern)
		}
	}
	return nil
}
