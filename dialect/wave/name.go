package wave

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/dialect"
)

// The name of a project's folder is made from the path of its working directory. Neither rule can be reversed: "/a/b" and
// "/a-b" have the same name.

const (
	maxName  = 200 // in characters; in the program UTF-16 units
	maxBytes = 255 // the limit of file systems
	hashSize = 8   // hex digits of the hash after a name that was cut
)

// resolve returns the working directory as Wave sees it: absolute, with links resolved if it exists.
func resolve(env dialect.Env, cwd string) string {
	cwd = env.Abs(cwd, true)
	if real, err := env.Realpath(cwd); err == nil {
		return real
	}
	return cwd
}

// pathHash tells apart names that would be the same: the first digits of the path's SHA-256.
func pathHash(resolved string) string {
	sum := sha256.Sum256([]byte(resolved))
	return hex.EncodeToString(sum[:])[:hashSize]
}

// withoutDrive removes a drive letter, on every system, like the program.
func withoutDrive(p string) string {
	if len(p) >= 2 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z' {
		return p[2:]
	}
	return p
}

// programName is the rule of today's program for a resolved path: one leading separator is removed, the others become
// hyphens, and runs of white space an underscore. A name of more than 200 UTF-16 units is cut after 191 and gets a hash. The
// root has the empty name: its sessions are directly in projects.
//
// The program counts units, not bytes, so some of its names are too long for a file system and it cannot create the
// folder. These are cut as well: no program looks for them.
func programName(resolved string) string {
	p := withoutDrive(resolved)
	if p != "" && (p[0] == '/' || p[0] == '\\') {
		p = p[1:]
	}
	var name strings.Builder
	space := false
	for _, r := range p {
		switch {
		case dialect.JSSpace(r):
			if !space {
				name.WriteByte('_')
			}
		case r == '/' || r == '\\':
			name.WriteByte('-')
		case r == 0:
			name.WriteByte('_')
		default:
			name.WriteRune(r)
		}
		space = dialect.JSSpace(r)
	}
	plain := name.String()
	if units := utf16.Encode([]rune(plain)); len(units) > maxName {
		plain = string(utf16.Decode(units[:maxName-hashSize-1])) + "-" + pathHash(resolved)
	}
	if len(plain) > maxBytes {
		plain = cutBytes(plain, maxBytes-hashSize-1) + "-" + pathHash(resolved)
	}
	return plain
}

// cutBytes cuts a text between characters so that it has at most n bytes.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// documentName is the rule of the document for a resolved path: every separator becomes a hyphen, including the leading one;
// letters, digits, hyphens and underscores of ASCII stay, and everything else becomes an underscore.
func documentName(resolved string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r == '/' || r == '\\':
			return '-'
		case safe(r):
			return r
		}
		return '_'
	}, withoutDrive(resolved))
	if !strings.HasPrefix(plain, "-") {
		plain = "-" + plain
	}
	if len(plain) > maxName {
		return hashed(plain, resolved)
	}
	return plain
}

// hashed appends the hash of a path to an ASCII name, which is cut to make room.
func hashed(plain, resolved string) string {
	return plain[:min(len(plain), maxName-hashSize-1)] + "-" + pathHash(resolved)
}

func safe(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// encodes reports whether the sessions of a directory are in the folder of that name: the plain name or, after a collision,
// the one with the hash.
func (l layout) encodes(resolved, name string) bool {
	plain := l.rule(resolved)
	return plain == name || l.document && hashed(plain, resolved) == name
}

// lookups limits how many folders the search for a working directory may read. If they do not suffice, the answer is
// "several".
const lookups = 2000

// existing returns the only directory on this machine whose sessions would be in the folder of that name; "" if there is
// none or more than one. It searches from the root down, only where the name agrees with the path so far: usually a handful
// of folders.
func (l layout) existing(env dialect.Env, name string) (dir string, several bool) {
	if env.Folders == nil {
		return "", false
	}
	f := finder{layout: l, env: env, name: name, left: lookups}
	if cut := len(name) - hashSize - 1; cut > 0 && name[cut] == '-' && isHex(name[cut+1:]) && cut >= maxName-hashSize-1 {
		f.lead = strings.TrimRight(name[:cut], "\ufffd") // the cut may leave half a character
	}
	f.walk(string(filepath.Separator))
	if len(f.found) != 1 || f.left < 0 {
		return "", len(f.found) > 1 || f.left < 0
	}
	return f.found[0], false
}

// finder searches for the directories of one name.
type finder struct {
	layout
	env  dialect.Env
	name string
	// lead is the beginning of a name that was cut, "" for other names. What follows the cut does not help the search.
	lead  string
	found []string
	left  int // how many more folders may be read
}

// walk searches below a directory. Two results are enough to know that the name is ambiguous.
func (f *finder) walk(dir string) {
	if f.encodes(dir, f.name) {
		f.found = append(f.found, dir)
	}
	if f.left--; f.left < 0 || len(f.found) > 1 {
		return
	}
	below, err := f.env.Folders(dir)
	if err != nil {
		return
	}
	for _, name := range below {
		next := filepath.Join(dir, name)
		if !f.leads(next) {
			continue
		}
		if real, err := f.env.Realpath(next); err == nil && real == next { // not through links: their target has its own path
			f.walk(next)
		}
	}
}

// leads reports whether a directory, or one below it, may have the name. A name that was cut can only be compared up to the
// cut.
func (f *finder) leads(dir string) bool {
	plain := f.rule(dir)
	return plain == f.name || strings.HasPrefix(f.name, plain+"-") || f.lead != "" && strings.HasPrefix(plain, f.lead)
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}
