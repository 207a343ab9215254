package dialect

import (
	"errors"
	"time"

	"github.com/treeline-dev/treeline/session"
)

// Lister is a Dialect that knows how its agent's own program lists sessions, for clients that take us for it. Unlike
// Peek it looks at whole logs.
type Lister interface {
	// Shows says whether the program's lists take a log of that name for a session: relative to the one folder that is
	// listed or, with all set, to the folder of the sessions of all working directories.
	Shows(name string, all bool) bool
	// List gives the row of a session. changed is when its log was last written. The error is ErrNotShown where the
	// program leaves it out.
	List(t *session.Tree, path string, changed time.Time) (Listing, error)
	// Recent gives the names under which a log that begins with head is shown among the recent ones; ok is false where
	// it is not shown. Of head no more than RecentHead bytes are looked at.
	Recent(head []byte, path string) (r Recent, ok bool)
}

// ErrNotShown is why a session has no row in its agent's own list.
var ErrNotShown = errors.New("the agent's own list leaves it out")

// RecentHead is how many bytes of a log a list of recent sessions may read.
const RecentHead = 4096

// Listing is a row of an agent's own list.
type Listing struct {
	// JSON is the row in the agent's words.
	JSON []byte
	// CWD is the session's working directory.
	CWD string
	// Modified orders the list, the newest first.
	Modified time.Time
}

// Recent is a session among the recent ones.
type Recent struct {
	// Name is FullName, cut where it is too long for a narrow list.
	Name, FullName string
}
