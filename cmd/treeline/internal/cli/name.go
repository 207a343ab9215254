package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// TitleColumns limits a title: a first prompt may be a whole file.
const TitleColumns = 120

// RowTitle returns the title of a session, or a text that says why it has none.
func RowTitle(r *place.Row) string {
	switch {
	case r.Heading() != "":
		return screen.OneLine(r.Heading(), TitleColumns)
	case r.Log.Size == 0:
		return "(empty file)"
	case r.Messages == 0:
		return "(no messages)"
	}
	return "(no title)"
}

// SessionHelp says how a session is named, in the help of every command that takes one.
const SessionHelp = "\n\n<session> is a file, a session id or the beginning of one, or @last for the newest session of the project; @last~1 is the\n" +
	"one before it. The project is this directory or, if it has no sessions, the nearest one above it in the repository.\n" +
	"AGENT:<session>, as in pi:@last, and --source AGENT select a session of that agent."

// LastHelp follows SessionHelp where the name may be left out.
const LastHelp = "\nThe default is @last."

// SessionArg returns the name of the session that a command is for.
func SessionArg(given []string) string {
	if len(given) == 0 {
		return "@last"
	}
	return given[0]
}

// EntryHelp follows SessionHelp where the name may include an entry.
const EntryHelp = "\n<session>#<entry>, as 'treeline search' prints it, selects that entry."

// SplitEntry splits session#entry at the last #. A file whose name is the whole ref takes precedence.
func SplitEntry(ref string) (name, entry string) {
	i := strings.LastIndexByte(ref, '#')
	if i <= 0 || i == len(ref)-1 {
		return ref, ""
	}
	if _, err := os.Stat(ref); err == nil {
		return ref, ""
	}
	return ref[:i], ref[i+1:]
}

// OneLeaf returns the entry from either the name or --leaf, and refuses both together.
func OneLeaf(ref, value string) (name, leaf string, err error) {
	name, entry := SplitEntry(ref)
	switch {
	case entry == "" && len(ref) > 1 && strings.HasSuffix(ref, "#") && !IsPath(ref):
		return "", "", Misused("%s: the entry after # is missing", ref)
	case entry == "":
		return name, value, nil
	case value != "":
		return "", "", Misused("%s and --leaf both name an entry", ref)
	}
	return name, entry, nil
}

// Locate returns the file of a session. A path is never looked up as an id: if the file is missing, no other session is opened in its
// place.
func (a *App) Locate(ctx context.Context, s *treeline.Store, ref string) (string, error) {
	info, err := os.Stat(ref)
	folder := err == nil && info.IsDir()
	switch {
	case folder && IsPath(ref):
		return "", folderError(ref)
	case IsPath(ref) && a.Source != "":
		return "", Misused("--source chooses among ids, and %s is a file", ref)
	case IsPath(ref):
		return s.Shown(ref), nil
	}
	row, err := a.Find(ctx, s, ref)
	if folder && errors.Is(err, place.ErrNoSession) {
		return "", folderError(ref)
	}
	return row.Path, Ambiguous(err)
}

func folderError(ref string) error {
	return fmt.Errorf("%s is a folder; 'treeline ls --all --root %s' lists the sessions in it", ref, wire.ShellLine("", nil, []string{ref}))
}

// Find returns the session with a name. If @last is a session of another directory, it says so.
func (a *App) Find(ctx context.Context, s *treeline.Store, ref string) (row place.Row, err error) {
	source, rest := a.Source, ref
	if source == "" {
		source, rest = s.SplitSource(ref)
	}
	row, err = s.FindIn(ctx, source, rest)
	if _, last := place.Last(rest); last && err == nil {
		a.NoteProject(s, row.CWD)
	}
	if !errors.Is(err, place.ErrNoSession) {
		return row, err
	}
	if name, entry := SplitEntry(rest); entry != "" {
		switch _, err := s.FindIn(ctx, source, name); {
		case err == nil:
			return row, Misused("%s names an entry; its session is %s", ref, strings.TrimSuffix(ref, "#"+entry))
		case !errors.Is(err, place.ErrNoSession):
			return row, err
		}
	}
	if agent, _, ok := strings.Cut(rest, ":"); ok && source == "" {
		return row, fmt.Errorf("%s: %q: %w", ref, agent, place.ErrUnknownSource)
	}
	return row, err
}

