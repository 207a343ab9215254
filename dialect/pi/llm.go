package pi

import (
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// The texts that the programs put around a summary before it goes to a provider, word for word.
const (
	piCompactionText    = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
	omp18CompactionText = "Prior model work/tool state available.\nMUST build on prior work; NEVER duplicate prior work.\n\n<summary>\n"
	omp18BranchText     = "Branch-return summary:\n\n<summary>\n"
	ompCompactionText   = "Another language model started to solve this problem and produced a summary of its thinking process. " +
		"You also have access to the state of the tools that were used by that language model. You **MUST** use this to build on the " +
		"work that has already been done and **MUST NOT** duplicate work. Here is the summary produced by the other language model; " +
		"you **MUST** use the information in this summary to assist with your own analysis:\n\n<summary>\n"
	branchText = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
)

// texts are the openings of the texts around the summary of a compaction and of a branch.
type texts struct{ compaction, branch string }

var (
	piTexts    = texts{piCompactionText, branchText}
	ompTexts   = texts{ompCompactionText, branchText}
	omp18Texts = texts{omp18CompactionText, omp18BranchText}
)

// LLM returns a message in the form that goes to a provider; nil if it is not sent. The programs do not send other roles.
func (d *Dialect) LLM(m []byte) ([]byte, error) {
	switch role := rawjson.Str(m, "role"); role {
	case "assistant":
		return m, nil
	case "user", "developer", "toolResult":
		return d.said(m, role), nil
	case "system":
		if d.omp {
			return nil, nil
		}
		return m, nil
	case "bashExecution", "pythonExecution":
		return d.ran(m, role), nil
	case "custom", "hookMessage":
		if role == "hookMessage" && !d.omp {
			return nil, nil
		}
		w := object(`"role":"user"`)
		content := rawjson.Get(m, "content")
		if rawjson.IsString(content) {
			content = block(content)
		}
		if content != nil {
			w.Add("content", content)
		}
		if d.omp {
			w.Copy(m, "attribution")
		}
		w.Copy(m, "timestamp")
		return w.End(), nil
	case "branchSummary":
		return d.summary(m, d.texts.branch, "</summary>"), nil
	case "compactionSummary":
		return d.summary(m, d.texts.compaction, "\n</summary>"), nil
	case "fileMention":
		if d.omp {
			return d.files(m), nil
		}
	}
	return nil, nil
}

// said passes on what the user or a tool said. omp adds the attribution. It also has the role developer, which it attributes to
// the agent.
func (d *Dialect) said(m []byte, role string) []byte {
	if !d.omp {
		if role == "developer" {
			return nil
		}
		return m
	}
	if rawjson.IsNull(rawjson.Get(m, "attribution")) {
		by := `"agent"`
		if role == "user" {
			by = `"user"`
		}
		m = rawjson.Set(m, "attribution", []byte(by))
	}
	// omp cuts old outputs and notes the time; the blocks are then sent as one text.
	if role == "toolResult" && rawjson.Get(m, "prunedAt") != nil {
		var all strings.Builder
		for b := range rawjson.Elements(rawjson.Get(m, "content")) {
			if text := rawjson.Get(b, "text"); rawjson.Str(b, "type") == "text" && !rawjson.IsNull(text) {
				all.WriteString(jsString(text))
			}
		}
		text := all.String()
		if text == "" {
			text = "[Output truncated]"
		}
		m = rawjson.Set(m, "content", block(rawjson.Quote(text)))
	}
	return m
}

// block is a content that consists of one text.
func block(quoted []byte) []byte {
	return append(append([]byte(`[{"type":"text","text":`), quoted...), "}]"...)
}

// asUser is a message in the user's name that the program makes. more names further members that omp passes on.
func (d *Dialect) asUser(m []byte, text, attribution string, more ...string) []byte {
	w := object(`"role":"user"`)
	w.Add("content", block(rawjson.Quote(text)))
	if d.omp {
		w.Add("attribution", rawjson.Quote(attribution))
		w.Copy(m, more...)
	}
	w.Copy(m, "timestamp")
	return w.End()
}

// summary wraps a summary as a message of the user. pi appends the closing text; omp renders a template, in which a missing
// summary is empty, and formats the result.
func (d *Dialect) summary(m []byte, opening, closing string) []byte {
	summary := rawjson.Get(m, "summary")
	text := jsString(summary)
	if !d.omp {
		return d.asUser(m, opening+text+closing, "agent")
	}
	if rawjson.IsNull(summary) {
		text = ""
	}
	return d.asUser(m, tidy(opening+text+"\n</summary>\n"), "agent", "providerPayload")
}

// ran describes a command that the user ran. A cancelled command has an exit code, too, so that case comes first.
func (d *Dialect) ran(m []byte, role string) []byte {
	if rawjson.Truthy(rawjson.Get(m, "excludeFromContext")) || role == "pythonExecution" && !d.omp {
		return nil
	}
	output, exit := rawjson.Get(m, "output"), rawjson.Get(m, "exitCode")
	shown := "(no output)"
	if rawjson.Truthy(output) {
		shown = "```\n" + jsString(output) + "\n```"
	}
	text, cancelled, failed := "Ran `"+jsString(rawjson.Get(m, "command"))+"`\n"+shown, "\n\n(command cancelled)", "\n\nCommand exited with code "
	if role == "pythonExecution" {
		if rawjson.Truthy(output) {
			shown = "Output:\n" + shown
		}
		text = "Ran Python:\n```python\n" + jsString(rawjson.Get(m, "code")) + "\n```\n" + shown
		cancelled, failed = "\n\n(execution cancelled)", "\n\nExecution failed with code "
	}
	switch {
	case rawjson.Truthy(rawjson.Get(m, "cancelled")):
		text += cancelled
	case !rawjson.IsNull(exit) && jsString(exit) != "0":
		text += failed + jsString(exit)
	}
	full := rawjson.Get(m, "fullOutputPath")
	switch {
	case d.omp:
		text += outputNotice(rawjson.Get(m, "meta"))
	case rawjson.Truthy(full) && rawjson.Truthy(rawjson.Get(m, "truncated")):
		text += "\n\n[Output truncated. Full output: " + jsString(full) + "]"
	}
	return d.asUser(m, text, "user")
}

// files describes files that the user mentioned, which only omp has: one text, followed by the images as blocks.
func (d *Dialect) files(m []byte) []byte {
	var texts []string
	images := []byte{}
	for f := range rawjson.Elements(rawjson.Get(m, "files")) {
		inner := "\n"
		if content := rawjson.Get(f, "content"); rawjson.Truthy(content) {
			inner = "\n" + jsString(content) + "\n"
		}
		texts = append(texts, `<file path="`+jsString(rawjson.Get(f, "path"))+`">`+inner+"</file>")
		if image := rawjson.Get(f, "image"); rawjson.Truthy(image) {
			images = append(append(images, ','), image...)
		}
	}
	text := "<system-reminder>\n" + strings.Join(texts, "\n\n") + "\n</system-reminder>"
	w := object(`"role":"user"`)
	content := block(rawjson.Quote(text))
	content = append(append(content[:len(content)-1], images...), ']')
	w.Add("content", content)
	w.Add("attribution", []byte(`"user"`))
	w.Copy(m, "timestamp")
	return w.End()
}
