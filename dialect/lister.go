package dialect

import (
	"errors"
	"time"
)

// ErrNotShown is returned for a session that its agent's own list leaves out.
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
