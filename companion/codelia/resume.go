package codelia

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Resume implements store.Resumer.
func (c *Companion) Resume(s store.State, now store.Environment) ([]session.Raw, error) {
	return resume(s, now), nil
}

// Resume implements store.Resumer.
func (d *Document) Resume(s store.State, now store.Environment) ([]session.Raw, error) {
	return resume(s, now), nil
}

// resume gives what the model sees first when a session goes on: Healed, and before it, where working directory or root
// are others than those that the state names, a system message that says so. The system prompt is the agent's to add.
func resume(s store.State, now store.Environment) []session.Raw {
	list := Healed(s.Messages)
	if text, changed := Reminder(s, now); changed {
		list = slices.Insert(list, 0, session.Raw(slices.Concat([]byte(`{"role":"system","content":`), rawjson.Quote(text), []byte("}"))))
	}
	return list
}

// reminder begins the message that tells of the environment.
const reminder = `<system-reminder type="session.resume.diff">`

// Reminder is what the program tells the model about where a session goes on, word for word; changed says whether that is
// elsewhere than before. The program tells it also where nothing changed.
func Reminder(s store.State, now store.Environment) (text string, changed bool) {
	was := rawjson.Get(s.Meta, "codelia_resume_context")
	before := store.Environment{
		Root: rawjson.Str(was, "workspace_root"), WorkDir: rawjson.Str(was, "working_dir"), Sandbox: rawjson.Str(was, "sandbox_root"),
		Approval: rawjson.Str(was, "approval_mode"), Provider: rawjson.Str(was, "model_provider"), Model: rawjson.Str(was, "model_name"),
	}
	// States that are older than the resume context have the root alone.
	if before.Root == "" {
		before.Root = s.Root
	}
	if before.WorkDir == "" && !below(before.Root, now.WorkDir) {
		before.WorkDir = before.Root // where it was is not known, but it was not here
	}
	// Differences stand behind all lines about the present; the program has them in that order.
	var b, diff strings.Builder
	b.WriteString(reminder + "\nSession resumed in current runtime context:\n")
	line := func(name, was, is string) (differs bool) {
		if is == "" {
			return false
		}
		b.WriteString("- Current " + name + ": " + is + "\n")
		// What was not noted is not called changed.
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

// below says whether a directory is a folder or lies in it.
func below(folder, dir string) bool {
	rel, err := filepath.Rel(folder, dir)
	return err == nil && filepath.IsLocal(rel)
}

func modelName(e store.Environment) string {
	if e.Provider == "" || e.Model == "" {
		return e.Provider + e.Model
	}
	return e.Provider + "/" + e.Model
}

// Healed gives a conversation that a provider takes: without the system messages that begin it and reminders of earlier
// resumes (both are made anew), without calls that nothing answers and without answers to nothing. An answer counts when
// it stands behind its call. A message that says something stays when its calls go.
func Healed(messages []session.Raw) []session.Raw {
	start := 0
	for start < len(messages) && rawjson.Str(messages[start], "role") == "system" {
		start++
	}
	messages = messages[start:]
	// An answer is that of the last call with its id before it: some servers count calls anew in each turn, so that ids
	// stand again. A call behind its answer, in a history that was cut, has none.
	asked, answered := map[string]int{}, map[call]bool{}
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
				answered[call{at, id}] = true
			} else {
				stray[i] = true
			}
		}
	}
	list := make([]session.Raw, 0, len(messages))
	for i, m := range messages {
		switch role := rawjson.Str(m, "role"); {
		case role == "system" && strings.HasPrefix(rawjson.Str(m, "content"), reminder):
			continue
		case role == "tool":
			// Providers refuse a request with an answer before its call as they refuse one without.
			if stray[i] {
				continue
			}
		case role == "assistant" && rawjson.Get(m, "tool_calls") != nil:
			if m = withoutCalls(m, func(id string) bool { return answered[call{i, id}] }); m == nil {
				continue
			}
		}
		list = append(list, m)
	}
	return list
}

// call is a call of a tool: the message that it stands in, and its id there.
type call struct {
	at int
	id string
}

// withoutCalls leaves out the calls that nothing answers; nil where nothing is left. A message whose calls are all answered
// stays byte for byte.
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
		list := slices.Concat([]byte("["), slices.Concat(joined(kept)...), []byte("]"))
		return rawjson.Set(m, "tool_calls", list)
	case !rawjson.Truthy(rawjson.Get(m, "content")):
		return nil
	}
	return rawjson.Delete(m, "tool_calls")
}

// joined puts commas between values.
func joined(values [][]byte) [][]byte {
	var list [][]byte
	for i, v := range values {
		if i > 0 {
			list = append(list, []byte(","))
		}
		list = append(list, v)
	}
	return list
}
