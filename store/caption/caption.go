// Package caption changes the title of a session in the file from which its agent shows it.
package caption

import (
	"context"
	"errors"
	"fmt"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
)

// Set writes the name to the file of the session's folder, if the agent has such a file and it exists; see dialect.Recaptioner. The
// log has the name already. l is the log, for writing.
func Set(ctx context.Context, d dialect.Dialect, l place.Location, name string) error {
	r, ok := d.(dialect.Recaptioner)
	if !ok {
		return nil
	}
	content, err := place.ReadSideFile(ctx, d, l, r.CaptionFile())
	if errors.Is(err, backend.ErrNotExist) || errors.Is(err, place.ErrLink) {
		return nil
	}
	var changed []byte
	if err == nil {
		changed = r.SetCaption(content, name)
	}
	if changed != nil {
		var at backend.Log
		if at, err = l.Backend.Stat(ctx, place.SideFolder(d, l).Prefix+r.CaptionFile()); err == nil {
			_, err = l.Backend.Replace(ctx, at, changed)
		}
	}
	if err != nil {
		return fmt.Errorf("the name is in the log, but %s, from which %s shows it, was not changed: %w", r.CaptionFile(), d.Name(), err)
	}
	return nil
}
