package wave

import (
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Ruler = (*Dialect)(nil)

// File describes a session's log as the document does.
// CreatedAt stays zero where the id has no time in it.
func File(t *session.Tree, log dialect.LogInfo) SessionFile {
	h := t.Header()
	f := SessionFile{
		SessionID: string(h.ID), FilePath: log.Name, Workdir: h.CWD, FileSize: log.Size, LastModified: log.Changed,
	}
	if u, err := ParseUUID(f.SessionID); err == nil {
		f.CreatedAt, _ = u.Time()
	}
	for e := range t.Entries() {
		if e.Kind == session.KindMessage || e.Kind == session.KindCompaction {
			f.MessageCount++
		}
	}
	return f
}

// lastActive is the time of the last message, the file's where there is none.
// It goes from the end: the last message with a time that can be read.
func lastActive(t *session.Tree, changed time.Time) time.Time {
	for i := t.Len() - 1; i >= 0; i-- {
		if at, err := t.At(i).Time(); err == nil {
			if at, ok := at.Time(); ok {
				return at
			}
		}
	}
	return changed
}

// Check checks the document's rules for a session as a whole. The program knows other ids: for it they need only be such
// that it finds the file.
// Only rules that concern the whole session are checked here; those of messages are reported while they are
// decoded.
func (d *Dialect) Check(t *session.Tree, log dialect.LogInfo) []session.Problem {
	var problems []session.Problem
	report := func(err error) {
		if err == nil {
			return
		}
		for _, e := range split(err) {
			problems = append(problems, session.Problem{Kind: session.ProblemField, Message: e.Error(),
				Advice: "the file is read as it is"})
		}
	}
	f := File(t, log)
	m := f.Metadata()
	m.LastActiveAt = lastActive(t, log.Changed)
	if d.layout.document {
		report(f.Validate())
		if checkV6(m.ID) == nil { // said already
			report(m.Validate())
		}
		return problems
	}
	if err := d.CheckID(session.ID(f.SessionID)); err != nil {
		report(err)
	} else if checkV6(m.ID) == nil {
		report(m.Validate())
	}
	return problems
}

// split gives the errors that were joined.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
