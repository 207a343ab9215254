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

// Say makes a message of plain text, with all that the programs count on finding in one: they add up the usage of each
// answer without asking whether it has any.
func (d *Dialect) Say(role session.Role, text string, at time.Time, model session.ModelRef) ([]byte, error) {
	var name string
	switch role {
	case session.RoleUser:
		name = "user"
	case session.RoleAssistant:
		name = "assistant"
	default:
		return nil, fmt.Errorf("plain text of the role %q is nothing that %s knows", role, d.name)
	}
	w := object(`"role":"` + name + `"`)
	w.Add("content", append(append([]byte(`[{"type":"text","text":`), rawjson.Quote(text)...), "}]"...))
	if role == session.RoleAssistant {
		// An answer must name a model. Where none is known it is one that nobody takes for real.
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
