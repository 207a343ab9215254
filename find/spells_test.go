package find

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/difftest"
)

// answered returns a message of the user, or an answer of a model with one token and a dollar.
func answered(id, model string, at time.Time) string {
	message := `{"role":"user","content":"Go on."}`
	if model != "" {
		message = fmt.Sprintf(`{"role":"assistant","provider":"p","model":%q,"content":[],"usage":{"input":1,"output":0,"cost":{"total":1}}}`, model)
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":%q,"message":%s}`, id, at.Format("2006-01-02T15:04:05.000Z"), message)
}

func (d *desk) spells(name string, lines ...string) []index.Spell {
	d.Helper()
	d.write(name, strings.Join(lines, "\n")+"\n")
	rows, err := d.finder(nil).Catalogue(d.Context(), RefreshOptions{})
	if err != nil || len(rows) != 1 {
		d.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows[0].Known.Spells.List()
}

// TestSpells: the catalogue has the time of each model's answers, and what a fork copied from its parent.
func TestSpells(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	q := index.QuarterOf(at)
	min := func(n int) time.Time { return at.Add(time.Duration(n) * time.Minute) }
	got := newDesk(t).spells("a.jsonl",
		`{"type":"session","version":3,"id":"a","timestamp":"2026-03-02T10:06:00.000Z","cwd":"/","parentSession":"b"}`,
		answered("1", "", min(0)), answered("2", "opus", min(5)), // copied from the parent
		answered("3", "", min(7)), answered("4", "opus", min(8)), answered("5", "haiku", min(9)), answered("6", "", min(10)),
		answered("7", "", min(20)), answered("8", "haiku", min(21)),
	)
	one := func(n int64) index.Tokens { return index.Tokens{Input: n, Total: n} }
	want := []index.Spell{
		{Quarter: q, Copied: true, Messages: 2, Answers: 1, Tokens: one(1), Cost: 1},
		{Quarter: q, Messages: 2, Answers: 1, Tokens: one(1), Cost: 1},
		{Quarter: q, Model: 1, Messages: 2, Answers: 1, Tokens: one(1), Cost: 1},
		{Quarter: q + 1, Model: 1, Messages: 2, Answers: 1, Tokens: one(1), Cost: 1},
	}
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSpellsMost: a log with another time in every record does not make the catalogue large, and nothing is lost.
func TestSpellsMost(t *testing.T) {
	t.Parallel()
	lines := []string{`{"type":"session","version":3,"id":"a","timestamp":"2026-03-02T10:00:00.000Z","cwd":"/"}`}
	for i := range spellsMost + 100 {
		lines = append(lines, answered(fmt.Sprint(i), "opus", time.Date(2026, 3, 2, i, 0, 0, 0, time.UTC)))
	}
	list := newDesk(t).spells("a.jsonl", lines...)
	sum := 0
	for i := range list {
		sum += list[i].Answers
	}
	if len(list) != spellsMost || sum != spellsMost+100 {
		t.Errorf("%d spells with %d answers", len(list), sum)
	}
}
