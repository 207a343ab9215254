package wave

import (
	"bytes"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Block is a piece of a message. The set is closed: anything unknown is an OpaqueBlock. The types have all members of the
// format, including those that are not used here.
type Block interface{ block() }

type (
	// TextBlock is a text of the user, the model or a hook.
	TextBlock struct {
		Content, CustomCommandContent string
		Source                        string // "user", "hook" or ""
		Stage                         string
	}

	// ErrorBlock is an error.
	ErrorBlock struct{ Content string }

	// ToolBlock is a tool call and, once the tool has answered, its result.
	ToolBlock struct {
		ID, Name, Parameters string
		// Stage is "start", "streaming", "running" or "end".
		Stage                      string
		Result, ShortResult, Error string
		Success                    *bool // nil if the block does not say
		// HasResult distinguishes an empty result from none.
		HasResult                       bool
		CompactParams, BackgroundTaskID string
		ParametersChunk                 string
		StartLineNumber                 int64
		Images                          session.Raw
		Timestamp                       session.Raw
	}

	// ImageBlock holds images: data URLs, other URLs or paths.
	ImageBlock struct{ URLs []string }

	// BangBlock is a command that the user ran.
	BangBlock struct {
		Command, Output, Stage string
		ExitCode               session.Raw // a number, null, or nil
	}

	// CompactBlock is the summary that replaces what came before.
	CompactBlock struct{ Content string }

	// ReasoningBlock is the reasoning of the model.
	ReasoningBlock struct {
		Content, Stage     string
		StartTime, EndTime int64
	}

	// FileHistoryBlock lists files as they were before the model changed them.
	FileHistoryBlock struct{ Snapshots []Snapshot }

	// TaskNotificationBlock reports how a background task ended.
	TaskNotificationBlock struct {
		TaskID, TaskType, Status, Summary, OutputFile, Result string
	}

	// OpaqueBlock is a block of an unknown type.
	OpaqueBlock struct {
		Type string
		JSON session.Raw
	}
)

// Snapshot is an earlier state of a file.
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

// Blocks decodes the blocks of a message. The decoder of logs only looks for their types.
func Blocks(blocks []byte) []Block {
	var list []Block
	for b := range rawjson.Elements(blocks) {
		list = append(list, decodeBlock(b))
	}
	return list
}

// decodeBlock decodes one block. A value that is not an object, or that has an unknown type, is kept whole.
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
			StartTime: dialect.Integer(rawjson.Get(b, "startTime")), EndTime: dialect.Integer(rawjson.Get(b, "endTime"))}
	case "file_history":
		var list []Snapshot
		for s := range rawjson.Elements(rawjson.Get(b, "snapshots")) {
			list = append(list, Snapshot{
				MessageID: rawjson.Str(s, "messageId"), FilePath: rawjson.Str(s, "filePath"),
				SnapshotPath: rawjson.Str(s, "snapshotPath"), Operation: rawjson.Str(s, "operation"),
				Timestamp: dialect.Integer(rawjson.Get(s, "timestamp")),
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

// toolBlock reads the block in one pass: a tool result may have megabytes, and each lookup by name would scan it again.
func toolBlock(b []byte) ToolBlock {
	var v [14][]byte
	rawjson.Pick(b, toolKeys, v[:])
	var texts [10]string
	for i := range texts {
		texts[i], _ = rawjson.Unquote(v[i])
	}
	t := ToolBlock{
		ID: texts[0], Name: texts[1], Parameters: texts[2], ParametersChunk: texts[3], CompactParams: texts[4],
		BackgroundTaskID: texts[5], Stage: texts[6], ShortResult: texts[7], Error: texts[8], Result: texts[9],
		HasResult: rawjson.IsString(v[9]), StartLineNumber: dialect.Integer(v[10]), Images: v[11], Timestamp: v[12],
	}
	if ok := string(v[13]) == "true"; ok || string(v[13]) == "false" {
		t.Success = &ok
	}
	return t
}

// toolKeys are the members of a tool block, the texts first.
var toolKeys = []string{"id", "name", "parameters", "parametersChunk", "compactParams", "backgroundTaskId", "stage", "shortResult",
	"error", "result", "startLineNumber", "images", "timestamp", "success"}

// answered reports whether the tool has answered: the block has ended, or has a result or an error. A block that was
// interrupted may never reach "end".
func (t ToolBlock) answered() bool {
	return t.Stage == "end" || t.HasResult || t.Error != "" || t.Success != nil
}

// failed reports whether the call failed. A block without success and error succeeded.
func (t ToolBlock) failed() bool { return t.Error != "" || t.Success != nil && !*t.Success }

// messageParts returns what is inside a message in neutral form.
func messageParts(m []byte) []session.Part {
	var parts []session.Part
	for b := range rawjson.Elements(rawjson.Get(m, "blocks")) {
		parts = append(parts, blockParts(decodeBlock(b), b)...)
	}
	return parts
}

// blockParts returns a block in neutral form. raw is the block itself, for blocks that have no such form.
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
			parts = append(parts, dialect.ImageOf(u, ""))
		}
		return parts
	// A command that the user ran is shown as a call of bash, as in other families. It has no id.
	case BangBlock:
		return []session.Part{
			session.ToolCall{Name: "bash", Arguments: append(append([]byte(`{"command":`), rawjson.Quote(b.Command)...), '}')},
			session.ToolResult{Name: "bash", Parts: dialect.TextParts(b.Output), IsError: rawjson.Truthy(b.ExitCode)},
		}
	case OpaqueBlock:
		return []session.Part{session.OpaquePart{Type: b.Type, JSON: raw}}
	}
	return []session.Part{session.OpaquePart{Type: rawjson.Str(raw, "type"), JSON: raw}}
}

// arguments returns the arguments of a call: JSON, or a string if they are not JSON because the model was cut off.
func arguments(parameters string) session.Raw {
	if raw := []byte(parameters); rawjson.Valid(raw) {
		return bytes.TrimSpace(rawjson.Compact(raw))
	}
	return rawjson.Quote(parameters)
}

// result returns the result of a call as parts. The error often repeats the result.
func (t ToolBlock) result() []session.Part {
	parts := dialect.TextParts(t.Result)
	if t.Error != "" && t.Error != t.Result {
		parts = append(parts, session.Text{Text: t.Error})
	}
	for i := range rawjson.Elements(t.Images) {
		parts = append(parts, dialect.ImageOf(rawjson.Str(i, "data"), rawjson.Str(i, "mediaType")))
	}
	return parts
}
