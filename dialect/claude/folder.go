package claude

import (
	"bytes"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/files"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Beside the log there may be a folder with the name of the session:
//
//	custom-title.json              {"customTitle":…}, a title
//	tool-results/<name>.txt        outputs that are too long for a message
//	subagents/agent-<id>.jsonl     the logs of sub-agents
//	subagents/agent-<id>.meta.json {"agentType":…,"description":…,"toolUseId":…}

var (
	_ dialect.Overflower = (*Dialect)(nil)
	_ dialect.Captioner  = (*Dialect)(nil)
	_ dialect.Needer     = (*decoder)(nil)
)

const (
	titleFile = "custom-title.json"
	metaEnd   = ".meta.json" // the suffix of the file about a sub-agent's log
)

// CaptionFile is the file with the title.
func (d *Dialect) CaptionFile() string { return titleFile }

// Caption reads the file with the title.
func (d *Dialect) Caption(content []byte) string { return files.Title(content) }

// Needs asks once, after the first record: for the title of a session, or for what is known about a sub-agent.
func (dec *decoder) Needs() []dialect.Need {
	if dec.asked || !dec.header {
		return nil
	}
	dec.asked = true
	id := dec.b.Header().ID
	name := string(id) + metaEnd
	if (files.Layout{}).Main(string(id)) {
		name = string(id) + "/" + titleFile
	}
	if dialect.CheckFileID(id) != nil {
		return nil
	}
	return []dialect.Need{{Kind: dialect.NeedBeside, Name: name}}
}

// Supply takes the content of such a file. Most sessions have none.
func (dec *decoder) Supply(n dialect.Need, content []byte, err error) {
	if err != nil {
		return
	}
	h := dec.b.Header()
	if strings.HasSuffix(n.Name, metaEnd) {
		if rawjson.Valid(content) {
			h.Call = rawjson.Str(bytes.TrimSpace(content), "toolUseId")
		}
	} else if title := files.Title(content); title != "" {
		h.Title = title
	}
	dec.b.SetHeader(h)
}

// nameAgent sets the session of a sub-agent in the result of the call that started it.
func nameAgent(parts []session.Part, agent string) {
	id := session.ID(files.AgentPrefix + agent)
	if agent == "" || dialect.CheckFileID(id) != nil {
		return
	}
	for k := range parts {
		if r, ok := parts[k].(session.ToolResult); ok {
			r.Session = id
			parts[k] = r
		}
	}
}

// Whole implements dialect.Overflower.
func (d *Dialect) Whole(record []byte, get func(name string) ([]byte, error)) []byte {
	return files.Whole(record, get)
}

// IsCut implements dialect.Overflower.
func (d *Dialect) IsCut(record []byte) bool { return files.HasOutputs(record) }
