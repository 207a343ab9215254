package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// MaxLimit is the largest Limit of a Query.
const MaxLimit = 1000

// Query selects prompts.
type Query struct {
	// Text is a list of words. Each must be the beginning of a word of the prompt; a word with punctuation stands for its
	// parts in a row. Without words all prompts match.
	Text string
	// Anywhere lets words match anywhere in a prompt, also inside words, for languages without spaces. It reads prompts one
	// by one.
	Anywhere bool
	// CWD, if set, selects the prompts that were typed in that directory.
	CWD string
	// Also, if set, is called for prompts of other directories than CWD; true selects them as well. See Places.In.
	Also func(Prompt) bool
	// Limit is how many prompts are wanted, from 1 to MaxLimit; other values are clamped. All lifts the limit.
	Limit int
	All   bool
}

const (
	columns     = `h.id, h.prompt, h.created_at, h.cwd`
	newestFirst = ` ORDER BY h.created_at DESC, h.id DESC`
)

// Search returns the matching prompts, newest first.
func (h *History) Search(ctx context.Context, q Query) ([]Prompt, error) {
	for {
		h.mu.RLock()
		if h.done {
			h.mu.RUnlock()
			return nil, ErrClosed
		}
		list, err := h.search(ctx, q)
		seen := h.seen
		h.mu.RUnlock()
		if again, lookErr := h.lookAgain(ctx, seen); !again {
			return list, errors.Join(err, lookErr)
		}
	}
}

func (h *History) search(ctx context.Context, q Query) ([]Prompt, error) {
	a := newQuestion(q)
	if a.indexed && !h.foreign && !q.All {
		if list, ok, err := h.amongNewest(ctx, a); ok || err != nil {
			return list, h.explain(err)
		}
	}
	list, err := h.ask(ctx, a)
	if err != nil || len(list) > 0 || !a.indexed {
		return list, h.explain(err)
	}
	return nil, h.indexed(ctx)
}

// question is a query in SQL.
type question struct {
	from    string
	where   []string
	args    []any
	limit   int
	keep    func(Prompt) bool // conditions that are not in the SQL; may be nil
	indexed bool              // the query uses the text index
}

func newQuestion(q Query) question {
	a := question{from: `SELECT ` + columns + ` FROM history h`, limit: min(max(q.Limit, 1), MaxLimit), keep: q.filter()}
	if q.All {
		a.limit = math.MaxInt32
	}
	words := match(q.Text)
	a.indexed = words != "" && !q.Anywhere
	if a.indexed {
		a.from = `SELECT ` + columns + ` FROM history_fts f JOIN history h ON h.id = f.rowid`
		a = a.and(`history_fts MATCH ?`, words)
	}
	if q.CWD != "" && q.Also == nil {
		a = a.and(`h.cwd = ?`, q.CWD)
	}
	return a
}

// and returns the question with one more condition.
func (a question) and(condition string, args ...any) question {
	a.where = append(slices.Clip(a.where), condition)
	a.args = append(slices.Clip(a.args), args...)
	return a
}

