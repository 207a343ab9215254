package mcp

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"hash/fnv"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// advice tells a model what it can do about an error of the library.
var advice = []struct {
	kind error
	text string
}{
	{place.ErrNoSession, "list_sessions shows the sessions, search_sessions finds one by its text; with project \"all\" in all projects"},
	{place.ErrUnknownSource, "use the name of an agent as list_sessions shows it in \"dialect\", such as claude, codex, pi or omp"},
	{find.ErrCursor, badCursorAdvice},
	{wire.ErrCursor, badCursorAdvice},
	{errCursor, badCursorAdvice},
}

const badCursorAdvice = "pass \"next\" of the result before together with the arguments of that call, or leave the cursor out to begin again"

var errCursor = errors.New("the cursor does not belong to this call")

// Bounds of a result, in bytes of JSON.
const (
	defaultBytes = 25_000
	leastBytes   = 8_000
	mostBytes    = 200_000
	mostRows     = 1000
	// frame is reserved for what surrounds the rows of a result.
	frame = 1500
)

// sizeArgs limit the size of a result.
type sizeArgs struct {
	MaxBytes int    `json:"maxBytes" doc:"maximum size of the result in bytes, 8000 to 200000; default 25000"`
	Cursor   string `json:"cursor" doc:"\"next\" (or \"previous\") of an earlier result, to get more; repeat the other arguments"`
}

// room returns the number of bytes for the rows of the result.
func (a sizeArgs) room() (*room, error) {
	n := a.MaxBytes
	if n == 0 {
		n = defaultBytes
	}
	if n < leastBytes || n > mostBytes {
		return nil, refuse("the argument \"maxBytes\" must be a number from %d to %d, not %d", leastBytes, mostBytes, n)
	}
	return &room{left: n - frame}, nil
}

// textBytes checks the requested length of each text.
func textBytes(given, otherwise int) (int, error) {
	switch {
	case given == 0:
		return otherwise, nil
	case given < 0 || given > mostBytes:
		return 0, refuse("the argument \"textBytes\" must be a number from 1 to %d, not %d", mostBytes, given)
	}
	return given, nil
}

// pageArgs limit a result that is a list.
type pageArgs struct {
	Limit int `json:"limit" doc:"maximum number of results, up to 1000; default 20"`
	sizeArgs
}

// bounds returns the number of bytes for the rows of the result, and the largest number of rows.
func (a pageArgs) bounds() (*room, int, error) {
	space, err := a.room()
	if err != nil {
		return nil, 0, err
	}
	if a.Limit < 0 || a.Limit > mostRows {
		return nil, 0, refuse("the argument \"limit\" must be a number from 1 to %d, not %d", mostRows, a.Limit)
	}
	return space, cmp.Or(a.Limit, 20), nil
}

// spanArgs are a time span.
type spanArgs struct {
	Since string `json:"since" doc:"only from this time on: how long ago (12h, 7d, 2w), a day (2026-01-31) or a time (RFC 3339)"`
	Until string `json:"until" doc:"only up to this time; a day is included"`
}

func (a spanArgs) parse(now time.Time) (since, until time.Time, err error) {
	if a.Since != "" {
		if since, err = wire.ParseWhen(a.Since, now, false); err != nil {
			return since, until, badTime("since", a.Since)
		}
	}
	if a.Until != "" {
		if until, err = wire.ParseWhen(a.Until, now, true); err != nil {
			return since, until, badTime("until", a.Until)
		}
	}
	return since, until, nil
}

func badTime(name, text string) error {
	return refuse("the argument %q must be an age like 7d, a day like 2026-01-31 or a time like 2026-01-31T12:00:00Z, not %q", name, text)
}

// scopeArgs select sessions by project and agent.
type scopeArgs struct {
	Project string `json:"project" doc:"the directory whose sessions to use, or \"all\"; default: the current project, or all projects if it has no sessions"`
	Agent   string `json:"agent" doc:"only sessions of this agent, such as claude, codex, pi or omp"`
}

// allProjects is the value of "project" for all projects.
const allProjects = "all"

// dir returns the selected directory, or "" for all.
func (c *call) dir(a scopeArgs) (string, error) {
	switch {
	case a.Project == "":
		return c.project(c.ctx)
	case a.Project == allProjects || a.Project == "*":
		return "", nil
	case filepath.IsAbs(a.Project) || strings.Contains(a.Project, "://"):
		return a.Project, nil
	case c.opt.WorkDir != "":
		return filepath.Join(c.opt.WorkDir, a.Project), nil
	}
	return filepath.Abs(a.Project)
}

// position is a position in the result of a call. Each tool uses some of the members.
type position struct {
	Of string `json:"of"` // digest of the call
	// N counts what precedes the page. Back means that the page ends there.
	N    int  `json:"n,omitempty"`
	Back bool `json:"back,omitempty"`
	// After is a position in a list of sessions or runs.
	After string `json:"after,omitempty"`
	// Dir is the selected directory, or "" for all. Wide means that all projects were searched because the current one has nothing. Until
	// is the end of a search in milliseconds.
	Dir   string `json:"dir,omitempty"`
	Wide  bool   `json:"wide,omitempty"`
	Until int64  `json:"until,omitempty"`
	// Search is the number of a search that is continued; see searches.
	Search int `json:"search,omitempty"`
	// Leaf is the end of a path.
	Leaf string `json:"leaf,omitempty"`
}

// digest identifies a call by its arguments, so that a cursor of another call is recognized.
func digest(tool string, args ...string) string {
	h := fnv.New64a()
	for _, a := range append([]string{tool}, args...) {
		_, _ = h.Write([]byte(strconv.Quote(a))) // it cannot fail
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// begin parses a cursor; "" means the beginning.
func begin(cursor, of string) (p position, err error) {
	if cursor == "" {
		return position{Of: of}, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil || p.Of != of || p.N < 0 {
		return p, errCursor
	}
	return p, nil
}

// cursor returns the position as clients see it.
func (p position) cursor() *string {
	data, err := json.Marshal(p)
	if err != nil {
		return nil // numbers and strings always encode
	}
	text := base64.RawURLEncoding.EncodeToString(data)
	return &text
}

// room counts the bytes of a result that are left.
type room struct{ left int }

// take reports whether a value fits, and reserves its space if it does.
func (r *room) take(v any) (bool, error) {
	text, err := encode(v)
	if err != nil || len(text)+1 > r.left {
		return false, err
	}
	r.left -= len(text) + 1
	return true, nil
}
