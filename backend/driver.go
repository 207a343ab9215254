package backend

import (
	"fmt"
	"strings"
)

// Driver opens the backends of one kind: those with a URL scheme, or one kind of folder. A store is given a list of
// drivers and asks them in order, so a new kind of backend is one more value in that list.
type Driver struct {
	// Name is what messages and dialect.Root call the driver: "file", "codelia", "postgres".
	Name string
	// Scheme is the scheme of the URLs that the driver opens; "" for a driver of folders.
	Scheme string
	// Claims reports whether a folder is of this kind; nil claims every folder. It is not asked about URLs.
	Claims func(dir string) bool
	// Archive: a place of this kind keeps the logs of many machines under names ORIGIN/SOURCE/NAME; see SplitArchived.
	Archive bool
	// Split splits a URL into the root of an archive and the folder in it, "" for all of it. The root is as Open and Shown take it. nil
	// means that a URL is always a root. An error does not repeat the URL: it may hold a password.
	Split func(url string) (root, below string, err error)
	// Shown returns a root as people may see it, and as paths of its logs begin: without a password, and without what only says how to
	// connect. It has a host, and no slash at its end. nil means that the root is shown as it is.
	Shown func(root string) (string, error)
	// Open opens the backend at a root: a folder, or a URL without a trailing slash. The root need not exist: until
	// something is created in it, it is a place without logs.
	Open func(root string, opt OpenOptions) (Backend, error)
}

// OpenOptions say how a Driver opens a backend.
type OpenOptions struct {
	// ReadOnly makes every mutation fail with ErrReadOnly.
	ReadOnly bool
	// Durability says what an append survives when it returns; "" is DurabilityFlush.
	Durability Durability
	// Below, if set, is the folder in an archive whose logs are shown: names are relative to it. Backends below one root share their
	// connections.
	Below string
	// Writer is recorded with every write in an archive.
	Writer Writer
	// Mended, if set, is called when Append had to mend the end of a log first. It must not call the Backend.
	Mended func(Mended)
}

// Writer identifies the program that writes to an archive.
type Writer struct {
	// Name is a user and a machine; "" is this user and this machine.
	Name string
	// Limited: the writer may not read all logs of the archive, so it may know references of blobs that it may not read. Through a log that
	// it has written, a reader gets only the blobs that the log named before, and those that were put for the log; see blob.Keeper. A
	// driver whose archives keep blobs, and that cannot do this, refuses to open one.
	Limited bool
}

// Durability says what an append survives when it returns.
type Durability string

const (
	// DurabilityNone: a crash of the process.
	DurabilityNone Durability = "none"
	// DurabilityFlush: a crash of the process; after Sync, Close and every Replace also one of the machine.
	DurabilityFlush Durability = "flush"
	// DurabilityAlways: a crash of the machine.
	DurabilityAlways Durability = "always"
)

// Check returns an error if d is not one of the levels. "" is valid.
func (d Durability) Check() error {
	switch d {
	case "", DurabilityNone, DurabilityFlush, DurabilityAlways:
		return nil
	}
	return fmt.Errorf("unknown durability level %q: none, flush or always", string(d))
}

// Mended is what Append did to the end of a log before it wrote.
type Mended struct {
	// Log is the name of the log.
	Log string
	// Offset is where the last line begins, Size how many bytes it had.
	Offset, Size int64
	// To is the log that torn bytes were moved to; "" if the line was whole and only got its newline.
	To string
}

// ErrNoDriver is wrapped by the error for a root that no driver opens.
var ErrNoDriver = fmt.Errorf("no driver for it")

// Scheme returns the scheme of a URL, "" for a path. A drive letter is not a scheme.
func Scheme(root string) string {
	scheme, _, ok := strings.Cut(root, "://")
	if !ok || len(scheme) < 2 || strings.ContainsAny(scheme, `/\.`) {
		return ""
	}
	return scheme
}

// FindDriver returns the first driver that opens a root: by its scheme, or because it claims the folder.
func FindDriver(drivers []Driver, root string) (Driver, error) {
	scheme := Scheme(root)
	for _, d := range drivers {
		if d.Scheme == scheme && (scheme != "" || d.Claims == nil || d.Claims(root)) {
			return d, nil
		}
	}
	if scheme != "" {
		root = scheme + "://"
	}
	return Driver{}, fmt.Errorf("%s: %w", root, ErrNoDriver)
}
