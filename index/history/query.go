package history

import (
	"context"
	"database/sql"
	"errors"
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
	// are written without spaces. Every prompt is looked at; letters of ASCII may be large or small.
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
	if q.Anywhere {
		for _, word := range strings.FieldsFunc(q.Text, isSpace) {
			where = append(where, `instr(lower(h.prompt), lower(?)) > 0`)
			args = append(args, word)
		}
	} else if words := match(q.Text); words != "" {
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
	if q.CWD == "" || q.Also == nil {
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
		if q.CWD == "" || p.CWD == q.CWD || q.Also(p) {
			list = append(list, p)
		}
	}
	if ctx.Err() != nil { // what the driver makes of it differs
		return nil, context.Cause(ctx)
	}
	return list, h.explain(rows.Err())
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
	for _, word := range strings.FieldsFunc(query, isSpace) {
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

// Trim cuts white space off both ends, as the program does.
func Trim(s string) string { return strings.TrimFunc(s, isSpace) }

// isSpace is white space as JavaScript has it.
func isSpace(r rune) bool {
	return r == 0xfeff || unicode.IsSpace(r) && r != 0x85
}
