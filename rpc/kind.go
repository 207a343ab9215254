package rpc

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/runs"
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
		{"not-session", treeline.ErrNotSession},
		{"newer", treeline.ErrNewer},
		{"not-exist", treeline.ErrNotExist},
		{"exist", treeline.ErrExist},
		{"read-only", treeline.ErrReadOnly},
		{"foreign", treeline.ErrForeign},
		{"saved", state.ErrConflict},
		{"locked", treeline.ErrLocked},
		{"held", treeline.ErrHeld},
		{"unsupported", treeline.ErrUnsupported},
		{"silent", treeline.ErrSilent},
		{"too-large", treeline.ErrTooLarge},
		{"unknown-entry", treeline.ErrUnknownEntry},
		{"no-session", treeline.ErrNoSession},
		{"no-run", runs.ErrNoRun},
		{"not-entry", store.ErrNotEntry},
		{"no-space", syscall.ENOSPC},
		{"no-space", syscall.EDQUOT},
		{"permission", fs.ErrPermission},
		{"permission", syscall.EROFS},
	}
}

// errorKind returns the word for an error, "" if there is none.
func errorKind(err error) string {
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
