package wave

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Block is a piece of a message. The set is closed: what is not known is an OpaqueBlock.
// The types have all members of the format, also those that nothing here reads: they are the public description of
// a block.
type Block interface{ block() }

type (
	// TextBlock is prose, of a person, of the model or of a hook.
	TextBlock struct {
		Content, CustomCommandContent string
		Source                        string // "user", "hook" or ""
		Stage                         string
	}

	// ErrorBlock tells what went wrong.
	ErrorBlock struct{ Content string }

	// ToolBlock is a call of a tool and, once it is there, what the tool answered.
	ToolBlock struct {
		ID, Name, Parameters string
		// Stage is "start", "streaming", "running" or "end".
		Stage                      string
		Result, ShortResult, Error string
		Success                    *bool // nil where the block does not say
		// HasResult tells an empty result from none.
		HasResult                       bool
		CompactParams, BackgroundTaskID string
		ParametersChunk                 string
		StartLineNumber                 int64
		Images                          session.Raw
		Timestamp                       session.Raw
	}

	// ImageBlock is pictures: data URLs, other URLs or paths.
	ImageBlock struct{ URLs []string }

	// BangBlock is a command that the user ran.
	BangBlock struct {
		Command, Output, Stage string
		ExitCode               session.Raw // a number, null, or nil
	}

	// CompactBlock is the summary that takes the place of what came before.
	CompactBlock struct{ Content string }

	// ReasoningBlock is what the model thought.
	ReasoningBlock struct {
		Content, Stage     string
		StartTime, EndTime int64
	}

	// FileHistoryBlock names what files were before the model changed them.
	FileHistoryBlock struct{ Snapshots []Snapshot }

	// TaskNotificationBlock tells how a background task ended.
	TaskNotificationBlock struct {
		TaskID, TaskType, Status, Summary, OutputFile, Result string
	}

	// OpaqueBlock is a block of a type that we do not know, whole.
	OpaqueBlock struct {
		Type string
		JSON session.Raw
	}
)

// Snapshot is a file as it was.
type Snapshot struct {
	MessageID, FilePath, SnapshotPath, Operation string
	Timestamp                                    int64 // milliseconds since 1970
}

func (TextBlock) block()             {}
func (ErrorBlock) block()            {}
func (ToolBlock) block()             {}
func (ImageBlock) block()            {}
func (BangBlock) block()             {}
func (CompactBlock) block()          {}
func (ReasoningBlock) block()        {}
func (FileHistoryBlock) block()      {}
func (TaskNotificationBlock) block() {}
func (OpaqueBlock) block()           {}

// Blocks decodes the blocks of a message.
// Blocks are decoded on demand: a decoder of logs only looks for their types.
func Blocks(blocks []byte) []Block {
	var list []Block
	for b := range rawjson.Elements(blocks) {
		list = append(list, decodeBlock(b))
	}
	return list
}

// What is no object, or of no known type, is kept whole, so that nothing gets lost between reading and showing.
func decodeBlock(b []byte) Block {
	if !rawjson.IsObject(b) {
		return OpaqueBlock{JSON: b}
	}
	str := func(key string) string { return rawjson.Str(b, key) }
	switch kind := str("type"); kind {
	case "text":
		return TextBlock{Content: str("content"), CustomCommandContent: str("customCommandContent"), Source: str("source"), Stage: str("stage")}
	case "error":
		return ErrorBlock{Content: str("content")}
	case "tool":
		return toolBlock(b)
	case "image":
		var urls []string
		for u := range rawjson.Elements(rawjson.Get(b, "imageUrls")) {
			if s, ok := rawjson.Unquote(u); ok {
				urls = append(urls, s)
			}
		}
		return ImageBlock{URLs: urls}
	case "bang":
		return BangBlock{Command: str("command"), Output: str("output"), Stage: str("stage"), ExitCode: rawjson.Get(b, "exitCode")}
	case "compact":
		return CompactBlock{Content: str("content")}
	case "reasoning":
		return ReasoningBlock{Content: str("content"), Stage: str("stage"),
			StartTime: integer(rawjson.Get(b, "startTime")), EndTime: integer(rawjson.Get(b, "endTime"))}
	case "file_history":
		var list []Snapshot
		for s := range rawjson.Elements(rawjson.Get(b, "snapshots")) {
			list = append(list, Snapshot{
				MessageID: rawjson.Str(s, "messageId"), FilePath: rawjson.Str(s, "filePath"),
				SnapshotPath: rawjson.Str(s, "snapshotPath"), Operation: rawjson.Str(s, "operation"),
				Timestamp: integer(rawjson.Get(s, "timestamp")),
			})
		}
		return FileHistoryBlock{Snapshots: list}
	case "task_notification":
		return TaskNotificationBlock{TaskID: str("taskId"), TaskType: str("taskType"), Status: str("status"),
			Summary: str("summary"), OutputFile: str("outputFile"), Result: str("result")}
	default:
		return OpaqueBlock{Type: kind, JSON: b}
	}
}

