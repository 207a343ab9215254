package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// searchFlags are the flags of search.
type searchFlags struct {
	in            []string
	source, cwd   string
	since, until  string
	label         string
	regexp, exact bool
	rank, json    bool
	limit         int
}

// anyLabel is what --label takes for all labels.
const anyLabel = "*"

// searchCommand looks through everything there is, so that nobody needs to know where he said something. Like grep
// it exits with 1 where nothing was found. What is printed first on each line can be given to 'show' as it stands.
func (a *app) searchCommand() *cobra.Command {
	var f searchFlags
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find entries in all sessions",
		Long: "Find what was said, thought, called and answered in the sessions of all agents, newest first: also labels, titles,\n" +
			"summaries, and the logs of runs. All words must occur in one entry, in any order and any case.\n\n" +
			"  word          as a word: header finds parse_header, parseHeader and HTTPHeader, and not headers\n" +
			"  \"a phrase\"    these words one behind the other, with any white space between them\n" +
			"  head*         words that begin so;  *head*  anywhere, inside of words too\n" +
			"  -word         entries without it;  -\"a phrase\" likewise\n\n" +
			"Words may hold anything but white space (foo_bar.go/x). Characters of scripts without spaces (你好) are found\n" +
			"anywhere. Where nothing is found, the words are looked for inside of others, and that is said.\n" +
			"Put the query into quotes, or behind --, where the shell or a minus is in the way.\n\n" +
			"A hit is printed as session#entry, which 'show', 'tree', 'context', 'fork', 'branch' and 'label' take. The exit code is\n" +
			"0 where something was found, 1 where nothing was, 2 for a query that is none.",
		Example: "  treeline search 'race condition'\n  treeline search '\"connection reset\" -retry' --in tool --since 7d\n" +
			"  treeline search 'parse*' --in user,assistant --source omp\n  treeline search --regexp 'TODO\\(\\w+\\)' --limit 100 --json",
		// Words need no quotes: all arguments together are the query.
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				return usageError{errors.New("QUERY is missing"), cmd}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.search(cmd, strings.Join(args, " "), &f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.in, "in", nil, "look only at what these `PARTS` of entries say: "+strings.Join(partWords, ", "))
	flags.StringVar(&f.source, "source", "", "only sessions of the dialect or folder `NAME`; see 'treeline sources'")
	flags.StringVar(&f.cwd, "cwd", "", "only sessions of the directory `DIR`")
	flags.StringVar(&f.since, "since", "", "only entries since `WHEN`: "+whenHelp)
	flags.StringVar(&f.until, "until", "", "only entries up to `WHEN`; a date is included")
	flags.StringVar(&f.label, "label", "", "only entries with the label `NAME`, whatever its case; '*' for any label")
	flags.BoolVarP(&f.regexp, "regexp", "E", false, "the query is a regular expression (RE2)")
	flags.BoolVar(&f.exact, "case", false, "upper and lower case are different")
	flags.BoolVar(&f.rank, "rank", false, "best first, not newest: where the words are rare, and frequent in a short entry (BM25)")
	flags.IntVarP(&f.limit, "limit", "n", 20, "print no more than `N` hits; 0 for all")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	// A query like -retry is taken for flags by the parser, and its complaint would not help.
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; a query that begins with a minus goes behind --", flagError(err)), cmd}
	})
	return cmd
}

// partWords are what --in takes.
// Their order is that of the bits of query.Field; see partField.
var partWords = []string{"user", "assistant", "tool", "thinking", "other", "all"}

// partField gives the field that a word of --in stands for.
func partField(word string) (query.Field, error) {
	i := slices.Index(partWords, word)
	switch {
	case i < 0:
		return 0, fmt.Errorf("--in takes some of %s, not %q", strings.Join(partWords, ", "), word)
	case word == "all":
		return query.FieldAll, nil
	}
	return 1 << i, nil
}

// options makes of the flags what the store understands.
func (f *searchFlags) options(now time.Time) (opt store.SearchOptions, err error) {
	opt = store.SearchOptions{
		Regexp: f.regexp, Case: f.exact, Source: f.source, Rank: f.rank, Limit: f.limit,
		Labelled: f.label != "", Label: f.label,
	}
	if f.label == anyLabel {
		opt.Label = ""
	}
	for _, word := range f.in {
		field, err := partField(word)
		if err != nil {
			return opt, err
		}
		opt.Fields |= field
	}
	if f.limit < 0 {
		return opt, errors.New("--limit is less than nothing")
	}
	opt.Since, opt.Until, err = parseSpan(f.since, f.until, now)
	return opt, err
}

