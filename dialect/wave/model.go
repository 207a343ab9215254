package wave

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The entities of the format's document, with all fields and rules. Validate returns the rules that are broken.

// broken are the rules that an entity breaks.
type broken []error

// rule notes a rule that does not hold.
func (b *broken) rule(holds bool, format string, args ...any) {
	if !holds {
		*b = append(*b, fmt.Errorf(format, args...))
	}
}

// Permissions say what the program may do with a folder.
type Permissions string

// The permissions of the document.
const (
	PermissionRead      Permissions = "read"
	PermissionWrite     Permissions = "write"
	PermissionReadWrite Permissions = "readwrite"
	PermissionNone      Permissions = "none"
)

// SessionDirectory is the folder of all projects.
type SessionDirectory struct {
	BasePath    string
	Exists      bool
	Permissions Permissions
}

// Directory describes the folder of all projects on a machine. It creates nothing.
func Directory(env dialect.Env) SessionDirectory {
	d := SessionDirectory{BasePath: Doc.Where.Roots(env)[0].Sessions, Permissions: PermissionNone}
	if env.Access == nil {
		return d
	}
	exists, read, write := env.Access(d.BasePath)
	d.Exists = exists
	switch {
	case read && write:
		d.Permissions = PermissionReadWrite
	case read:
		d.Permissions = PermissionRead
	case write:
		d.Permissions = PermissionWrite
	}
	return d
}

// Validate returns all reasons why no session can be created here. A missing folder is not a reason: it is created with the
// first session.
func (d SessionDirectory) Validate() error {
	var errs broken
	errs.rule(filepath.IsAbs(d.BasePath), "base path %q is not absolute", d.BasePath)
	errs.rule(!d.Exists || d.Permissions == PermissionReadWrite || d.Permissions == PermissionWrite,
		"%s is not writable (%s)", d.BasePath, d.Permissions)
	return errors.Join(errs...)
}

// ProjectDirectory is the folder of the sessions of one working directory. The hash is that of the resolved path.
type ProjectDirectory struct {
	// OriginalPath is resolved: no part of it is a symbolic link.
	OriginalPath string
	EncodedName  string
	EncodedPath  string
	// PathHash is set if it is part of the name, because the name would be too long or another directory has it.
	PathHash       string
	IsSymbolicLink bool
}

// Project returns the folder for the sessions of a working directory. owners, if not nil, gives the working directories that
// the sessions in a folder name: if another directory has the name, it gets a hash.
func (d *Dialect) Project(env dialect.Env, cwd string, owners func(dir string) []string) ProjectDirectory {
	if owners == nil {
		owners = func(string) []string { return nil }
	}
	name := d.Where.(layout).DirBeside(env, cwd, owners)
	p := ProjectDirectory{
		OriginalPath: resolve(env, cwd), EncodedName: name,
		EncodedPath:    filepath.Join(d.Where.Roots(env)[0].Sessions, name),
		IsSymbolicLink: isLink(env, cwd),
	}
	if hash := pathHash(p.OriginalPath); strings.HasSuffix(name, "-"+hash) {
		p.PathHash = hash
	}
	return p
}

// isLink reports whether the path itself is a symbolic link; its parents may be.
func isLink(env dialect.Env, p string) bool {
	if !filepath.IsAbs(p) {
		p = filepath.Join(env.WorkDir, p)
	}
	real, err := env.Realpath(p)
	if err != nil {
		return false
	}
	parent, err := env.Realpath(filepath.Dir(p))
	return err == nil && real != filepath.Join(parent, filepath.Base(p))
}

// Validate checks the document's rules. A name whose length differs from that of the plain one was cut and needs the hash.
func (p ProjectDirectory) Validate() error {
	var errs broken
	errs.rule(filepath.IsAbs(p.OriginalPath) && filepath.Clean(p.OriginalPath) == p.OriginalPath,
		"original path %q is not absolute and resolved", p.OriginalPath)
	errs.rule(p.EncodedName != "" && !strings.ContainsFunc(p.EncodedName, func(r rune) bool { return !safe(r) }),
		"encoded name %q: only letters, digits, hyphens and underscores", p.EncodedName)
	errs.rule(len(p.EncodedName) <= maxName, "encoded name of %d characters, more than %d", len(p.EncodedName), maxName)
	errs.rule(len(documentName(p.OriginalPath)) == len(p.EncodedName) || p.PathHash != "",
		"encoded name %q needs a path hash", p.EncodedName)
	errs.rule(filepath.Base(p.EncodedPath) == p.EncodedName,
		"encoded path %q does not end in the encoded name", p.EncodedPath)
	return errors.Join(errs...)
}