// One pass over the members: a tool's result may be megabytes long, and each lookup by name would go through them
// again.
func toolBlock(b []byte) ToolBlock {
	t := ToolBlock{}
	for key, value := range rawjson.Fields(b) {
		s, isString := rawjson.Unquote(value)
		switch key {
		case "id":
			t.ID = s
		case "name":
			t.Name = s
		case "parameters":
			t.Parameters = s
		case "parametersChunk":
			t.ParametersChunk = s
		case "compactParams":
			t.CompactParams = s
		case "backgroundTaskId":
			t.BackgroundTaskID = s
		case "stage":
			t.Stage = s
		case "result":
			t.Result, t.HasResult = s, isString
		case "shortResult":
			t.ShortResult = s
		case "error":
			t.Error = s
		case "success":
			if ok := string(value) == "true"; ok || string(value) == "false" {
				t.Success = &ok
			}
		case "startLineNumber":
			t.StartLineNumber = integer(value)
		case "images":
			t.Images = value
		case "timestamp":
			t.Timestamp = value
		}
	}
	return t
}

// answered says whether the tool has answered: its block is over, or holds a result or an error.
// Any of these alone is enough: a block that was interrupted may never reach "end".
func (t ToolBlock) answered() bool {
	return t.Stage == "end" || t.HasResult || t.Error != "" || t.Success != nil
}

// A block without success and error is taken for one that went well.
func (t ToolBlock) failed() bool { return t.Error != "" || t.Success != nil && !*t.Success }

// integer reads a number, 0 for what is none.
// Numbers may be floats to JavaScript; what is beyond 2^62 is no count and no time.
func integer(value []byte) int64 {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != f || f > 1<<62 || f < -(1<<62) {
		return 0
	}
	return int64(f)
}

// messageParts gives what is inside a message in neutral form.
func messageParts(m []byte) []session.Part {
	var parts []session.Part
	for b := range rawjson.Elements(rawjson.Get(m, "blocks")) {
		parts = append(parts, blockParts(decodeBlock(b), b)...)
	}
	return parts
}

// raw is the block as it stands: what has no neutral form is passed on whole.
func blockParts(block Block, raw []byte) []session.Part {
	switch b := block.(type) {
	case TextBlock:
		return []session.Part{session.Text{Text: b.Content}}
	case CompactBlock:
		return []session.Part{session.Text{Text: b.Content}}
	case ReasoningBlock:
		return []session.Part{session.Thinking{Text: b.Content}}
	case ErrorBlock:
		return []session.Part{session.OpaquePart{Type: "error", JSON: rawjson.Quote(b.Content)}}
	case ToolBlock:
		parts := []session.Part{session.ToolCall{ID: b.ID, Name: b.Name, Arguments: arguments(b.Parameters)}}
		if b.answered() {
			parts = append(parts, session.ToolResult{CallID: b.ID, Name: b.Name, Parts: b.result(), IsError: b.failed()})
		}
		return parts
	case ImageBlock:
		var parts []session.Part
		for _, u := range b.URLs {
			parts = append(parts, imagePart(u, ""))
		}
		return parts
	// A command that the user ran is shown as a call of bash, which is what other families have for it. It has no
	// id.
	case BangBlock:
		return []session.Part{
			session.ToolCall{Name: "bash", Arguments: append(append([]byte(`{"command":`), rawjson.Quote(b.Command)...), '}')},
			session.ToolResult{Name: "bash", Parts: textPart(b.Output), IsError: rawjson.Truthy(b.ExitCode)},
		}
	case OpaqueBlock:
		return []session.Part{session.OpaquePart{Type: b.Type, JSON: raw}}
	}
	return []session.Part{session.OpaquePart{Type: rawjson.Str(raw, "type"), JSON: raw}}
}

func textPart(s string) []session.Part {
	if s == "" {
		return nil
	}
	return []session.Part{session.Text{Text: s}}
}

// arguments gives what the model wrote for a tool: JSON, or as a string what is none (the model may have been cut off).
func arguments(parameters string) session.Raw {
	if raw := []byte(parameters); rawjson.Valid(raw) {
		return bytes.TrimSpace(rawjson.Compact(raw))
	}
	return rawjson.Quote(parameters)
}

// The error is often the result once more.
func (t ToolBlock) result() []session.Part {
	parts := textPart(t.Result)
	if t.Error != "" && t.Error != t.Result {
		parts = append(parts, session.Text{Text: t.Error})
	}
	for i := range rawjson.Elements(t.Images) {
		parts = append(parts, imagePart(rawjson.Str(i, "data"), rawjson.Str(i, "mediaType")))
	}
	return parts
}

// imagePart takes a data URL apart; all else is an address.
// A path or an address stays as it is: nothing is fetched.
func imagePart(url, mime string) session.Image {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		if head, data, ok := strings.Cut(rest, ","); ok && strings.HasSuffix(head, ";base64") {
			return session.Image{MIME: strings.TrimSuffix(head, ";base64"), Data: data}
		}
	}
	return session.Image{MIME: mime, Data: url}
}