// AddSource adds --source to each command that takes a session, so that an id that occurs in several places can be named.
func (a *App) AddSource(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if strings.Contains(cmd.Use, "<session") && cmd.Flags().Lookup("source") == nil {
			cmd.Flags().StringVar(&a.Source, "source", "", "look for the session only in the dialect or folder `NAME`; see 'treeline sources'")
		}
	}
}

// IsPath distinguishes a file from an id: it has a slash or an extension, or it exists.
func IsPath(ref string) bool {
	if ref == "." || ref == ".." || strings.ContainsAny(ref, `/\`) || strings.HasSuffix(ref, ".jsonl") || strings.HasSuffix(ref, ".jsonl.zst") {
		return true
	}
	info, err := os.Stat(ref)
	return err == nil && !info.IsDir()
}

// Ambiguous adds the sessions to the error for an id that matches several, at most twenty, which fit on a screen. Each one has a name that
// selects it: an id, AGENT:ID if agents share the id, or else the path below it.
func Ambiguous(err error) error {
	var many *place.AmbiguousError
	if !errors.As(err, &many) {
		return err
	}
	rows := many.Rows
	place.Shorten(rows)
	named := map[string]int{} // sessions by id and by AGENT:ID
	for i := range rows {
		named[rows[i].Short]++
		named[AgentOf(rows[i].Dialect)+":"+rows[i].Short]++
	}
	var names []string
	var cells [][]string
	for i := range First(rows, 20) {
		r := &rows[i]
		name := r.Short
		if named[name] > 1 {
			name = AgentOf(r.Dialect) + ":" + name
		}
		names = append(names, name)
		cells = append(cells, append([]string{console.Dash(screen.OneLine(name, 60))}, AboutSession(r.When(), r.Dialect, RowTitle(r))...))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v:", many)
	for i, line := range console.Align(cells) {
		fmt.Fprintf(&b, "\n  %s", line)
		if named[names[i]] > 1 {
			fmt.Fprintf(&b, "\n    %s", screen.OneLine(rows[i].Path, 0))
		}
	}
	if more := len(rows) - 20; more > 0 {
		fmt.Fprintf(&b, "\n  %s and %d more", screen.Ellipsis, more)
	}
	return errors.New(b.String())
}

// AboutSession returns what helps a person to recognize a session: its age, agent and title.
func AboutSession(when time.Time, d dialect.Dialect, title string) []string {
	return []string{wire.Ago(when.Local(), time.Now()), AgentOf(d), title}
}

// AgentOf returns the name of a log's dialect, which is unknown if the log could not be read.
func AgentOf(d dialect.Dialect) string {
	if d == nil {
		return "?"
	}
	return d.Name()
}

// LeafOf finds an entry by its id, a prefix of it, or its end as the terminal shows it. "none" is the position before the first entry; ""
// is the session's leaf.
func LeafOf(s *store.Session, name string) (session.EntryID, error) {
	t := s.Tree()
	switch name {
	case "":
		return t.LeafID(), nil
	case "none":
		return "", nil
	}
	if e, ok := t.Lookup(session.EntryID(name)); ok {
		return e.ID, nil
	}
	fits := fitting(t, func(id string) bool { return strings.HasPrefix(id, name) })
	if len(fits) == 0 && len(name) >= shortid.Least {
		fits = fitting(t, func(id string) bool { return strings.HasSuffix(id, name) })
	}
	switch len(fits) {
	case 0:
		_, err := t.Get(session.EntryID(name))
		return "", fmt.Errorf("%s: %w; 'treeline tree' shows the ids", s.Path(), err)
	case 1:
		return session.EntryID(fits[0]), nil
	}
	return "", fmt.Errorf("%s: %q matches several entries: %s", s.Path(), name, strings.Join(fits, ", "))
}

// fitting returns the ids of matching entries, each once, and at most nine.
func fitting(t *session.Tree, fits func(id string) bool) (ids []string) {
	for e := range t.Entries() {
		if id := string(e.ID); fits(id) && !slices.Contains(ids, id) {
			if ids = append(ids, id); len(ids) > 8 {
				break
			}
		}
	}
	return ids
}

// EntryOf is LeafOf for commands that require an entry.
func EntryOf(s *store.Session, name string) (session.EntryID, error) {
	if name == "" || name == "none" {
		return "", fmt.Errorf("%s: an entry is needed, not %q", s.Path(), name)
	}
	return LeafOf(s, name)
}