// SessionFile is the log of one session.
type SessionFile struct {
	SessionID    string
	FilePath     string
	Workdir      string
	MessageCount int
	FileSize     int64
	// CreatedAt is the time in the id.
	CreatedAt    time.Time
	LastModified time.Time
}

// Validate checks the document's rules. It does not check that the file exists: a list may be made from names alone.
func (f SessionFile) Validate() error {
	errs := broken{checkV6(f.SessionID)}
	name := filepath.ToSlash(f.FilePath)
	errs.rule(path.Ext(name) == ".jsonl", "file %q does not end in .jsonl", f.FilePath)
	errs.rule(string(fileID(name)) == f.SessionID, "session %q is in the file %q", f.SessionID, filepath.Base(f.FilePath))
	errs.rule(f.MessageCount >= 0, "%d messages", f.MessageCount)
	return errors.Join(errs...)
}

// checkV6 checks form and version of an id, because lists use the time in the id.
func checkV6(id string) error {
	u, err := ParseUUID(id)
	if err != nil {
		return fmt.Errorf("session id: %w", err)
	}
	switch _, ok := u.Time(); {
	case ok:
		return nil
	case u.Version() == 6: // such as the document's own example
		return fmt.Errorf("session id %q says version 6, but is not a UUID of RFC 9562: the digit after the third hyphen is %c, not 8, 9, a or b", id, id[19])
	}
	return fmt.Errorf("session id %q is a UUID of version %d, not 6", id, u.Version())
}

// SessionMessage is one line with raw members; Validate checks them.
type SessionMessage struct {
	Role      string
	Blocks    session.Raw // an array; Blocks decodes it
	Timestamp string
	Usage     session.Raw
	Metadata  session.Raw
}

// ParseMessage reads a line.
func ParseMessage(line []byte) (SessionMessage, error) {
	if !rawjson.IsObject(line) || !rawjson.Valid(line) {
		return SessionMessage{}, errors.New("the line is not a JSON object")
	}
	return SessionMessage{
		Role: rawjson.Str(line, "role"), Blocks: rawjson.Get(line, "blocks"), Timestamp: rawjson.Str(line, "timestamp"),
		Usage: rawjson.Get(line, "usage"), Metadata: rawjson.Get(line, "metadata"),
	}, nil
}

// Validate checks the document's rules.
func (m SessionMessage) Validate() error {
	var errs broken
	for _, wrong := range violations([]byte(m.Role), m.Blocks, rawjson.Quote(m.Timestamp)) {
		errs.rule(false, "%s", wrong)
	}
	return errors.Join(errs...)
}

// violations lists the rules that a message breaks, each in a short text for a Problem; nil for nearly all messages. It is
// called for every message that is read.
func violations(role, blocks, timestamp []byte) (list []string) {
	if r := roleOf(role); r != session.RoleUser && r != session.RoleAssistant {
		list = append(list, fmt.Sprintf("role is %q, neither user nor assistant", dialect.Shorten(role)))
	}
	if !rawjson.IsArray(blocks) {
		list = append(list, fmt.Sprintf("blocks is %s, not a list", dialect.Spelled(blocks)))
	} else if string(role) == "user" && isEmpty(blocks) {
		list = append(list, "a message of the user without blocks")
	}
	if !isISO(timestamp) {
		list = append(list, fmt.Sprintf("timestamp is %s, not a time in ISO 8601", dialect.Spelled(timestamp)))
	}
	return list
}

// isEmpty reports whether an array has no elements.
func isEmpty(array []byte) bool {
	i := rawjson.SkipSpace(array, 0) + 1
	i = rawjson.SkipSpace(array, i)
	return i < len(array) && array[i] == ']'
}

