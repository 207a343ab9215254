package pi

import (
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Speaker = (*Dialect)(nil)

// Say makes a message from plain text with all members that the programs expect: they add up the usage of each answer
// without checking that it has one.
func (d *Dialect) Say(role session.Role, text string, at time.Time, model session.ModelRef) ([]byte, error) {
	if role != session.RoleUser && role != session.RoleAssistant {
		return nil, fmt.Errorf("%s has no plain text of the role %q", d.name, role)
	}
	m := dialect.NewMessage{Role: role, Parts: []session.Part{session.Text{Text: text}}, Time: at,
		Provider: model.Provider, Model: model.Model}
	// An answer must name a model; without one it gets a name that no real model has.
	if m.Provider == "" || m.Model == "" {
		m.Provider, m.Model = "treeline", "none"
	}
	list, err := d.Compose(m)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}
