package history

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// TestAmongNewest: a search of the newest prompts finds what a search of all finds, even if times do not grow with ids, if many are equal,
// and if columns contain other values than numbers.
func TestAmongNewest(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]func(r *rand.Rand, i int) any{
		"in order":     func(_ *rand.Rand, i int) any { return 1_700_000_000 + i },
		"out of order": func(r *rand.Rand, i int) any { return 1_700_000_000 + i + r.IntN(200) - 100 },
		"backwards":    func(_ *rand.Rand, i int) any { return 1_700_000_000 - i },
		"all at once":  func(*rand.Rand, int) any { return 1_700_000_000 },
		"some at once": func(_ *rand.Rand, i int) any { return 1_700_000_000 + i/40 },
		"any time":     func(r *rand.Rand, _ int) any { return r.IntN(1_000) },
		"anything": func(r *rand.Rand, i int) any {
			return []any{i, float64(i) + 0.5, fmt.Sprint("day ", i), []byte{byte(i)}, -i}[r.IntN(5)]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(4, 2))
			h := open(t, newPath(t))
			words := []string{"the", "then", "of", "often", "rare", "parse", "frog"}
			err := h.db.Transact(t.Context(), func(tx *sql.Tx) error {
				for i := range 1600 {
					var text []string
					for range 1 + r.IntN(4) {
						text = append(text, words[min(r.IntN(len(words)), r.IntN(len(words)))])
					}
					_, err := tx.Exec(`INSERT INTO history (prompt, created_at, cwd) VALUES (?, ?, ?)`,
						strings.Join(text, " "), at(r, i), fmt.Sprint("/", r.IntN(3)))
					if err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			soon := 0
			for range soaktest.Part(150, 20) {
				q := Query{Text: words[r.IntN(len(words))], Limit: 1 + r.IntN(40)}
				switch r.IntN(3) {
				case 0:
					q.CWD = "/1"
				case 1:
					q.CWD, q.Also = "/2", func(p Prompt) bool { return strings.HasPrefix(p.Text, "the") }
				}
				all, err := h.ask(t.Context(), newQuestion(q))
				if err != nil {
					t.Fatal(err)
				}
				list, ok, err := h.amongNewest(t.Context(), newQuestion(q))
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					continue
				}
				soon++
				if d := difftest.Diff(all, list); d != "" {
					t.Fatalf("%q of %s, limit %d: -all +newest\n%s", q.Text, q.CWD, q.Limit, d)
				}
			}
			if soon == 0 {
				t.Error("nothing was found among the newest: the test is too weak")
			}
		})
	}
}
