package watch

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// TestRawOfForeign: the record of a foreign entry is read from its own log, even if its offset lies within the current line.
func TestRawOfForeign(t *testing.T) {
	const record = `{"foreign":true}`
	b := session.NewBuilder("", nil)
	b.Add(&session.Envelope{ID: []byte("a"), Type: []byte("x"), Foreign: true, Record: []byte(record), Span: session.Span{Offset: 4, Length: int64(len(record))}})
	raw, err := rawIn(dialect.Record{Data: []byte(`{"header":"long enough for the span"}`)}, b.Finish().At(0))
	if err != nil || string(raw) != record {
		t.Errorf("%s, error %v; want %s", raw, err, record)
	}
}
