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
	limit := min(max(q.Limit, 1), MaxLimit)
	var (
		text  = `SELECT ` + columns + ` FROM history h`
		where []string
		args  []any
	)
	words := match(q.Text)
	indexed := words != "" && !q.Anywhere
	if indexed {
		text = `SELECT ` + columns + ` FROM history_fts f JOIN history h ON h.id = f.rowid`
		where = append(where, `history_fts MATCH ?`)
		args = append(args, words)
	}
	if q.CWD != "" && q.Also == nil {
		where = append(where, `h.cwd = ?`)
		args = append(args, q.CWD)
	}
	if len(where) > 0 {
		text += ` WHERE ` + strings.Join(where, ` AND `)
	}
	text += newestFirst
	keep := q.filter()
	if keep == nil {
		text += ` LIMIT ?`
		args = append(args, limit)
	}
	rows, err := h.db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, h.explain(err)
	}
	defer rows.Close()
	var list []Prompt
	for len(list) < limit && rows.Next() {
		p, err := scan(rows)
		if err != nil {
			return nil, h.explain(err)
		}
		if keep == nil || keep(p) {
			list = append(list, p)
		}
	}
	if ctx.Err() != nil { // what the driver makes of it differs
		return nil, context.Cause(ctx)
	}
	if err := rows.Err(); err != nil || len(list) > 0 || !indexed {
		return list, h.explain(err)
	}
	_ = rows.Close() // a reader has one connection
	return nil, h.indexed(ctx)
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
		err = fmt.Errorf("%w: the text index has %d of %d prompts", ErrCorrupt, texts, rows)
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
func (h *History) Last(ctx context.Context) (int64, error) {
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
