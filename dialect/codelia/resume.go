package codelia

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Resumer = (*StateDialect)(nil)

// Resume implements dialect.Resumer. The system prompt is the agent's to add.
func (d *StateDialect) Resume(header session.Raw, messages []session.Raw, now dialect.Here) []session.Raw {
	list := Healed(messages)
	if text, changed := Reminder(header, now); changed {
		list = slices.Insert(list, 0, session.Raw(slices.Concat([]byte(`{"role":"system","content":`), rawjson.Quote(text), []byte("}"))))
	}
	return list
}

// resumed begins the message that says where a session resumed. It is made again each time.
const resumed = `<system-reminder type="session.resume.diff">`

// isReminder reports whether a message is that of an earlier resume.
func isReminder(m []byte) bool {
	return rawjson.Str(m, "role") == "system" && strings.HasPrefix(rawjson.Str(m, "content"), resumed)
}

// Reminder is what the program tells the model about where a session resumes, word for word; changed reports whether that
// is another root or working directory than before. The program tells it in any case.
func Reminder(header session.Raw, now dialect.Here) (text string, changed bool) {
	was := rawjson.At(header, "/meta/codelia_resume_context")
	before := dialect.Here{
		Root: rawjson.Str(was, "workspace_root"), WorkDir: rawjson.Str(was, "working_dir"), Sandbox: rawjson.Str(was, "sandbox_root"),
		Approval: rawjson.Str(was, "approval_mode"), Provider: rawjson.Str(was, "model_provider"), Model: rawjson.Str(was, "model_name"),
	}
	// States older than the resume context have only the root.
	if before.Root == "" {
		before.Root = rawjson.Str(header, "workspace_root")
	}
	if before.WorkDir == "" && !below(before.Root, now.WorkDir) {
		before.WorkDir = before.Root // it is not known, but it was another one
	}
	// As in the program, all lines about the present come before those about differences.
	var b, diff strings.Builder
	b.WriteString(resumed + "\nSession resumed in current runtime context:\n")
	line := func(name, was, is string) (differs bool) {
		if is == "" {
			return false
		}
		b.WriteString("- Current " + name + ": " + is + "\n")
		if was == "" || was == is {
			return false
		}
		diff.WriteString("- " + strings.ToUpper(name[:1]) + name[1:] + " changed: " + was + " -> " + is + "\n")
		return true
	}
	root := line("workspace root", before.Root, now.Root)
	dir := line("working directory", before.WorkDir, now.WorkDir)
	line("sandbox root", before.Sandbox, now.Sandbox)
	line("approval mode", before.Approval, now.Approval)
	line("model", modelName(before), modelName(now))
	b.WriteString(diff.String())
	b.WriteString("Use the current runtime/workspace context for subsequent actions.\n</system-reminder>")
	return b.String(), root || dir
}

// below reports whether a directory is a folder or lies in it.
func below(folder, dir string) bool {
	rel, err := filepath.Rel(folder, dir)
	return err == nil && filepath.IsLocal(rel)
}

func modelName(h dialect.Here) string {
	if h.Provider == "" || h.Model == "" {
		return h.Provider + h.Model
	}
	return h.Provider + "/" + h.Model
}

// Healed gives a conversation that a provider accepts: without the system messages that begin it and the reminders of
// earlier resumes (the agent makes both again), without tool calls that have no result, and without results that follow no
// call. A message with content stays when its calls go.
func Healed(messages []session.Raw) []session.Raw {
	start := 0
	for start < len(messages) && rawjson.Str(messages[start], "role") == "system" {
		start++
	}
	messages = messages[start:]
	// A result belongs to the last call with its id before it: some servers number the calls of each turn from zero.
	asked, answered := map[string]int{}, map[toolCall]bool{}
	stray := map[int]bool{}
	for i, m := range messages {
		switch rawjson.Str(m, "role") {
		case "assistant":
			for c := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
				if id := rawjson.Str(c, "id"); id != "" {
					asked[id] = i
				}
			}
		case "tool":
			id := rawjson.Str(m, "tool_call_id")
			if at, ok := asked[id]; ok {
				answered[toolCall{at, id}] = true
			} else {
				stray[i] = true
			}
		}
	}
	list := make([]session.Raw, 0, len(messages))
	for i, m := range messages {
		if stray[i] || isReminder(m) {
			continue
		}
		if rawjson.Str(m, "role") == "assistant" && rawjson.Get(m, "tool_calls") != nil {
			m = withoutCalls(m, func(id string) bool { return answered[toolCall{i, id}] })
		}
		if m != nil {
			list = append(list, m)
		}
	}
	return list
}

// toolCall is a tool call: the index of its message, and its id.
type toolCall struct {
	at int
	id string
}

// withoutCalls leaves out the calls without a result; nil if nothing is left. A message whose calls all have one stays
// byte for byte.
func withoutCalls(m session.Raw, answered func(id string) bool) session.Raw {
	var kept [][]byte
	all := true
	for c := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
		if answered(rawjson.Str(c, "id")) {
			kept = append(kept, c)
		} else {
			all = false
		}
	}
	switch {
	case all:
		return m
	case len(kept) > 0:
		return rawjson.Set(m, "tool_calls", slices.Concat([]byte("["), bytes.Join(kept, []byte(",")), []byte("]")))
	case !rawjson.Truthy(rawjson.Get(m, "content")):
		return nil
	}
	return rawjson.Delete(m, "tool_calls")
}
