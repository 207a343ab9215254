package wave

import (
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Ruler = (*Dialect)(nil)

// File describes a session's log as the document does. CreatedAt is zero where the id has no time.
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

// lastActive is the time of the last message with a valid time, or else that of the file.
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

// Check checks the document's rules for a session as a whole; those for messages are checked while they are decoded. The
// program accepts other ids: for it they only need to be file names that it finds.
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
		if checkV6(m.ID) == nil { // reported already
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
