package wire

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/store/state"
)

// errorKinds are the words for errors of the library that clients tell apart, in the order in which they are tried. They are never renamed.
func errorKinds() []struct {
	word string
	err  error
} {
	return []struct {
		word string
		err  error
	}{
		{"cancelled", context.Canceled},
		{"not-session", store.ErrNotSession},
		{"newer", store.ErrNewer},
		{"not-exist", backend.ErrNotExist},
		{"exist", backend.ErrExist},
		{"read-only", store.ErrReadOnly},
		{"foreign", store.ErrForeign},
		{"saved", state.ErrConflict},
		{"locked", backend.ErrLocked},
		{"held", backend.ErrHeld},
		{"unsupported", store.ErrUnsupported},
		{"silent", store.ErrSilent},
		{"too-large", store.ErrTooLarge},
		{"unknown-entry", session.ErrUnknownEntry},
		{"no-session", place.ErrNoSession},
		{"no-run", runs.ErrNoRun},
		{"not-entry", store.ErrNotEntry},
		{"no-space", syscall.ENOSPC},
		{"no-space", syscall.EDQUOT},
		{"permission", fs.ErrPermission},
		{"permission", syscall.EROFS},
	}
}

// ErrorKind returns the word for an error in RPC and over HTTP, "" if there is none.
func ErrorKind(err error) string {
	var refused *store.RefusedError
	if errors.As(err, &refused) {
		return "refused"
	}
	for _, k := range errorKinds() {
		if errors.Is(err, k.err) {
			return k.word
		}
	}
	return ""
}
