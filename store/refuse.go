package store

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// RefusedError is the error of a write that looks like a mistake. WriteOptions.Force writes it anyway.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason + "; nothing was written" }

// refuse makes a RefusedError of the session.
func (s *Session) refuse(format string, args ...any) error {
	return s.named(&RefusedError{fmt.Sprintf(format, args...)})
}

// check refuses an entry below parent that no program can use: a message without a role, a model change without a model, or a compaction that
// keeps from an entry that is not before it.
func (s *Session) check(body session.Body, parent session.EntryID) error {
	if s.w.opt.Force {
		return nil
	}
	switch b := body.(type) {
	case session.Message:
		// A body that is not a JSON object gets an error elsewhere.
		if b.Role == session.RoleNone && rawjson.IsObject(b.JSON) && json.Valid(b.JSON) {
			return s.refuse("the message has no role")
		}
	case session.ModelChange:
		if b.ModelID == "" && (b.Model == "" || strings.HasSuffix(b.Model, "/")) {
			return s.refuse("the model change names no model")
		}
	case session.Compaction:
		if b.FirstKept != "" && !s.w.d.Habits().KeepsByRepeating && !s.isBefore(b.FirstKept, parent) {
			return s.refuse("the compaction keeps from entry %q, which is not on the path to it", b.FirstKept)
		}
	}
	return nil
}

// isBefore reports whether an entry is on the path to another one, which may be proposed and not written yet.
func (s *Session) isBefore(id, leaf session.EntryID) bool {
	for p := s.proposed(leaf); p != nil; p = s.proposed(leaf) {
		if leaf == id {
			return true
		}
		leaf = p.entry.Parent
	}
	path, err := s.tree.Path(leaf)
	if err != nil {
		return false
	}
	for _, e := range path.Entries() {
		if e.ID == id {
			return true
		}
	}
	return false
}

// checkParents refuses a list of entries for a rewrite if the parent of one is not in the list. An entry of the session whose parent was
// missing before may keep that parent.
func (s *Session) checkParents(list []session.Entry) error {
	if s.w.opt.Force {
		return nil
	}
	ids := make(map[session.EntryID]bool, len(list))
	for _, e := range list {
		ids[e.ID] = true
	}
	for i, e := range list {
		if e.Parent == "" || ids[e.Parent] {
			continue
		}
		if old, ok := s.tree.Lookup(e.ID); ok && old.Parent == e.Parent && !s.tree.Has(e.Parent) {
			continue
		}
		return s.refuse("entry %d, %q, has the parent %q, which is no entry", i, e.ID, e.Parent)
	}
	return nil
}

// checkCWD refuses a working directory that does not exist, or is a file. A machine that cannot tell accepts all.
func (s *Store) checkCWD(cwd string, opt WriteOptions) error {
	access := s.Env().Access
	if cwd == "" || opt.Force || access == nil {
		return nil
	}
	dir := s.Absolute(cwd)
	if exists, _, _ := access(dir); !exists {
		return &RefusedError{fmt.Sprintf("the directory %s does not exist", dir)}
	}
	if exists, _, _ := access(dir + "/"); !exists { // only a directory has anything below it
		return &RefusedError{dir + " is not a directory"}
	}
	return nil
}
