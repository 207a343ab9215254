package operator

import (
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Speaker = (*Dialect)(nil)
	_ dialect.Namer   = (*Dialect)(nil)
)

// Say makes a message from plain text. The model is not in it: entries of their own name the model.
func (d *Dialect) Say(role session.Role, text string, at time.Time, _ session.ModelRef) ([]byte, error) {
	// the id is made from the text and the time, because Say has no random source
	m := dialect.NewMessage{
		ID:   fmt.Sprintf("%d %s %s", at.UnixNano(), role, text),
		Role: role, Parts: []session.Part{session.Text{Text: text}}, Time: at,
	}
	if role == session.RoleAssistant {
		m.Stop, m.Usage = dialect.StopEnd, &session.Usage{}
	}
	list, err := d.Compose(m)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// SetID changes the id of a record.
func (d *Dialect) SetID(record []byte, id session.EntryID) ([]byte, error) {
	return rawjson.EscapeBreaks(rawjson.Set(record, "id", rawjson.Quote(string(id)))), nil
}