// isISO reports whether a value is a string with a time in ISO 8601: a date, a T, a time and a zone. The usual spelling is
// compared byte by byte, because parsing a time costs more than reading the rest of the envelope.
func isISO(value []byte) bool {
	if len(value) == len(`"2026-11-15T01:30:26.240Z"`) && value[0] == '"' && value[24] == 'Z' && isUsual(value[1:24]) {
		return true
	}
	s, ok := rawjson.Unquote(value)
	if !ok || len(s) < len("2026-11-15") || len(s) > 10 && s[10] != 'T' {
		return false
	}
	_, ok = session.Time{Text: string(rawjson.Quote(s))}.Time()
	return ok
}

// isUsual reports whether a time has the form that nearly all times have. It returns false for days after the 28th, which time.Parse checks.
func isUsual(s []byte) bool {
	const form = "0000-00-00T00:00:00.000"
	for i, c := range s {
		if form[i] == '0' && (c < '0' || c > '9') || form[i] != '0' && c != form[i] {
			return false
		}
	}
	two := func(i int) int { return int(s[i]-'0')*10 + int(s[i+1]-'0') }
	month, day := two(5), two(8)
	return month >= 1 && month <= 12 && day >= 1 && day <= 28 && two(11) < 24 && two(14) < 60 && two(17) < 60
}

// SessionMetadata is a session in a list.
type SessionMetadata struct {
	ID           string
	Workdir      string
	StartedAt    time.Time // the time in the id
	LastActiveAt time.Time
	MessageCount int
	FileSize     int64
}

// Metadata returns what a list shows of a file.
func (f SessionFile) Metadata() SessionMetadata {
	return SessionMetadata{ID: f.SessionID, Workdir: f.Workdir, StartedAt: f.CreatedAt, LastActiveAt: f.LastModified,
		MessageCount: f.MessageCount, FileSize: f.FileSize}
}

// Validate checks the document's rules. Times are compared in milliseconds, as messages spell them.
func (m SessionMetadata) Validate() error {
	errs := broken{checkV6(m.ID)}
	errs.rule(m.StartedAt.UnixMilli() <= m.LastActiveAt.UnixMilli(), "it began at %s and was last active before that, at %s",
		m.StartedAt.UTC().Format(time.RFC3339Nano), m.LastActiveAt.UTC().Format(time.RFC3339Nano))
	errs.rule(m.MessageCount >= 0, "%d messages", m.MessageCount)
	errs.rule(m.FileSize >= 0, "%d bytes", m.FileSize)
	return errors.Join(errs...)
}

var _ dialect.Ruler = (*Dialect)(nil)

// File describes a session's log in the document's terms. CreatedAt is zero if the id has no time.
func File(t *session.Tree, log dialect.LogInfo) SessionFile {
	h := t.Header()
	f := SessionFile{
		SessionID: string(h.ID), FilePath: log.Name, Workdir: h.CWD, FileSize: log.Size, LastModified: log.Changed,
	}
	if u, err := ParseUUID(f.SessionID); err == nil {
		f.CreatedAt, _ = u.Time()
	}
	for e := range t.Entries() {
		if e.IsMessage() {
			f.MessageCount++
		}
	}
	return f
}

// lastActive is the latest time of a message or of the file. A fork and a converted session are written after their messages.
func lastActive(t *session.Tree, changed time.Time) time.Time {
	for e := range t.Entries() {
		at, err := e.Time()
		if err != nil {
			continue
		}
		if at, ok := at.Time(); ok && at.After(changed) {
			changed = at
		}
	}
	return changed
}

// clockStep is the coarsest resolution of file times, two seconds: a file may seem older than the clock by that much.
const clockStep = 2 * time.Second

// Check reports broken rules of the document about a session as a whole; those about messages are reported while they are decoded. The
// program accepts other ids: they only need to be file names that it finds.
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
	if behind := m.StartedAt.Sub(m.LastActiveAt); behind > 0 && behind < clockStep {
		m.LastActiveAt = m.StartedAt
	}
	if d.Where.(layout).document {
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

// split returns the errors that were joined.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}
