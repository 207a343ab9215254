package dialect

// Exact is a Dialect that knows its own logs among those of its family. Such a log is of this value, wherever it lies.
type Exact interface {
	// Exact gets what Detect gets.
	Exact(first []Record) bool
}
