package history

import (
	"context"
	"errors"
	"os"
)

// OpenPlaces opens the uses of prompts that imports recorded. They are a cache: if there is a history and they are missing or
// damaged, the sessions are read again (see Progress), and the history stays as it is. If they cannot be kept, they are in
// memory, and Notice is told. Without a history there are none.
func OpenPlaces(ctx context.Context, opt Options) (*Places, error) {
	f, err := opt.files()
	if err != nil {
		return nil, err
	}
	p, err := readPlaces(ctx, f.places, dbOptions{})
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(f.db); err != nil || p.anew == "" {
		return p, nil
	}
	if err := p.Close(); err != nil {
		return nil, err
	}
	return collectPlaces(ctx, opt, f)
}

// collectPlaces reads all sessions, and keeps all of the result or nothing.
func collectPlaces(ctx context.Context, opt Options, f files) (*Places, error) {
	if opt.Sessions == nil {
		return nil, errNoSessions
	}
	f.own = true // the cache is ours, and the same for every history
	i := importing{opt: opt, files: f}
	var err error
	if i.places, err = i.openPlaces(ctx); err != nil {
		return nil, err
	}
	err = i.run(ctx)
	if err == nil {
		return i.places, nil
	}
	_ = i.places.Close() // the first error says more
	if ctx.Err() != nil {
		return nil, err
	}
	// The disk is full, or the cache is damaged further inside. Memory is enough for an answer.
	opt.notice("where prompts were used cannot be saved: %v", err)
	i.prompts, i.uses, i.bytes = nil, nil, 0
	if i.places, err = i.placesAt(ctx, ""); err != nil {
		return nil, err
	}
	if err = i.run(ctx); err != nil {
		return nil, errors.Join(err, i.places.Close())
	}
	return i.places, nil
}
