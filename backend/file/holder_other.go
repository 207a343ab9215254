//go:build !linux

package file

import "github.com/treeline-dev/treeline/internal/durable"

// holder would name the process that holds the lock of a file; this system does not tell.
func holder(durable.Info) string { return "" }
