package feed

import (
	"bytes"
	"context"
	"fmt"

	"github.com/treeline-dev/treeline/watch"
	"github.com/treeline-dev/treeline/wire"
)

// entryBytes is the largest size of an entry whose parts are in the event.
const entryBytes = 16 << 10

// JSON encodes a change for clients. A large entry comes without its parts.
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
