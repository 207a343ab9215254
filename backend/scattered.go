package backend

import "context"

// Scattered is a Backend that keeps logs in several places, some of which may be absent at the moment. For an absent place List shows no
// logs and no error: a place that was removed for good looks like one on a disk that is not mounted.
type Scattered interface {
	// Absent returns the prefixes of the names of logs in absent places; "" means all logs.
	Absent(ctx context.Context) (prefixes []string, err error)
}

// Absent returns the prefixes of the names of logs that may come back later; none if b is not Scattered.
func Absent(ctx context.Context, b Backend) (prefixes []string, err error) {
	if s, ok := b.(Scattered); ok {
		return s.Absent(ctx)
	}
	return nil, nil
}
