package finding

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

type searchFlags struct {
	in []string
	cli.SpanFlags
	source, cwd   string
	label         string
	regexp, exact bool
	rank          bool
	cli.LimitFlag
}

// Search searches all sessions and runs. Like grep, it exits with 1 if it finds nothing.
func Search(a *cli.App) *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:        "search <query>",
		SuggestFor: []string{"grep", "find", "rg", "query"},
		Short:      "Find entries in all sessions",
		Long: "Search messages, thinking, tool calls and results of all agents, and labels, titles, summaries and run logs, newest\n" +
			"first. All words must occur in one entry, in any order; case is ignored.\n\n" +
			"  word          a whole word: header finds parse_header, parseHeader and HTTPHeader, but not headers\n" +
			"  \"a phrase\"    these words in this order, with any white space between them\n" +
			"  head*         words that begin with head;  *head*  anywhere, even inside words\n" +
			"  -word         entries without the word;  -\"a phrase\" without the phrase\n\n" +
			"A word may contain anything but white space (foo_bar.go/x). Characters of scripts without spaces (你好) match anywhere.\n" +
			"If no entry has the whole words, they are searched inside other words, and a message says so. Quote the query for the\n" +
			"shell. Put -- before a query that begins with a minus.\n\n" +
			"With --label, the query may be left out: every entry with the label is a hit. --label '*' lists all labelled entries.\n\n" +
			"A hit is printed as session#entry, which show, tree, context, resume, convert, fork, branch, label and export accept.\n" +
			"The exit code is 0 if something was found, 1 if nothing was, 2 for an invalid query.",
		Example: "  treeline search 'race condition'\n  treeline search '\"connection reset\" -retry' --in tool --since 7d\n" +
			"  treeline search 'parse*' --in user,assistant --source omp\n  treeline search --regexp 'TODO\\(\\w+\\)' --limit 100 --json\n" +
			"  treeline search --label decision",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 && f.label != "" {
				return nil
			}
			return cli.Args("<query>…")(cmd, given) // all arguments together
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 { // every entry with the label
				f.regexp, args = true, []string{"^"}
			}
			return search(a, cmd, strings.Join(args, " "), &f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.in, "in", nil, "search only these `PARTS` of entries: "+strings.Join(PartWords, ", "))
	flags.StringVar(&f.source, "source", "", "only sessions of the dialect or folder `NAME`; see 'treeline sources'")
	flags.StringVar(&f.cwd, "cwd", "", "only sessions of the directory `DIR`")
	f.SpanFlags.Add(cmd, "only entries", "only entries")
	flags.StringVar(&f.label, "label", "", "only entries with the label `NAME`, in any case; '*' for any label")
	flags.BoolVarP(&f.regexp, "regexp", "E", false, "the query is a regular expression (RE2)")
	flags.BoolVar(&f.exact, "case", false, "distinguish upper and lower case")
	flags.BoolVar(&f.rank, "rank", false, "best match first (BM25) instead of newest first")
	f.LimitFlag.Add(cmd, "hits")
	a.AddJSON(cmd)
	// The parser takes a query such as -retry for flags.
	cmd.SetFlagErrorFunc(func(at *cobra.Command, err error) error {
		return cli.Misused("%w; put -- before a query that begins with a minus", cli.FlagError(at, err))
	})
	return cmd
}

// PartWords are the values of --in.
var PartWords = []string{"user", "assistant", "tool", "thinking", "other", "all"}

// partField returns the field for a value of --in.
func partField(word string) (query.Field, error) {
	field, ok := query.ParseField(word)
	if !ok {
		return 0, cli.Invalid("in", word, cli.AnyOf(PartWords))
	}
	return field, nil
}

// options checks the flags and converts them to options of the store.
func (f *searchFlags) options(now time.Time) (opt find.Options, err error) {
	opt = find.Options{
		Regexp: f.regexp, Case: f.exact, Source: f.source, Rank: f.rank,
		Labelled: f.label != "", Label: f.label,
	}
	if f.label == "*" { // any
		opt.Label = ""
	}
	for _, word := range f.in {
		field, err := partField(word)
		if err != nil {
			return opt, err
		}
		opt.Fields |= field
	}
	opt.Since, opt.Until, err = f.Parse(now)
	return opt, err
}