// ask returns the answers, newest first.
func (h *History) ask(ctx context.Context, a question) ([]Prompt, error) {
	text := a.from
	if len(a.where) > 0 {
		text += ` WHERE ` + strings.Join(a.where, ` AND `)
	}
	text += newestFirst
	// Reading ends at the limit anyway. With LIMIT SQLite sorts in a B-tree, which takes twice as long as its sorter.
	if a.keep == nil && !a.indexed {
		text += ` LIMIT ?`
		a.args = append(slices.Clip(a.args), a.limit)
	}
	rows, err := h.db.QueryContext(ctx, text, a.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // early: a reader has one connection
	var list []Prompt
	for len(list) < a.limit && rows.Next() {
		p, err := scan(rows)
		if err != nil {
			return nil, err
		}
		if a.keep == nil || a.keep(p) {
			list = append(list, p)
		}
	}
	if ctx.Err() != nil { // the error of the driver varies
		return nil, context.Cause(ctx)
	}
	return list, rows.Err()
}

// amongNewest searches only the newest prompts: a common word occurs there often enough, and not all prompts with it need to be fetched and
// sorted. ok is false if there are too few.
//
// Ids mostly grow with time, so the newest prompts are those after some id; otherwise the range of ids begins earlier and
// has more prompts to skip. The result is exact in either case: no prompt outside the range is newer than one inside.
func (h *History) amongNewest(ctx context.Context, a question) (list []Prompt, ok bool, err error) {
	const (
		some  = 16  // prompts to search per wanted prompt
		first = 400 // at most, in the first try, which shows how common the word is
		part  = 8   // largest fraction of all prompts to search
	)
	for n, last := min(some*a.limit, first), false; ; last = true {
		var rows, from, all int64
		var since any
		err = h.db.QueryRowContext(ctx, `SELECT count(*), ifnull(min(id), 0), min(created_at), (SELECT ifnull(max(id), 0) FROM history) FROM
			(SELECT id, created_at FROM history ORDER BY created_at DESC, id DESC LIMIT ?)`, n).Scan(&rows, &from, &since, &all)
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		if err != nil || rows < int64(n) || since == nil {
			return nil, false, err // these are all prompts
		}
		list, err = h.ask(ctx, a.and(`f.rowid >= ? AND h.created_at >= ?`, from, since))
		if err != nil || len(list) == a.limit {
			return list, err == nil, err
		}
		if len(list) == 0 || last {
			return nil, false, nil
		}
		if n = n * a.limit / len(list) * 3 / 2; int64(n) > all/part {
			return nil, false, nil
		}
	}
}

// indexed reports whether the text index has as many prompts as the table. It is called if nothing was found, since an index
// that lost prompts may pass all checks of SQLite. More texts than rows are left by deleted rows.
func (h *History) indexed(ctx context.Context) error {
	if h.foreign {
		return nil // the index of another program
	}
	var rows, texts int64
	err := h.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM history), (SELECT count(*) FROM history_fts_docsize)`).Scan(&rows, &texts)
	if err == nil && texts < rows {
		err = fmt.Errorf("%w: the text index has %d of %d prompts", ErrDamaged, texts, rows)
	}
	return h.explain(err)
}

// filter returns the conditions on a prompt that are not in the SQL; nil if there are none.
func (q Query) filter() func(Prompt) bool {
	var pieces []string
	if q.Anywhere {
		pieces = words(strings.ToLower(q.Text))
	}
	elsewhere := q.CWD != "" && q.Also != nil
	if len(pieces) == 0 && !elsewhere {
		return nil
	}
	return func(p Prompt) bool {
		if len(pieces) > 0 {
			text := strings.ToLower(p.Text)
			if slices.ContainsFunc(pieces, func(w string) bool { return !strings.Contains(text, w) }) {
				return false
			}
		}
		return !elsewhere || p.CWD == q.CWD || q.Also(p)
	}
}

// words returns the words of a query, each once.
func words(query string) []string {
	list := strings.FieldsFunc(query, isSpace)
	slices.Sort(list)
	return slices.Compact(list)
}

// Recent returns the newest prompts.
func (h *History) Recent(ctx context.Context, limit int) ([]Prompt, error) {
	return h.Search(ctx, Query{Limit: limit})
}

// last returns the largest id that the history ever gave to a prompt, 0 if none. It never decreases.
func (h *History) last(ctx context.Context) (int64, error) {
	var last sql.NullInt64
	err := h.db.QueryRowContext(ctx, `SELECT max(seq) FROM sqlite_sequence WHERE name = 'history'`).Scan(&last)
	return last.Int64, h.explain(err)
}

// scan reads a row. Columns may contain values of any type, since other programs write the database.
func scan(rows *sql.Rows) (p Prompt, err error) {
	var (
		text, cwd sql.NullString
		at        any
	)
	if err := rows.Scan(&p.ID, &text, &at, &cwd); err != nil {
		return p, err
	}
	p.Text, p.CWD = text.String, cwd.String
	switch at := at.(type) {
	case int64:
		p.At = time.Unix(at, 0)
	case float64:
		p.At = time.Unix(int64(at), 0)
	}
	return p, nil
}

// match spells a query for FTS5. Each word is a quoted string, so that nothing in it is an operator. FTS5 ignores a word
// without tokens; a query of only such words matches nothing.
func match(query string) string {
	var b strings.Builder
	for _, word := range words(query) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('"')
		b.WriteString(ftsString.Replace(word))
		b.WriteString(`"*`)
	}
	return b.String()
}

// ftsString escapes a word for a string of FTS5: quotes are doubled, and NUL, which would end the query, is replaced.
var ftsString = strings.NewReplacer(`"`, `""`, "\x00", " ")

// normal returns a prompt as it is stored: trimmed valid UTF-8, which is what JavaScript strings can contain.
func normal(prompt string) string { return trim(strings.ToValidUTF8(prompt, "\ufffd")) }

// trim removes white space at both ends, as JavaScript does.
func trim(s string) string { return strings.TrimFunc(s, isSpace) }

// isSpace reports whether JavaScript considers a rune white space.
func isSpace(r rune) bool {
	return r == 0xfeff || unicode.IsSpace(r) && r != 0x85
}
