package tui

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// filter is the filter of the list of sessions: the typed text, and what keys have chosen.
type filter struct {
	text    string
	agent   string // "" is all
	project string // "" is all
	span    int    // index in spans
	order   int    // index in place.Orders
}

// spans are the time spans that a key cycles through.
var spans = []struct {
	name string
	days int
}{{"any time", 0}, {"last day", 1}, {"last 7 days", 7}, {"last 30 days", 30}}

// orderWords has the words for place.Orders.
var orderWords = map[place.Order]string{
	place.OrderWhen: "by last use", place.OrderCreated: "by creation", place.OrderSize: "by size", place.OrderMessages: "by messages",
	place.OrderTokens: "by tokens", place.OrderCost: "by cost", place.OrderTitle: "by title", place.OrderProject: "by project",
}

// none reports whether everything passes the filter.
func (f *filter) none() bool {
	return strings.TrimSpace(f.text) == "" && f.agent == "" && f.project == "" && f.span == 0
}

// asked is a filter whose text has been parsed.
type asked struct {
	words                 []string // in lower case; all must occur
	agent, project, model string   // in lower case; prefix of the agent's name, and parts of the other fields
	exact                 filter
	since, until          time.Time
	has                   index.Has
	wrong                 string // an invalid word
}

// pending reports whether a word is a key whose value has not been typed yet. It lets everything through.
func pending(word string) bool {
	key, value, ok := strings.Cut(word, ":")
	return ok && value == "" && slices.Contains([]string{"agent", "project", "model", "since", "until", "has"}, strings.ToLower(key))
}

// read parses the text. agent:omp, project:shop, model:opus, since:7d, until:2026-11-01 and has:label stand for the flags of 'treeline ls';
// other words may occur anywhere.
func (f *filter) read(now time.Time) asked {
	q := asked{exact: *f}
	if days := spans[f.span].days; days > 0 {
		q.since = now.AddDate(0, 0, -days)
	}
	for _, word := range strings.Fields(f.text) {
		low := strings.ToLower(word)
		key, value, _ := strings.Cut(low, ":")
		var err error
		ok := true
		switch {
		case pending(low):
		case value == "":
			q.words = append(q.words, low)
		case key == "agent":
			q.agent = value
		case key == "project":
			q.project = value
		case key == "model":
			q.model = value
		case key == "since":
			var at time.Time
			if at, err = wire.ParseWhen(value, now, false); err == nil && at.After(q.since) {
				q.since = at
			}
		case key == "until":
			q.until, err = wire.ParseWhen(value, now, true)
		case key == "has":
			var h index.Has
			h, ok = index.ParseHas(value)
			q.has |= h
		default:
			q.words = append(q.words, low)
		}
		if err != nil || !ok {
			q.wrong = word
		}
	}
	return q
}

// inText reports whether the haystack of a row has all words.
func (q *asked) inText(text string) bool {
	return !slices.ContainsFunc(q.words, func(w string) bool { return !strings.Contains(text, w) })
}

// looks reports whether there are conditions other than words.
func (q *asked) looks() bool {
	return q.exact.agent+q.exact.project+q.agent+q.project+q.model != "" || !q.since.IsZero() || !q.until.IsZero() || q.has != 0
}

// fits reports whether a row meets the conditions other than words.
func (q *asked) fits(r *treeline.Row) bool {
	switch when := r.When(); {
	case q.exact.agent != "" && r.Dialect.Name() != q.exact.agent,
		q.exact.project != "" && r.CWD != q.exact.project,
		q.agent != "" && !strings.HasPrefix(r.Dialect.Name(), q.agent),
		q.project != "" && !strings.Contains(strings.ToLower(r.CWD), q.project),
		!q.since.IsZero() && when.Before(q.since),
		!q.until.IsZero() && !when.Before(q.until):
		return false
	}
	if q.has == 0 && q.model == "" {
		return true
	}
	return r.Known != nil && r.Known.Has&q.has == q.has &&
		(q.model == "" || slices.ContainsFunc(r.Known.Models, func(m string) bool { return strings.Contains(strings.ToLower(m), q.model) }))
}

// haystack returns the text of a row that is searched for words.
func haystack(r *treeline.Row) string {
	parts := []string{r.Heading(), r.CWD, r.Dialect.Name(), string(r.ID)}
	if r.Known != nil {
		parts = append(parts, r.Known.Models...)
	}
	return strings.ToLower(strings.Join(parts, "\n"))
}

// store returns the filter for pages of an archive, where words are a pattern of the title.
func (q *asked) store() treeline.Filter {
	f := treeline.Filter{Source: q.exact.agent, CWD: q.exact.project, Since: q.since, Until: q.until, Model: q.model, Has: q.has}
	if f.Source == "" {
		f.Source = q.agent
	}
	if len(q.words) > 0 {
		f.Title = "*" + strings.Join(q.words, "*") + "*"
	}
	return f
}

// inProject returns the condition of project:, or nil. It is passed to an archive.
func (q *asked) inProject() func(cwd string) bool {
	if q.project == "" {
		return nil
	}
	return func(cwd string) bool { return strings.Contains(strings.ToLower(cwd), q.project) }
}

// command returns the ls command with the same list, or "" if there is none.
func (f *filter) command() string {
	words := []string{"treeline ls --all"}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, flag+" "+wire.ShellLine("", nil, []string{value}))
		}
	}
	if f.project != "" {
		words[0] = "treeline ls"
		add("--cwd", f.project)
	}
	add("--source", f.agent)
	if days := spans[f.span].days; days > 0 {
		add("--since", map[int]string{1: "1d", 7: "7d", 30: "30d"}[days])
	}
	var text []string
	for _, word := range strings.Fields(f.text) {
		key, value, _ := strings.Cut(word, ":")
		switch key = strings.ToLower(key); {
		case pending(word):
		case value == "":
			text = append(text, word)
		case key == "agent":
			add("--source", value)
		case key == "project":
			return "" // --cwd needs a whole path
		case slices.Contains([]string{"model", "since", "until", "has"}, key):
			add("--"+key, value)
		default:
			text = append(text, word)
		}
	}
	if len(text) > 0 {
		add("--title", "*"+strings.Join(text, "*")+"*")
	}
	if by := place.Orders[f.order]; by != place.OrderWhen {
		add("--sort", string(by))
	}
	return strings.Join(words, " ")
}

// projectName returns the last element of a working directory, of any operating system.
func projectName(cwd string) string {
	if cwd == "" {
		return "-"
	}
	return path.Base(strings.ReplaceAll(cwd, `\`, "/"))
}
