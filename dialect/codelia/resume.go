package codelia

import (
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Resumer = (*StateDialect)(nil)

// Resume implements dialect.Resumer.
func (d *StateDialect) Resume(h session.Header, now dialect.Here) []session.Raw {
	text, changed := Reminder(h, now)
	if !changed {
		return nil
	}
	return []session.Raw{message("system", rawjson.Quote(text))}
}

// resumed begins the message that says where a session resumes. The message is made again at each resume.
const resumed = `<system-reminder type="session.resume.diff">`

// Reminder is what the program tells the model about where a session resumes, word for word. changed reports whether the
// root or working directory differs from the earlier one. The program sends the text in any case.
func Reminder(h session.Header, now dialect.Here) (text string, changed bool) {
	was := rawjson.At(h.Raw, "/meta/codelia_resume_context")
	before := dialect.Here{
		Root: rawjson.Str(was, "workspace_root"), WorkDir: rawjson.Str(was, "working_dir"), Sandbox: rawjson.Str(was, "sandbox_root"),
		Approval: rawjson.Str(was, "approval_mode"), Provider: rawjson.Str(was, "model_provider"), Model: rawjson.Str(was, "model_name"),
	}
	// States older than the resume context have only the root.
	if before.Root == "" {
		before.Root = rootOf(h.Raw)
	}
	switch {
	case before.WorkDir != "":
	// States of the document have neither. The header then has the working directory of the last run.
	case before.Root == "":
		if before.WorkDir = h.CWD; now.WorkDir == "" && !below(now.Root, h.CWD) {
			before.Root = h.CWD
		}
	case !below(before.Root, now.WorkDir):
		before.WorkDir = before.Root // the directory is unknown, but it was another one
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

// below reports whether a directory is folder or lies in it.
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
