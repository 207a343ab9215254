package rpc

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/place"
)

// refParams name a session in the ways that people do.
type refParams struct {
	Ref *string `json:"ref" need:"" doc:"a session: its path, its id or the beginning of it (also agent:id), or @last"`
}

// isPath distinguishes a path or a URL from an id. An id has neither a slash nor an extension.
func isPath(ref string) bool {
	return strings.ContainsAny(ref, `/\`) || strings.HasSuffix(ref, ".jsonl")
}

// locate returns the path of a session. If several match, the error names at most twenty of them. A path is never looked up as an id: if
// the file is missing, no other session takes its place.
func (c *call) locate(ref string) (string, error) {
	switch {
	case ref == "":
		return "", badParams(`parameter "ref": must not be empty`)
	case strings.Contains(ref, "://"):
		return ref, nil
	case isPath(ref):
		return filepath.Abs(ref)
	}
	row, err := c.store.Find(c.outer, ref)
	var many *place.AmbiguousError
	if errors.As(err, &many) {
		var names []string
		for _, r := range many.Rows[:min(len(many.Rows), 20)] {
			names = append(names, r.Path)
		}
		err = fmt.Errorf("%w, such as %s", err, strings.Join(names, ", "))
	}
	return row.Path, err
}

// spanParams are a time span.
type spanParams struct {
	Since string `json:"since" doc:"only from this time on, such as 2026-01-31T12:00:00Z"`
	Until string `json:"until" doc:"only before this time"`
}

func (p spanParams) parse() (since, until time.Time, err error) {
	if since, err = moment("since", p.Since); err == nil {
		until, err = moment("until", p.Until)
	}
	return since, until, err
}

func moment(name, text string) (at time.Time, err error) {
	if text == "" {
		return at, nil
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, badParams("parameter %q: must be a time like 2026-01-31T12:00:00Z, not %q", name, text)
	}
	return at, nil
}

// directory makes a directory absolute. "" stays as it is and means all directories.
func directory(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	return filepath.Abs(dir)
}
