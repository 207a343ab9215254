package backend

import "fmt"

// DamageError is the error for a log that cannot be read because of what is in a file of its place. A backend whose logs
// are files has no need for it: there a dialect finds the damage.
type DamageError struct {
	// File is the path of the file. Line counts from 1, Offset is in bytes; both are those of the file.
	File   string
	Line   int
	Offset int64
	// Message says what is wrong, Advice what was kept.
	Message, Advice string
}

// Error says where, what, and what was kept.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%s:%d (byte %d): %s; %s", e.File, e.Line, e.Offset, e.Message, e.Advice)
}
