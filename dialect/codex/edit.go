package codex

import (
	"errors"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Editor  = (*Dialect)(nil)
	_ dialect.Adopter = (*Dialect)(nil)
)

// Rechain changes nothing: the parents follow from the order of the lines.
func (d *Dialect) Rechain(record []byte, _, _ session.EntryID) ([]byte, error) { return record, nil }

// SetArguments changes the arguments of one tool call, which are JSON in a string. The input of a custom tool is a text, given
// as a JSON string.
func (d *Dialect) SetArguments(record []byte, callID string, arguments []byte) ([]byte, bool, error) {
	if !rawjson.Valid(arguments) {
		return nil, false, errors.New("the arguments are not JSON")
	}
	payload := rawjson.Get(record, "payload")
	if rawjson.Str(record, "type") != typeItem || rawjson.Str(payload, "call_id") != callID {
		return record, false, nil
	}
	var value []byte
	key := "arguments"
	switch rawjson.Str(payload, "type") {
	case "function_call":
		value = rawjson.Quote(string(rawjson.Compact(arguments)))
	case "custom_tool_call":
		key, value = "input", rawjson.Compact(arguments)
		if !rawjson.IsString(value) {
			value = rawjson.Quote(string(value))
		}
	case "local_shell_call":
		key, value = "action", rawjson.Compact(arguments)
	default:
		return record, false, nil
	}
	return rawjson.Set(record, "payload", rawjson.Set(payload, key, value)), true, nil
}

// Adopt keeps unknown members of the line and of its payload.
func (d *Dialect) Adopt(record, given []byte) []byte {
	was, is := rawjson.Get(given, "payload"), rawjson.Get(record, "payload")
	if rawjson.Str(given, "type") == typeTurnContext && rawjson.IsObject(was) {
		record = rawjson.Set(record, "payload", rawjson.Compact(was)) // the caller gave all settings
	} else if rawjson.IsObject(was) && rawjson.IsObject(is) && rawjson.Str(given, "type") == rawjson.Str(record, "type") {
		record = rawjson.Set(record, "payload", dialect.AdoptMembers(is, was))
	}
	return dialect.AdoptMembers(record, given, "timestamp", "ordinal")
}