func (a *app) search(cmd *cobra.Command, query string, f *searchFlags) error {
	opt, err := f.options(time.Now())
	if err == nil && f.label == "" && cmd.Flags().Changed("label") {
		err = errors.New("--label is empty; '*' is any label")
	}
	if err == nil {
		err = noneEmpty(cmd)
	}
	if err != nil {
		return usageError{err, cmd}
	}
	// Without --cwd all directories are searched, unlike in ls: one searches because one does not know where.
	if f.cwd != "" {
		if opt.CWD, err = a.listDir(f.cwd, false); err != nil {
			return err
		}
	}
	opt.Problem = func(err error) { a.notice(err.Error()) }
	s, err := a.store()
	if err != nil {
		return err
	}
	// Bringing the index up to date may take long the first time; after that only what changed is read.
	show := a.newProgress("reading sessions", 0)
	opt.Progress = show.read
	easeCollection()
	res, err := s.Search(cmd.Context(), query, opt)
	show.clear()
	var none *store.QueryError
	switch {
	case errors.As(err, &none), errors.Is(err, store.ErrUnknownSource):
		return usageError{err, cmd}
	case err != nil:
		return err
	}
	if res.Substring {
		fmt.Fprintln(a.stderr, "treeline: no such words; these are parts of others")
	}
	// A pager is used because hits are read from the top; --json goes the same way and gets none where stdout is
	// no terminal.
	err = a.page(cmd.Context(), func(ctx context.Context, out *output) error {
		if f.json {
			return searchJSON(out, res, f.regexp)
		}
		printHits(out, res.Hits, a.home())
		return nil
	})
	if res.More && !f.json {
		fmt.Fprintf(a.stderr, "treeline: there are more; --limit shows them\n")
	}
	if res.Nothing {
		a.nothingHere()
	}
	if err == nil && len(res.Hits) == 0 {
		return errors.New("nothing found")
	}
	return err
}

// searchResultJSON is the answer for programs.
// It and hitJSON are stable formats. Lists are never null.
type searchResultJSON struct {
	// Matched says how: "words", "substring" where they were found inside of words only, or "regexp".
	Matched string    `json:"matched"`
	More    bool      `json:"more"`
	Hits    []hitJSON `json:"hits"`
}

// hitJSON is a hit for programs.
// session is null for a run, entry null for a session's title or header. active is false on an abandoned branch;
// label, line, dialect and score are absent where they have nothing to say.
type hitJSON struct {
	Ref     string           `json:"ref"`
	Session *session.ID      `json:"session"`
	Entry   *session.EntryID `json:"entry"`
	Run     string           `json:"run,omitempty"`
	Line    int              `json:"line,omitempty"`
	Path    string           `json:"path"`
	Dialect string           `json:"dialect,omitempty"`
	CWD     string           `json:"cwd"`
	Title   string           `json:"title"`
	Kind    string           `json:"kind"`
	Type    string           `json:"type"`
	Role    *string          `json:"role"`
	Time    *string          `json:"time"`
	Label   string           `json:"label,omitempty"`
	Active  bool             `json:"active"`
	// Field says whose words the snippet shows.
	Field   string `json:"field"`
	Snippet string `json:"snippet"`
	// Marks are the places in Snippet that match, [from, to), counted in characters (Unicode code points).
	Marks [][2]int `json:"marks"`
	Score *float64 `json:"score,omitempty"`
}

func searchJSON(out *output, res *store.SearchResult, regexp bool) error {
	j := searchResultJSON{Matched: "words", More: res.More, Hits: make([]hitJSON, 0, len(res.Hits))}
	switch {
	case res.Substring:
		j.Matched = "substring"
	case regexp:
		j.Matched = "regexp"
	}
	for i := range res.Hits {
		j.Hits = append(j.Hits, newHitJSON(&res.Hits[i]))
	}
	return writeJSON(out, j)
}

func newHitJSON(h *store.SearchHit) hitJSON {
	j := hitJSON{
		Ref: hitRef(h, false), Kind: h.Kind.String(), Type: h.Type, Time: utc(h.Time), Label: h.Label, Active: h.OnPath,
		Field: h.Field.String(), Snippet: h.Snippet, Marks: make([][2]int, 0, len(h.Marks)),
	}
	// Offsets in Go are bytes; programs in most other languages count characters.
	for _, m := range h.Marks {
		from := utf8.RuneCountInString(h.Snippet[:m[0]])
		j.Marks = append(j.Marks, [2]int{from, from + utf8.RuneCountInString(h.Snippet[m[0]:m[1]])})
	}
	if role := h.Role.String(); role != "" {
		j.Role = &role
	}
	if h.Score != 0 {
		j.Score = &h.Score
	}
	if r := h.Run; r != nil {
		j.Run, j.Line, j.Path, j.CWD, j.Title, j.Kind = r.Header.RunID, h.Line, r.Path, r.CWD(), r.Prompt, "run"
		return j
	}
	r := h.Session
	j.Session, j.Path, j.Dialect, j.CWD, j.Title = &r.ID, r.Path, r.Dialect.Name(), r.CWD, r.Heading()
	if h.Entry == "" {
		j.Kind = "session"
	} else {
		j.Entry = &h.Entry
	}
	return j
}
