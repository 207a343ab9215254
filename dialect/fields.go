package dialect

import (
	"bytes"
	"errors"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Fields are the members of an envelope as the pi and operator families write it.
type Fields struct {
	Type, ID, Parent, Target, Label, Role []byte
	KeepIndex                             []byte // firstKeptEntryIndex
	Timestamp                             []byte // the timestamp and everything after it
	HasParent                             bool   // true even where the parent is null
}

// Names says how a family spells the members of an envelope.
type Names struct {
	// Snake: the members are parent_id and target_id, not parentId and targetId.
	Snake bool
	// ZeroIsID: the number 0 is a valid id. In JavaScript 0 is falsy.
	ZeroIsID bool
}

// roleInitial is the initial of the only member of a message that an envelope needs.
var roleInitial = rawjson.InitialsOf("role")

// Scan reads the record at pos once and gives the offset of its end. It decodes only strings that have escapes.
func (f *Fields) Scan(t *rawjson.Text, pos int, n Names) (int, error) {
	members, end, err := t.Outline(pos, roleInitial)
	if err != nil {
		return 0, err
	}
	inMessage := false
	for k := range members {
		m := &members[k]
		key := t.Key(m)
		if m.Inner {
			if inMessage && string(key) == "role" {
				f.Role = n.Word(t.Value(m))
			}
			continue
		}
		inMessage = false
		switch string(key) {
		case "type":
			f.Type = n.Word(t.Value(m))
		case "id":
			f.ID = n.Word(t.Value(m))
		case "parentId", "parent_id":
			if n.Snake == (key[6] == '_') {
				f.Parent, f.HasParent = n.Word(t.Value(m)), true
			}
		case "message":
			f.Role, inMessage = nil, true
		case "timestamp":
			f.Timestamp = t.From(m)
		case "targetId", "target_id":
			if n.Snake == (key[6] == '_') {
				f.Target = n.Word(t.Value(m))
			}
		case "label":
			f.Label = n.Word(t.Value(m))
		case "firstKeptEntryIndex":
			f.KeepIndex = t.Value(m)
		}
	}
	return end, nil
}

// Word returns the text between the quotes of a string, a number as it is spelled (an id may be one), and nil for any other value.
// It repeats rawjson.Inside: a second call for each member would take 3 % of the time of opening a log.
func (n Names) Word(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		if IsNumber(value) && (n.ZeroIsID || string(value) != "0") {
			return value
		}
		return nil
	}
	inside := value[1 : len(value)-1]
	if bytes.IndexByte(inside, '\\') >= 0 {
		s, _ := rawjson.Unquote(value)
		return []byte(s)
	}
	return inside
}

// IsNumber reports whether a JSON value is a number.
func IsNumber(value []byte) bool { return len(value) > 0 && (value[0] == '-' || value[0]-'0' <= 9) }

// RoleOf maps the name of a role to a Role. tool is the agent's name for the role of a tool.
func RoleOf(name []byte, tool string) session.Role {
	switch string(name) {
	case "assistant":
		return session.RoleAssistant
	case "user":
		return session.RoleUser
	case "system":
		return session.RoleSystem
	case "":
		return session.RoleNone
	case tool:
		return session.RoleTool
	}
	return session.RoleOther
}

// SetArguments is Editor.SetArguments for records whose message has its blocks in the member content. Tool calls are the blocks of
// type call, with their arguments in the member args.
func SetArguments(record []byte, callID string, arguments []byte, content, call, args string) ([]byte, bool, error) {
	if !rawjson.Valid(arguments) {
		return nil, false, errors.New("the arguments are not JSON")
	}
	found := false
	message := rawjson.Get(record, "message")
	blocks := rawjson.MapElements(rawjson.Get(message, content), func(block []byte) []byte {
		if rawjson.Str(block, "type") == call && rawjson.Str(block, "id") == callID {
			block = rawjson.Set(block, args, rawjson.Compact(arguments))
			found = true
		}
		return block
	})
	if !found {
		return record, false, nil
	}
	return rawjson.Set(record, "message", rawjson.Set(message, content, blocks)), true, nil
}
