package wire

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// Resume is the command that continues a session. command is a line for the shell; args, env (NAME=value) and cwd are its
// parts. cwd is "" if the command may be started anywhere. id, path, dialect and leafId are those of the session that it
// continues. madeFrom is the session that this one was made from, conversion what became of it if it was converted, and holders
// are programs that have it open for writing; they are absent otherwise.
type Resume struct {
	Command    string           `json:"command"`
	Args       []string         `json:"args"`
	Env        []string         `json:"env"`
	CWD        string           `json:"cwd"`
	ID         session.ID       `json:"id"`
	Path       string           `json:"path"`
	Dialect    string           `json:"dialect"`
	LeafID     *session.EntryID `json:"leafId"`
	From       string           `json:"madeFrom,omitempty"`
	Holders    []string         `json:"holders,omitempty"`
	Conversion *Conversion      `json:"conversion,omitempty"`

	Problems []session.Problem `json:"problems,omitempty"`
}

// Resumed is the session that a command continues.
type Resumed struct {
	ID      session.ID
	Path    string
	Dialect dialect.Dialect
	Leaf    session.EntryID
	From    string
	Holders []string
	Report  *convert.Report // nil where it was not converted
	// Problems say what the old session's program does not show the model.
	Problems []session.Problem
}

// NewResume returns the command, which must be started in dir; "" means anywhere.
func NewResume(l dialect.Launch, dir string, of Resumed) Resume {
	r := Resume{
		Command: ShellLine(dir, l.Env, l.Args), Args: l.Args, Env: append([]string{}, l.Env...), CWD: dir,
		ID: of.ID, Path: of.Path, Dialect: of.Dialect.Name(), LeafID: optional(of.Leaf), From: of.From, Holders: of.Holders,
		Problems: of.Problems,
	}
	if of.Report != nil {
		c := NewConversion(*of.Report)
		r.Conversion = &c
	}
	return r
}

// ShellLine formats a command for the shell of this system. The command runs in dir, unless that is "", with env (NAME=value) added to its
// environment.
func ShellLine(dir string, env, args []string) string {
	spell := posix
	if runtime.GOOS == "windows" {
		spell = cmdExe
	}
	return spell.line(dir, env, args)
}

// shell has the quoting rules of a shell.
type shell struct {
	cd string
	// set formats a variable and its value, which it quotes by rules of its own.
	set   func(name, value string) string
	quote func(word string) string
	plain string // characters that need no quotes, besides letters and digits
}

var (
	posix = shell{
		cd: "cd", plain: "%+,-./:=@_",
		set:   func(name, value string) string { return name + "=" + value },
		quote: quotePosix,
	}
	// cmdExe is the shell of Windows. No path has a double quote there.
	cmdExe = shell{
		cd: "cd /d", plain: `+-./:\@_`,
		set:   func(name, value string) string { return "set " + name + "=" + value + "&&" },
		quote: func(word string) string { return `"` + strings.ReplaceAll(word, `"`, `\"`) + `"` },
	}
)

// quotePosix quotes a word so that it stays on one line and is safe for a terminal. Escapes need the quotes of POSIX 2024, which bash, zsh
// and ksh understand.
func quotePosix(word string) string {
	if screen.Clean(word) == word && !strings.Contains(word, "\n") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, c := range []byte(word) {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\'' || c == '\\':
			b.Write([]byte{'\\', c})
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}

func (s shell) line(dir string, env, args []string) string {
	var words []string
	if dir != "" {
		words = append(words, s.cd, s.word(dir), "&&")
	}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		words = append(words, s.set(name, s.word(value)))
	}
	for _, arg := range args {
		words = append(words, s.word(arg))
	}
	return strings.Join(words, " ")
}

// word quotes a word if necessary.
func (s shell) word(word string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(s.plain, r)
	}
	if word != "" && strings.IndexFunc(word, special) < 0 {
		return word
	}
	return s.quote(word)
}
