package feed

import (
	"bytes"
	"context"
	"fmt"

	"github.com/treeline-dev/treeline/watch"
	"github.com/treeline-dev/treeline/wire"
)

// entryBytes is the size up to which an event has the parts of its entry.
const entryBytes = 16 << 10

// JSON is a change as clients get it. An entry that is large comes without its parts.
func JSON(ctx context.Context, c watch.Change) ([]byte, error) {
	if c.Kind == watch.KindEntry && len(c.Raw) > 4*entryBytes {
		return encode(wire.Change{
			Event: c.Kind, Session: c.Header.ID, Path: c.Path, Dialect: c.Dialect.Name(),
			Entry: &wire.Entry{ID: c.Entry.ID, Kind: c.Entry.Kind.String(), Type: c.Entry.Type},
		})
	}
	j, err := wire.NewChange(ctx, c)
	if err != nil {
		j = wire.Change{Event: watch.KindProblem, Path: c.Path, Message: err.Error()}
	}
	data, err := encode(j)
	if err == nil && len(data) > entryBytes && j.Entry != nil {
		j.Entry.Parts, j.Entry.Text = nil, nil
		return encode(j)
	}
	return data, err
}

func encode(j wire.Change) ([]byte, error) {
	var b bytes.Buffer
	if err := wire.Write(&b, j); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
