package codelia

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Writer = (*StateDialect)(nil)

// Habits describes a linear session without branches, labels and names, created with its first message. The program replaces a state
// with every save (SavedWhole).
func (d *StateDialect) Habits() dialect.Habits {
	return dialect.Habits{Defer: dialect.DeferMessage, Nameless: true, ForkByID: true, ListsByCWD: true, SavedWhole: true}
}

// Header returns the state of a new session.
func (d *StateDialect) Header(n dialect.NewSession) ([]byte, error) {
	h := []byte(`{"schema_version":1}`)
	h = rawjson.Set(h, "session_id", rawjson.Quote(string(n.ID)))
	h = rawjson.Set(h, "updated_at", dialect.ISO(n.Time))
	if n.CWD != "" {
		h = setRoot(h, n.CWD)
	}
	return setParent(h, n.Parent), nil
}

// metaOf returns the meta of a header, an empty object if it has none.
func metaOf(h []byte) []byte {
	if meta := rawjson.Get(h, "meta"); rawjson.IsObject(meta) {
		return meta
	}
	return []byte("{}")
}

// setRoot sets the working directory in the two places where the program looks for it, and keeps the rest of the meta.
func setRoot(h []byte, cwd string) []byte {
	h = rawjson.Set(h, "workspace_root", rawjson.Quote(cwd))
	return rawjson.Set(h, "meta", rawjson.Set(metaOf(h), "codelia_workspace_root", rawjson.Quote(cwd)))
}

// setParent sets the parent in our own member, because codelia has none.
func setParent(h []byte, parent string) []byte {
	meta := metaOf(h)
	own := rawjson.Get(meta, ownMember)
	switch {
	case parent == "" && own == nil:
		return h
	case parent == "":
		return rawjson.Set(h, "meta", rawjson.Delete(meta, ownMember))
	}
	return rawjson.Set(h, "meta", rawjson.Set(meta, ownMember, rawjson.Set([]byte("{}"), "parent", rawjson.Quote(parent))))
}

// EditHeader changes members of a header and keeps all others. The only time of a state is updated_at.
func (d *StateDialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (header, slot []byte, err error) {
	raw := h.Raw
	if edit.Title != nil && *edit.Title != "" {
		return nil, nil, fmt.Errorf("a session of %s has no title", d.Called)
	}
	if edit.ID != nil {
		raw = rawjson.Set(raw, "session_id", rawjson.Quote(string(*edit.ID)))
	}
	if edit.Time != nil {
		raw = rawjson.Set(raw, "updated_at", dialect.ISO(*edit.Time))
	}
	if edit.CWD != nil {
		raw = setRoot(raw, *edit.CWD)
	}
	if edit.Parent != nil {
		raw = setParent(raw, *edit.Parent)
	}
	return raw, nil, nil
}

// Record returns the line of a message, which is the message itself. A message that would be read back as an entry of another family or as
// a header is refused.
func (d *StateDialect) Record(n dialect.NewEntry) ([]byte, error) {
	b, ok := n.Body.(session.Message)
	if !ok {
		return nil, fmt.Errorf("a session of %s holds only messages: an entry of the kind %s is %w", d.Called, session.KindOf(n.Body), dialect.ErrUnsupported)
	}
	m := rawjson.Compact(b.JSON)
	if !rawjson.IsObject(m) || !rawjson.Valid(m) {
		return nil, errors.New("the message must be a JSON object")
	}
	if rawjson.Str(m, "role") == "" {
		return nil, errors.New("the message has no role")
	}
	if rawjson.Get(m, "type") != nil || isState(m) {
		return nil, errors.New("a message of codelia has no type")
	}
	return rawjson.EscapeBreaks(m), nil
}

// NewID makes a UUID of version 4.
func (d *StateDialect) NewID(_ time.Time, random io.Reader) (session.ID, error) {
	id, err := Codelia.NewRunID(random)
	return session.ID(id), err
}
