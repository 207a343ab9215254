//go:build !unix

package rows_test

import "errors"

// writeFull needs a limit on the sizes of files.
func (a agent) writeFull(string) error { return errors.ErrUnsupported }
