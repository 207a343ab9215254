package usage

import (
	"math"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

var monday = time.Date(2026, 3, 2, 23, 50, 0, 0, time.UTC)

// spell returns a spell with answers of the first model: ten tokens and a dollar per message.
func spell(at time.Time, messages int, copied bool) index.Spell {
	return index.Spell{
		Quarter: index.QuarterOf(at), Copied: copied, Messages: messages, Answers: 1,
		Tokens: index.Tokens{Input: int64(10 * messages), Total: int64(10 * messages)}, Cost: float64(messages),
	}
}

func row(path, id, parent string, spells ...index.Spell) place.Row {
	r := place.Row{Path: path, Dialect: all.Dialects()[0], Summary: dialect.Summary{ID: session.ID(id), Parent: parent, CWD: "/p", OK: true}}
	for _, s := range spells {
		r.Messages += s.Messages
	}
	r.Log.Time = monday
	r.Known = &index.Summary{Session: true, Models: []string{"p/opus", "p/haiku"}, Spells: index.EncodeSpells(spells)}
	return r
}

func sum(rows []place.Row, opt Options) Report {
	if opt.Zone == nil {
		opt.Zone = time.UTC
	}
	return Look(rows).Sum(rows, opt)
}

// TestNothingCountsTwice: forks, forks of forks and copies add only what they have of their own.
func TestNothingCountsTwice(t *testing.T) {
	t.Parallel()
	old, own := spell(monday, 5, true), spell(monday.Add(time.Hour), 2, false)
	for name, c := range map[string]struct {
		rows             []place.Row
		messages, copies int
	}{
		"fork":            {[]place.Row{row("a", "A", "", spell(monday, 5, false)), row("b", "B", "A", old, own)}, 7, 0},
		"fork of a fork":  {[]place.Row{row("a", "A", "", spell(monday, 5, false)), row("b", "B", "A", old, own), row("c", "C", "b", old, old, own)}, 9, 0},
		"removed parent":  {[]place.Row{row("b", "B", "A", old, own), row("c", "C", "A", old, spell(monday, 1, true), own)}, 5 + 1 + 2 + 2, 0},
		"copy":            {[]place.Row{row("a", "A", "", own), row("backup/a", "A", "", own, own)}, 4, 1},
		"copy of a fork":  {[]place.Row{row("b", "B", "A", old, own), row("backup/b", "B", "A", old, own)}, 7, 1},
		"without an id":   {[]place.Row{row("a", "", "", own), row("b", "", "", own)}, 4, 0},
		"not a session":   {[]place.Row{{Path: "x", Err: backend.ErrNotExist}, row("a", "A", "", own)}, 2, 0},
		"without a time":  {[]place.Row{row("a", "A", "", index.Spell{Messages: 3, Model: -1})}, 3, 0},
		"without entries": {[]place.Row{row("a", "A", "")}, 0, 0},
	} {
		r := sum(c.rows, Options{})
		if r.Total.Messages != c.messages || r.Copies != c.copies {
			t.Errorf("%s: %d messages, %d copies", name, r.Total.Messages, r.Copies)
		}
		if want := len(c.rows) - c.copies; name != "not a session" && r.Total.Sessions != want {
			t.Errorf("%s: %d sessions, want %d", name, r.Total.Sessions, want)
		}
	}
}

// TestDays: a spell belongs to the day of the zone, and --since and --until choose spells and not sessions.
func TestDays(t *testing.T) {
	t.Parallel()
	rows := []place.Row{row("a", "A", "", spell(monday, 1, false), spell(monday.Add(15*time.Minute), 2, false))}
	days := func(opt Options) (list []string) {
		opt.By = []Key{Day}
		r := sum(rows, opt)
		if len(r.Groups) != 1 {
			t.Errorf("groups: %v", r.Groups)
		}
		for _, g := range r.Groups[Day] {
			list = append(list, g.Name)
		}
		return list
	}
	for _, c := range []struct {
		opt  Options
		want []string
	}{
		{Options{}, []string{"2026-03-02", "2026-03-03"}},
		{Options{Zone: time.FixedZone("Kathmandu", 5*3600+45*60)}, []string{"2026-03-03"}},
		{Options{Since: monday.Add(10 * time.Minute)}, []string{"2026-03-03"}},
		{Options{Until: monday.Add(10 * time.Minute)}, []string{"2026-03-02"}},
		{Options{Model: "opus"}, []string{"2026-03-02", "2026-03-03"}},
		{Options{Model: "haiku"}, nil},
	} {
		if diff := difftest.Diff(c.want, days(c.opt)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.opt, diff)
		}
	}
}

// TestGroups: every key has its groups, the most expensive first; a model has only its answers.
func TestGroups(t *testing.T) {
	t.Parallel()
	haiku := spell(monday, 4, false)
	haiku.Model, haiku.Answers = 1, 3
	prompts := index.Spell{Quarter: index.QuarterOf(monday), Model: -1, Messages: 1}
	elsewhere := row("b", "B", "", spell(monday, 9, false))
	elsewhere.CWD, elsewhere.Dialect = "/q", all.Dialects()[1]
	r := sum([]place.Row{row("a", "A", "", spell(monday, 1, false), haiku, prompts), elsewhere}, Options{})
	amount := func(sessions, messages, used int) Amount {
		return Amount{Sessions: sessions, Messages: messages, Tokens: index.Tokens{Input: int64(10 * used), Total: int64(10 * used)}, Cost: float64(used)}
	}
	a, b := all.Dialects()[0].Name(), all.Dialects()[1].Name()
	want := Report{Total: amount(2, 15, 14), Groups: map[Key][]Group{
		Agent:   {{b, amount(1, 9, 9)}, {a, amount(1, 6, 5)}},
		Model:   {{"p/opus", amount(2, 2, 10)}, {"p/haiku", amount(1, 3, 4)}},
		Project: {{"/q", amount(1, 9, 9)}, {"/p", amount(1, 6, 5)}},
		Day:     {{"2026-03-02", amount(2, 15, 14)}},
	}}
	if diff := difftest.Diff(want, r); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestHugeCosts: huge costs do not make a sum infinite.
func TestHugeCosts(t *testing.T) {
	t.Parallel()
	huge := spell(monday, 1, false)
	huge.Cost = math.MaxFloat64
	r := sum([]place.Row{row("a", "A", "", huge), row("b", "B", "", huge)}, Options{})
	if r.Total.Cost != math.MaxFloat64 {
		t.Errorf("cost %v", r.Total.Cost)
	}
}