func search(a *cli.App, cmd *cobra.Command, query string, f *searchFlags) error {
	opt, err := f.options(a.Now())
	if err != nil {
		return err
	}
	if f.cwd != "" {
		if opt.CWD, err = a.ListDir(f.cwd); err != nil {
			return err
		}
	}
	most, err := f.Most(a, cmd)
	if err != nil {
		return err
	}
	opt.Limit = most
	if _, isTerminal := console.Width(a.Stdout); most > 0 && isTerminal && !a.JSON {
		opt.Limit = max(most, cli.CountedRows) // so that the total can be shown
	}
	opt.Problem = a.Unread
	s, err := a.Store()
	if err != nil {
		return err
	}
	show := a.Progress("reading sessions")
	opt.Progress = cli.LogsRead(show)
	cli.EaseCollection()
	res, err := s.Search(cmd.Context(), query, opt)
	show.Clear()
	var none *find.QueryError
	switch {
	case errors.As(err, &none):
		return cli.Misused("%w", err)
	case err != nil:
		return err
	}
	if res.Substring {
		a.Notice("no whole-word matches; showing substring matches")
	}
	err = a.PageLong(cmd.Context(), true, func(out *console.Output) error {
		if a.JSON {
			return wire.Write(out, wire.NewSearchResult(res, f.regexp))
		}
		shown := cli.First(res.Hits, most)
		printHits(out, shown, a.Tilde())
		out.Summary(len(shown), len(res.Hits), res.More, "hit", "hits")
		return nil
	})
	if res.Nothing {
		nothingHere(a, s)
	}
	if err == nil && len(res.Hits) == 0 {
		return errors.New("nothing found")
	}
	return err
}

// printHits prints hits as text: a line with the place, then the snippet. It never cuts the reference.
func printHits(out *console.Output, hits []find.Hit, home string) {
	st := out.Style
	for i := range hits {
		h := &hits[i]
		speaker := hitSpeaker(h)
		if h.Run != nil {
			speaker = "run · " + speaker
		}
		when, label, branch := "", "", ""
		if at, ok := h.Time.Time(); ok {
			when = out.When(at)
		}
		if h.Label != "" {
			label = "[" + screen.OneLine(h.Label, 40) + "]"
		}
		if !h.OnPath {
			branch = "abandoned branch"
		}
		console.Table{
			{Mark: st.Yellow}, {Mark: st.Cyan, Drop: 5}, {Drop: 4}, {Least: console.LeastProject, Drop: 2},
			{Mark: st.Red, Drop: 3}, {Mark: st.Dim, Least: console.LeastTitle, Drop: 1},
		}.Line(out, "", wire.HitRef(h, true), speaker, when, label, branch, hitPlace(h, home))
		for _, line := range marked(st, h.Snippet, h.Marks, out.Width-len(snippetIndent)) {
			fmt.Fprintln(out, snippetIndent+line)
		}
	}
}

const snippetIndent = "    "

// hitSpeaker returns the source of a hit's text.
func hitSpeaker(h *find.Hit) string {
	switch {
	case h.Field == query.FieldThinking:
		return "thinking"
	case h.Field == query.FieldTool && h.Role == session.RoleAssistant:
		return "tool call"
	case h.Role != session.RoleNone:
		return h.Role.String()
	}
	return screen.OneLine(strings.ReplaceAll(h.Type, "_", " "), 40)
}

// hitPlace returns the directory and title of a session, or the directory of a run.
func hitPlace(h *find.Hit, home string) string {
	if h.Run != nil {
		return wire.Tilde(screen.OneLine(h.Run.CWD(), 60), home)
	}
	words := []string{wire.Tilde(screen.OneLine(h.Session.CWD, 60), home), screen.OneLine(h.Session.Heading(), 60)}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " · ")
}

// marked marks the matches, in colour or with « and », and wraps the text if width is not 0. Marks are byte offsets in the snippet. Each
// piece is cleaned separately, since cleaning changes lengths.
func marked(st console.Style, text string, marks [][2]int, width int) []string {
	var b strings.Builder
	var at int
	var cleaned [][2]int // the marks as offsets in the cleaned text
	for _, m := range marks {
		b.WriteString(screen.Clean(text[at:m[0]]))
		from, word := b.Len(), screen.Clean(text[m[0]:m[1]])
		if st.On {
			b.WriteString(word)
			cleaned = append(cleaned, [2]int{from, b.Len()})
		} else {
			b.WriteString("«" + word + "»")
		}
		at = m[1]
	}
	b.WriteString(screen.Clean(text[at:]))
	all := b.String()
	if width > 0 {
		width = max(width, console.LeastTitle)
	}
	var lines []string
	at = 0
	for _, line := range screen.Wrap(all, width) {
		i := strings.Index(all[at:], line) // after the space where the line was broken
		if i < 0 {                         // indented, which snippets are not
			return []string{markLine(st, all, 0, len(all), cleaned)}
		}
		at += i
		lines = append(lines, markLine(st, all, at, at+len(line), cleaned))
		at += len(line)
	}
	return lines
}

// markLine colours one line of a text. A mark may span lines.
func markLine(st console.Style, text string, from, to int, marks [][2]int) string {
	var b strings.Builder
	for _, m := range marks {
		first, last := max(m[0], from), min(m[1], to)
		if first >= last {
			continue
		}
		b.WriteString(text[from:first])
		b.WriteString(st.Mark("1;31", text[first:last]))
		from = last
	}
	return b.String() + text[from:to]
}
