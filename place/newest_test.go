package place_test

import (
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Rows of one time are ordered by their last messages, then by the times of their logs, then by their creation; others keep their order. Rows of an archive keep
// theirs, as its index does.
func TestNewest(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 5, 10, 0, 0, 0, time.UTC)
	row := func(name string, age time.Duration, active string) place.Row {
		return place.Row{Summary: dialect.Summary{ID: session.ID(name), Active: session.Time{Text: active}}, Log: backend.Log{Name: name, Time: at.Add(-age)}}
	}
	rows := []place.Row{
		row("old", time.Hour, `"2026-03-05T10:00:00Z"`), row("unknown", 0, ""), row("first", 0, `"2026-03-01T10:00:00Z"`),
		row("third", 0, `"2026-03-03T10:00:00Z"`), row("second", 0, `"2026-03-02T10:00:00Z"`), row("other", 0, ""),
	}
	fork := row("fork", 0, `"2026-03-03T10:00:00Z"`)
	fork.Created = session.Time{Text: `"2026-03-04T10:00:00Z"`}
	rows = append(rows, fork)
	order := func(rows []place.Row) string {
		var names []string
		for i := range rows {
			names = append(names, string(rows[i].ID))
		}
		return strings.Join(names, " ")
	}
	if got, want := order(place.Newest(rows)), "fork third second first unknown other old"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	far := []place.Row{row("a", 0, `"2026-03-01T10:00:00Z"`), row("b", 0, `"2026-03-02T10:00:00Z"`)}
	for i := range far {
		far[i].Source.Origin = "laptop-3f9a2c1b"
	}
	if got := order(place.Newest(far)); got != "a b" {
		t.Errorf("of an archive: %s, want a b", got)
	}
}
