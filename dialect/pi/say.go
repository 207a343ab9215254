package pi

import (
	"fmt"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Speaker = (*Dialect)(nil)

// Say makes a message from plain text with all members that the programs expect: they add up the usage of each answer
// without checking that it has one.
func (d *Dialect) Say(role session.Role, text string, at time.Time, model session.ModelRef) ([]byte, error) {
	var name string
	switch role {
	case session.RoleUser:
		name = "user"
	case session.RoleAssistant:
		name = "assistant"
	default:
		return nil, fmt.Errorf("%s has no plain text of the role %q", d.name, role)
	}
	w := object(`"role":"` + name + `"`)
	w.Add("content", append(append([]byte(`[{"type":"text","text":`), rawjson.Quote(text)...), "}]"...))
	if role == session.RoleAssistant {
		// An answer must name a model; without one it gets a name that no real model has.
		provider, id := model.Provider, model.Model
		if provider == "" || id == "" {
			provider, id = "treeline", "none"
		}
		w.Add("api", []byte(`"treeline"`))
		w.Add("provider", rawjson.Quote(provider))
		w.Add("model", rawjson.Quote(id))
		w.Add("usage", []byte(`{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,`+
			`"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}`))
		w.Add("stopReason", []byte(`"stop"`))
	}
	w.Add("timestamp", strconv.AppendInt(nil, at.UnixMilli(), 10))
	return w.End(), nil
}
