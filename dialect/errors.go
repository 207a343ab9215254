package dialect

import "errors"

// Errors that callers tell apart with errors.Is.
var (
	// ErrUnsupported: the dialect cannot express it.
	ErrUnsupported = errors.New("not supported")
	// ErrNewer: the log is of a newer version than the dialect knows. It is never written to.
	ErrNewer = errors.New("written by a newer version")
)
