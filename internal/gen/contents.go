package gen

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
)

// Gemini returns the session in the format of Gemini CLI: an answer has its calls and its tokens, and a line after each message updates the
// time of the session. A branch begins with a line that takes back the messages after its starting point.
func Gemini(log []byte) []byte {
	list := entries(log)
	var out bytes.Buffer
	out.Grow(len(log) + len(log)/4)
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line(`{"sessionId":%q,"projectHash":"%x","startTime":%q,"lastUpdated":%q,"kind":"main","directories":[%s]}`,
		list[0].ID, sha256.Sum256([]byte(list[0].CWD)), list[0].Timestamp, list[0].Timestamp, quote(list[0].CWD))
	var path, live []string // entries on the path, and messages of the conversation
	for i := range list[1:] {
		e := &list[1+i]
		if e.ParentID != nil && len(path) > 0 && path[len(path)-1] != *e.ParentID {
			path, live = geminiBack(path, live, *e.ParentID, line)
		}
		path = append(path, e.ID)
		if e.Type == "compaction" {
			line(`{"$set":{"messages":[{"id":"%s","timestamp":%q,"type":"user","content":[{"text":%s}]}],"lastUpdated":%q}}`, e.ID, e.Timestamp, e.Summary, e.Timestamp)
			live = []string{e.ID}
			continue
		}
		typ, content := contentOf(e)
		if typ == "" {
			continue
		}
		live = append(live, e.ID)
		more := ""
		if typ == "model" {
			u := Told{}
			u.use(e.Message.Usage)
			more = fmt.Sprintf(`,"thoughts":[],"tokens":{"input":%d,"output":%d,"cached":%d,"thoughts":0,"tool":0,"total":%d},"model":%q`,
				u.Input+u.CacheRead+u.CacheWrite, u.Output, u.CacheRead, u.Total, e.Message.Model)
			typ = "gemini"
		} else {
			typ = "user"
		}
		line(`{"id":"%s","timestamp":%q,"type":"%s","content":[%s]%s}`, e.ID, e.Timestamp, typ, content, more)
		line(`{"$set":{"lastUpdated":%q}}`, e.Timestamp)
	}
	return out.Bytes()
}

// geminiBack takes back the messages after an entry of the path.
func geminiBack(path, live []string, to string, line func(string, ...any)) (newPath, newLive []string) {
	keep := 0
	for k := range path {
		if path[k] == to {
			keep = k + 1
		}
	}
	gone := map[string]bool{}
	for _, id := range path[keep:] {
		gone[id] = true
	}
	for k, id := range live {
		if gone[id] {
			line(`{"$rewindTo":"%s"}`, id)
			return path[:keep:keep], live[:k:k]
		}
	}
	return path[:keep:keep], live
}

// Qwen returns the session in the format of Qwen Code.
func Qwen(log []byte) []byte {
	list := entries(log)
	var out bytes.Buffer
	out.Grow(len(log) + len(log)/4)
	last := map[string]string{} // the line that stands for an entry, "" for none
	for i := range list[1:] {
		e := &list[1+i]
		parent := "null"
		if e.ParentID != nil && last[*e.ParentID] != "" {
			last[e.ID] = last[*e.ParentID]
			parent = `"` + last[e.ID] + `"`
		}
		typ, more := "", ""
		if e.Type == "compaction" {
			typ = "system"
			more = fmt.Sprintf(`,"subtype":"chat_compression","systemPayload":{"info":{"originalTokenCount":%s},"compressedHistory":[{"role":"user","parts":[{"text":%s}]}]}`, e.TokensBefore, e.Summary)
		} else if role, content := contentOf(e); role != "" {
			typ = map[string]string{"user": "user", "tool": "tool_result", "model": "assistant"}[role]
			more = fmt.Sprintf(`,"message":{"role":%q,"parts":[%s]}`, strings.Replace(role, "tool", "user", 1), content)
			if role == "model" {
				u := Told{}
				u.use(e.Message.Usage)
				input := u.Input + u.CacheRead + u.CacheWrite
				more += fmt.Sprintf(`,"model":%q,"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d,"cachedContentTokenCount":%d}`,
					e.Message.Model, input, u.Output, input+u.Output, u.CacheRead)
			}
		}
		if typ == "" {
			continue
		}
		last[e.ID] = e.ID
		fmt.Fprintf(&out, `{"uuid":"%s","parentUuid":%s,"sessionId":%q,"timestamp":%q,"type":"%s","cwd":%s,"version":"0.24.4"%s}`+"\n",
			e.ID, parent, list[0].ID, e.Timestamp, typ, quote(list[0].CWD), more)
	}
	return out.Bytes()
}

// contentOf returns the role and the parts of a message as contents of Google's API; "" for an entry that is not a message.
func contentOf(e *entry) (role, parts string) {
	m := e.Message
	if m == nil {
		return "", ""
	}
	switch m.Role {
	case "user":
		return "user", `{"text":` + string(orEmpty(firstText(m))) + `}`
	case "bashExecution":
		return "user", `{"text":` + string(m.Output) + `}`
	case "toolResult":
		return "tool", fmt.Sprintf(`{"functionResponse":{"id":%q,"name":%q,"response":{"output":%s}}}`, m.ToolCallID, m.ToolName, orEmpty(firstText(m)))
	case "assistant":
		var list []string
		for _, b := range m.Content {
			switch b.Type {
			case "thinking":
				list = append(list, `{"text":`+string(b.Thinking)+`,"thought":true}`)
			case "text":
				list = append(list, `{"text":`+string(b.Text)+`}`)
			case "toolCall":
				list = append(list, fmt.Sprintf(`{"functionCall":{"id":%s,"name":%s,"args":%s}}`, b.ID, b.Name, b.Arguments))
			}
		}
		if len(list) > 0 {
			return "model", strings.Join(list, ",")
		}
	}
	return "", ""
}
