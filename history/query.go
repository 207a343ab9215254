package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// MaxLimit is how many prompts an answer has at most.
const MaxLimit = 1000

// Query says which prompts are wanted.
type Query struct {
	// Text is words, separated by white space. Every one must occur in the prompt, as the beginning of a word of it;
	// a word with punctuation inside stands for its pieces in a row. Without any word all prompts fit.
	Text string
	// Anywhere takes words for pieces of text that may stand anywhere in a prompt, also inside of words: for languages that
	// are written without spaces. Prompts are looked at one by one.
	Anywhere bool
	// CWD, if set, keeps the prompts that were typed there.
	CWD string
	// Also, if set, is asked for prompts of other directories: true keeps them too. It is for those who know more of a
	// prompt than its row does. Without CWD it is not asked.
	Also func(Prompt) bool
	// Limit is how many are wanted, from 1 to MaxLimit; what is outside is taken for the nearest.
	Limit int
}

const (
	columns     = `h.id, h.prompt, h.created_at, h.cwd`
	newestFirst = ` ORDER BY h.created_at DESC, h.id DESC`
)

// Search gives the prompts that fit, newest first.
func (h *History) Search(ctx context.Context, q Query) ([]Prompt, error) {
	for {
		h.mu.RLock()
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
	if a.indexed && !h.foreign {
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

// question is a query as SQLite is asked it.
type question struct {
	from    string
	where   []string
	args    []any
	limit   int
	keep    func(Prompt) bool // what SQLite is not asked; may be nil
	indexed bool              // the text index is asked
}

func newQuestion(q Query) question {
	a := question{from: `SELECT ` + columns + ` FROM history h`, limit: min(max(q.Limit, 1), MaxLimit), keep: q.filter()}
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

// and gives a question with one more condition.
func (a question) and(condition string, args ...any) question {
	a.where = append(slices.Clip(a.where), condition)
	a.args = append(slices.Clip(a.args), args...)
	return a
}

// ask gives the answers, newest first.
func (h *History) ask(ctx context.Context, a question) ([]Prompt, error) {
	text := a.from
	if len(a.where) > 0 {
		text += ` WHERE ` + strings.Join(a.where, ` AND `)
	}
	text += newestFirst
	if a.keep == nil {
		text += ` LIMIT ?`
		a.args = append(slices.Clip(a.args), a.limit)
	}
	rows, err := h.db.QueryContext(ctx, text, a.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() // soon: a reader has one connection
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
	if ctx.Err() != nil { // what the driver makes of it differs
		return nil, context.Cause(ctx)
	}
	return list, rows.Err()
}

// amongNewest looks for answers among the newest prompts: of a common word there are enough, and then nobody need fetch and sort
// all prompts that have it. ok is false where there are not enough, or none so soon that it is worth while.
//
// Ids mostly grow with time, so that the newest prompts are those behind some id; where they do not, the row of ids begins
// earlier, and more of it is passed over. What is found is exact in any case: of the prompts that are left out, none comes
// before one of those that were looked at.
func (h *History) amongNewest(ctx context.Context, a question) (list []Prompt, ok bool, err error) {
	const (
		some  = 16  // prompts that are looked at for each that is wanted
		first = 400 // and no more at first: it soon shows how common the word is
		part  = 8   // no more than this part of all is worth while
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
			return nil, false, err // these are all
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

// indexed says whether the text index has as many prompts as the table. Who finds nothing wants to know: an index that lost
// prompts may be a good one to all checks of SQLite. More than the table has is what is left of rows that somebody deleted.
func (h *History) indexed(ctx context.Context) error {
	if h.foreign {
		return nil // another index, which we do not know
	}
	var rows, texts int64
	err := h.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM history), (SELECT count(*) FROM history_fts_docsize)`).Scan(&rows, &texts)
	if err == nil && texts < rows {
		err = fmt.Errorf("%w: the text index has %d of %d prompts", ErrDamaged, texts, rows)
	}
	return h.explain(err)
}

// filter is what SQLite is not asked about a prompt; nil where it is asked all.
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

// words gives the words of a query, each once.
func words(query string) []string {
	list := strings.FieldsFunc(query, isSpace)
	slices.Sort(list)
	return slices.Compact(list)
}

// Recent gives the newest prompts.
func (h *History) Recent(ctx context.Context, limit int) ([]Prompt, error) {
	return h.Search(ctx, Query{Limit: limit})
}

// Last gives the largest id that the history ever gave to a prompt, 0 for none. It never goes back.
func (h *History) last(ctx context.Context) (int64, error) {
	var last sql.NullInt64
	err := h.db.QueryRowContext(ctx, `SELECT max(seq) FROM sqlite_sequence WHERE name = 'history'`).Scan(&last)
	return last.Int64, h.explain(err)
}

// scan reads a row. A database that others write may hold anything in any column: SQLite does not mind.
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

// match spells a query for FTS5. Each word is a string in its syntax, so that nothing in it is an operator. A word that
// the tokenizer makes nothing of is passed over there, and a query of nothing else fits nothing.
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

// ftsString makes a word fit for a string of FTS5: a quote is doubled, and what would end the whole text is none.
var ftsString = strings.NewReplacer(`"`, `""`, "\x00", " ")

// normal is a prompt as it is kept: trimmed, and text. What is not UTF-8 no string of the program could hold.
func normal(prompt string) string { return trim(strings.ToValidUTF8(prompt, "\ufffd")) }

// trim cuts white space off both ends, as the program does.
func trim(s string) string { return strings.TrimFunc(s, isSpace) }

// isSpace is white space as JavaScript has it.
func isSpace(r rune) bool {
	return r == 0xfeff || unicode.IsSpace(r) && r != 0x85
}
