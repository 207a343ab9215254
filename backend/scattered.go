package backend

import "context"

// Scattered is a Backend that keeps logs in several places, some of which may not be there now. List shows no logs of such a place, and
// no error: a place that was removed for good looks like one on a disk that is not mounted.
type Scattered interface {
	// Absent gives how the names of the logs in such places begin; "" if it is all logs.
	Absent(ctx context.Context) (prefixes []string, err error)
}

// Absent gives how the names of logs begin that may be back later; none if b is not Scattered.
func Absent(ctx context.Context, b Backend) (prefixes []string, err error) {
	if s, ok := b.(Scattered); ok {
		return s.Absent(ctx)
	}
	return nil, nil
}
