package codex

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// outputOf returns the type of the output of a call; "" if the item is not a call.
func outputOf(kind string) string {
	switch kind {
	case "function_call", "local_shell_call":
		return "function_call_output"
	case "custom_tool_call":
		return "custom_tool_call_output"
	case "tool_search_call":
		return "tool_search_output"
	}
	return ""
}

// isOutput reports whether items of a type are outputs of calls.
func isOutput(kind string) bool {
	return kind == "function_call_output" || kind == "custom_tool_call_output" || kind == "tool_search_output"
}

// heal adds an output to each call without one, and drops outputs without a call. Calls and outputs without an id stay as they are.
func heal(history []item) []item {
	type key struct{ kind, id string }
	calls, outputs := map[key]bool{}, map[key]bool{}
	for _, i := range history {
		if i.unseen != "" {
			continue
		}
		if out := outputOf(i.kind); out != "" {
			calls[key{out, i.id}] = true
		} else {
			outputs[key{i.kind, i.id}] = true
		}
	}
	var out []item
	for _, i := range history {
		if i.unseen == "" && isOutput(i.kind) && i.named && !i.remote() && !calls[key{i.kind, i.id}] {
			i.unseen = "an output whose call is not there"
		}
		out = append(out, i)
		if kind := outputOf(i.kind); kind != "" && i.unseen == "" && i.named && !outputs[key{kind, i.id}] {
			out = append(out, item{entry: i.entry, kind: kind, id: i.id, json: aborted(kind, i.id)})
		}
	}
	return out
}

// remote reports whether the provider itself made an output, which then needs no call.
func (i *item) remote() bool {
	return i.kind == "tool_search_output" && rawjson.Str(i.json, "execution") == "server"
}

// aborted is the output that the program sends for a call without one.
func aborted(kind, id string) []byte {
	var w dialect.Object
	w.Str("type", kind)
	w.Str("call_id", id)
	if kind == "tool_search_output" {
		w.Str("status", "completed")
		w.Str("execution", "client")
		w.Add("tools", []byte("[]"))
		return w.End()
	}
	w.Str("output", "aborted")
	return w.End()
}

// agentItem is a message between agents.
func agentItem(e session.Entry, payload []byte) item {
	i := item{entry: e, kind: "agent_message", turn: true, json: agentMessage(payload)}
	for _, key := range []string{"author", "recipient"} {
		if !isAgent(rawjson.Get(payload, key)) {
			i.unseen = "a message between agents without a valid " + key
		}
	}
	if others := rawjson.Get(payload, "other_recipients"); others != nil {
		for other := range rawjson.Elements(others) {
			if !isAgent(other) {
				i.unseen = "a message between agents with a recipient that is not valid"
			}
		}
		if !rawjson.IsArray(others) {
			i.unseen = "a message between agents whose other_recipients are not a list"
		}
	}
	if trigger := rawjson.Get(payload, "trigger_turn"); !rawjson.IsString(rawjson.Get(payload, "content")) || string(trigger) != "true" && string(trigger) != "false" {
		i.unseen = "a message between agents that is not valid"
	}
	return i
}

// isAgent reports whether a value is the path of an agent. Only the first name in it is root.
func isAgent(value []byte) bool {
	name, ok := rawjson.Unquote(value)
	names := strings.Split(name, "/")
	return ok && (name == "/morpheus" || strings.HasPrefix(name+"/", "/root/") && !slices.ContainsFunc(names[2:], func(n string) bool {
		return n == "" || n == "root" || strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789_") != ""
	}))
}

// agentMessage is a message between agents as it is sent. Encrypted content follows a heading of the program, which replaces
// the text.
func agentMessage(payload []byte) []byte {
	text, secret := rawjson.Str(payload, "content"), rawjson.Get(payload, "encrypted_content")
	parts := [][]byte{nil}
	if rawjson.IsString(secret) {
		kind := "MESSAGE"
		if string(rawjson.Get(payload, "trigger_turn")) == "true" {
			kind = "NEW_TASK"
		}
		text = "Message Type: " + kind + "\nTask name: " + rawjson.Str(payload, "recipient") + "\nSender: " + rawjson.Str(payload, "author") + "\nPayload:\n"
		var part dialect.Object
		part.Str("type", "encrypted_content")
		part.Add("encrypted_content", secret)
		parts = append(parts, part.End())
	}
	parts[0] = inputText(text)
	var w dialect.Object
	w.Str("type", "agent_message")
	w.Copy(payload, "author", "recipient")
	w.Add("content", dialect.Array(parts))
	return w.End()
}
