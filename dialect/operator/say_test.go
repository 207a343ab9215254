package operator

import (
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

func TestSay(t *testing.T) {
	at := time.Unix(1755000000, 250_000_000)
	for _, role := range []session.Role{session.RoleUser, session.RoleAssistant} {
		m, err := Operator.Say(role, "hi \"there\"", at, session.ModelRef{})
		if err != nil || !rawjson.Valid(m) || Operator.checkMessage(m) != nil || rawjson.Str(m, "role") != role.String() ||
			rawjson.Str(rawjson.At(m, "/contents/0"), "content") != `hi "there"` || rawjson.Str(m, "id") == "" {
			t.Errorf("%s, %v", m, err)
		}
		if role == session.RoleAssistant && (rawjson.Str(m, "stop_reason") != "stop" || !rawjson.IsObject(rawjson.At(m, "/usage/cost"))) {
			t.Errorf("an answer is %s", m)
		}
	}
	if _, err := Operator.Say(session.RoleTool, "hi", at, session.ModelRef{}); err == nil {
		t.Error("a tool speaks")
	}
}

func TestSetID(t *testing.T) {
	got, err := Operator.SetID([]byte(`{"id":"a","parent_id":"b", "type":"x"}`), "c")
	if want := `{"id":"c","parent_id":"b", "type":"x"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
