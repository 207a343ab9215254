package history

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"slices"
	"time"
)

// promptKey is a hash of the text of a prompt.
type promptKey [16]byte

func keyOf(prompt string) promptKey {
	sum := sha256.Sum256([]byte(normal(prompt)))
	return promptKey(sum[:16])
}

// Imported counts what History.Import did.
type Imported struct {
	// Added were not in the history; Renewed were, and got a later time.
	Added, Renewed int
}

// Import adds the prompts that the history does not have, in the order of their times, in one transaction. Each is kept
// once, with the time and directory of its last use, so importing again changes nothing.
func (h *History) Import(ctx context.Context, prompts []Prompt) (Imported, error) {
	if h.queue == nil {
		return Imported{}, ErrReadOnly
	}
	list := lastUses(prompts)
	var done Imported
	err := h.db.Transact(ctx, func(tx *sql.Tx) error {
		known, err := rowsByKey(ctx, tx)
		if err != nil {
			return err
		}
		for _, p := range list {
			// list has each key once, so known need not be updated.
			row, ok := known[keyOf(p.Text)]
			switch {
			case !ok:
				done.Added++
				err = insert(ctx, tx, p)
			case row.at < p.At.Unix():
				done.Renewed++
				// The text stays, so the text index need not change.
				_, err = tx.ExecContext(ctx, `UPDATE history SET created_at = ?, cwd = ifnull(?, cwd) WHERE id = ?`, p.At.Unix(), nullable(p.CWD), row.id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		done = Imported{}
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
	}
	return done, h.explain(err)
}

// lastUses returns each prompt once, with its last use, sorted by time.
func lastUses(prompts []Prompt) []Prompt {
	list := make([]Prompt, 0, len(prompts))
	for _, p := range prompts {
		if p.Text = normal(p.Text); p.Text != "" {
			list = append(list, p)
		}
	}
	// In whole seconds, as in the table; within a second the given order counts.
	slices.SortStableFunc(list, func(a, b Prompt) int { return a.At.Truncate(time.Second).Compare(b.At.Truncate(time.Second)) })
	seen := make(map[promptKey]bool, len(list))
	kept := len(list) // list[kept:] is the result
	for i := len(list) - 1; i >= 0; i-- {
		if k := keyOf(list[i].Text); !seen[k] {
			seen[k] = true
			kept--
			list[kept] = list[i]
		}
	}
	return list[kept:]
}

type rowTime struct{ id, at int64 }

// rowsByKey returns the newest row of each prompt. The table has no index over texts. It is read in the transaction that
// adds, so that two processes do not add the same prompt.
func rowsByKey(ctx context.Context, tx *sql.Tx) (map[promptKey]rowTime, error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+columns+` FROM history h`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[promptKey]rowTime{}
	for rows.Next() {
		p, err := scan(rows)
		if err != nil {
			return nil, err
		}
		k, at := keyOf(p.Text), p.At.Unix()
		if old, ok := known[k]; !ok || at >= old.at {
			known[k] = rowTime{p.ID, at}
		}
	}
	return known, rows.Err()
}
