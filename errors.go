package treeline

import (
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Errors of sessions, told apart with errors.Is. Those of the operating system, such as syscall.ENOSPC and fs.ErrPermission, are wrapped, too.
var (
	// ErrNotExist: there is no log at the path.
	ErrNotExist = backend.ErrNotExist
	// ErrExist: there is a log where a new one was to be.
	ErrExist = backend.ErrExist
	// ErrNotSession: the log cannot be read as a session; it stays as it is. See WriteOptions.ReplaceUnreadable.
	ErrNotSession = store.ErrNotSession
	// ErrNewer: the log is of a newer version of the format. It can be read, and is never written.
	ErrNewer = store.ErrNewer
	// ErrReadOnly: the session was opened for reading.
	ErrReadOnly = store.ErrReadOnly
	// ErrClosed: the session was closed.
	ErrClosed = store.ErrClosed
	// ErrForeign: another program wrote first, and the policy is PolicyRefuse. The session shows its entries; append again.
	ErrForeign = store.ErrForeign
	// ErrLocked: another program held the lock for too long. Nothing was written; try again.
	ErrLocked = backend.ErrLocked
	// ErrHeld: another program has the log open, so it is not replaced, moved or removed. See WriteOptions.ForceRewrite.
	ErrHeld = backend.ErrHeld
	// ErrUnsupported: the agent's format cannot express it.
	ErrUnsupported = store.ErrUnsupported
	// ErrSilent: the message says nothing.
	ErrSilent = store.ErrSilent
	// ErrTooLarge: the entry is larger than store.MaxRecord.
	ErrTooLarge = store.ErrTooLarge
	// ErrUnknownEntry: the session has no entry with that id.
	ErrUnknownEntry = session.ErrUnknownEntry
	// ErrNoSession: no session matches what the user named.
	ErrNoSession = place.ErrNoSession
	// ErrNoDriver: Options.Backends has no driver for the place.
	ErrNoDriver = backend.ErrNoDriver
)
