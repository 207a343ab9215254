package run

import (
	"fmt"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Type is the type of a record. Types of extensions and of later versions are legal and kept as they are.
type Type string

// The ten types.
const (
	TypeHeader      Type = "header"
	TypeRunStart    Type = "run.start"
	TypeRunContext  Type = "run.context"
	TypeAgentEvent  Type = "agent.event"
	TypeToolOutput  Type = "tool.output"
	TypeLLMRequest  Type = "llm.request"
	TypeLLMResponse Type = "llm.response"
	TypeRunStatus   Type = "run.status"
	TypeRunError    Type = "run.error"
	TypeRunEnd      Type = "run.end"
)

// Known reports whether the type is one of the ten.
func (t Type) Known() bool { return bodies[t] != nil || t == TypeHeader }

// Extension reports whether the type is that of an extension: x.<org>.<name>.
func (t Type) Extension() bool {
	rest, ok := strings.CutPrefix(string(t), "x.")
	org, name, dot := strings.Cut(rest, ".")
	return ok && dot && org != "" && name != ""
}

// SchemaVersion is the version that is written. Reading others is best effort.
const SchemaVersion = 1

// Raw is a JSON value as the log has it. nil is an absent member, which differs from null.
type Raw []byte

// Member is an unknown member of an object, or one with an unexpected value.
type Member struct {
	Key   string
	Value Raw
}

// Body is the content of a record. The set is closed: anything unknown is Opaque.
type Body interface {
	Type() Type
	envelope() *Envelope
	object
}

// Envelope is what all records except the header have.
type Envelope struct {
	RunID string
	Time  string // "ts" as the log spells it
	Meta  Raw    // reserved for extensions
	Other []Member
}

func (e *Envelope) envelope() *Envelope { return e }

// Header is the first record of a log, written once. A pointer is nil if the header lacks the object. StartedAt is spelled as in
// the log and may not be a time.
type Header struct {
	SchemaVersion               int64
	RunID, SessionID, StartedAt string
	Client, Server              *Program
	Model                       *Model
	Prompts                     *Prompts
	Tools                       *Tools
	Runtime                     *Runtime
	Meta                        Raw
	Other                       []Member
}

// WorkDir is the working directory of the run, or the root of its workspace if the header has no directory. It is "" if it has neither.
func (h *Header) WorkDir() string {
	if h.Runtime != nil && h.Runtime.CWD != "" {
		return h.Runtime.CWD
	}
	return rawjson.Str(rawjson.At(h.Meta, "/runtime_environment/workspace"), "root")
}

// In all these types, Other holds the unknown members in the order of the record.
type (
	// Program names a program that took part.
	Program struct {
		Name, Version string
		Other         []Member
	}

	// Model is the model that answers.
	Model struct {
		Provider, Name, Reasoning string
		Source                    string // "config" or "session"
		Fast                      *bool
		Other                     []Member
	}

	// Prompts are the texts at the beginning of the run.
	Prompts struct {
		System string
		Other  []Member
	}

	// Tools are the tools that the model could call.
	Tools struct {
		Definitions Raw // an array
		Source      string
		Other       []Member
	}

	// Runtime describes the machine.
	Runtime struct {
		CWD, OS, Arch, Version string
		Other                  []Member
	}
)

type (
	// RunStart is what the run was asked to do.
	RunStart struct {
		Envelope
		SessionID string
		Input     Input
		UIContext Raw
	}

	// RunContext says how much of the model's context is left.
	RunContext struct {
		Envelope
		ContextLeftPercent float64
	}

	// AgentEvent is an event that was shown to the user.
	AgentEvent struct {
		Envelope
		Seq   int64
		Event Raw // an object with a "type"
	}

	// ToolOutput is the whole output of a tool.
	ToolOutput struct {
		Envelope
		Tool, ToolCallID string
		Result           string // "result_raw"
		IsError          *bool
		OutputRef        *OutputRef
	}

	// LLMRequest is a whole request to the model, as it was sent.
	LLMRequest struct {
		Envelope
		Seq   int64 // the number of the request; if 0, the Recorder assigns the next one
		Model *Model
		Input RequestInput
	}

	// LLMResponse is what the model answered.
	LLMResponse struct {
		Envelope
		Seq    int64 // that of the request; if 0, the request is the only open one
		Output ResponseOutput
	}

	// RunStatus says that the run's state changed.
	RunStatus struct {
		Envelope
		Status  string // a Status constant or an unknown value
		Message string
	}

	// RunError is what went wrong.
	RunError struct {
		Envelope
		Error ErrorInfo
	}

	// RunEnd is the last record.
	RunEnd struct {
		Envelope
		Outcome string // an Outcome constant or an unknown value
		Final   string // the last message, if any
	}

	// Opaque is a record of an unknown type.
	Opaque struct {
		Envelope
		Name Type
		JSON Raw
	}
)

// The states of a run.status.
const (
	StatusRunning    = "running"
	StatusAwaitingUI = "awaiting_ui"
	StatusCompleted  = "completed"
	StatusError      = "error"
	StatusCancelled  = "cancelled"
)

// The outcomes of a run.end.
const (
	OutcomeCompleted = "completed"
	OutcomeCancelled = "cancelled"
	OutcomeError     = "error"
)

type (
	// Input is what the user said: a text, or parts of a message.
	Input struct {
		Type  string // "text" or "parts"
		Text  string
		Parts Raw // an array
		Other []Member
	}

	// OutputRef says where else the output of a tool is stored.
	OutputRef struct {
		ID                  string
		ByteSize, LineCount *int64
		Other               []Member
	}

	// RequestInput is what was sent to the model.
	RequestInput struct {
		Messages   Raw // an array
		Tools      Raw // an array, null, or absent
		ToolChoice Raw
		Model      string
		SessionKey string
		Other      []Member
	}

	// ResponseOutput is what came back.
	ResponseOutput struct {
		Messages     Raw // an array
		Usage        *Usage
		StopReason   string
		ProviderMeta Raw
		Other        []Member
	}

	// Usage counts tokens.
	Usage struct {
		Model                        string
		Input                        int64
		Cached, CacheCreation, Image *int64 // parts of the input
		Output, Total                int64
		ProviderModel                string
		Other                        []Member
	}

	// ErrorInfo is an error.
	ErrorInfo struct {
		Name, Message, Stack          string
		Provider, Kind                string
		Status, Attempts, MaxAttempts *int64
		Other                         []Member
	}
)

// Type implements Body.
func (*RunStart) Type() Type { return TypeRunStart }

// Type implements Body.
func (*RunContext) Type() Type { return TypeRunContext }

// Type implements Body.
func (*AgentEvent) Type() Type { return TypeAgentEvent }

// Type implements Body.
func (*ToolOutput) Type() Type { return TypeToolOutput }

// Type implements Body.
func (*LLMRequest) Type() Type { return TypeLLMRequest }

// Type implements Body.
func (*LLMResponse) Type() Type { return TypeLLMResponse }

// Type implements Body.
func (*RunStatus) Type() Type { return TypeRunStatus }

// Type implements Body.
func (*RunError) Type() Type { return TypeRunError }

// Type implements Body.
func (*RunEnd) Type() Type { return TypeRunEnd }

// Type implements Body: the name that the record has.
func (o *Opaque) Type() Type { return o.Name }

// ProblemKind says what is wrong with a log, in the words of package session.
type ProblemKind string

// The kinds of problems.
const (
	ProblemNoHeader    ProblemKind = "no-header"
	ProblemTorn        ProblemKind = "torn"
	ProblemMalformed   ProblemKind = "malformed"
	ProblemNotObject   ProblemKind = "not-object"
	ProblemGlued       ProblemKind = "glued"
	ProblemNULs        ProblemKind = "nul-bytes"
	ProblemBOM         ProblemKind = "bom"
	ProblemHeaderAgain ProblemKind = "second-header"
	ProblemNewer       ProblemKind = "newer-version"
)

// Problem is something wrong with a log that did not stop the reader, and where it is. It is also an error, for the one case
// that does.
type Problem struct {
	Line    int         `json:"line"`
	Offset  int64       `json:"offset"`
	Kind    ProblemKind `json:"kind"`
	Message string      `json:"message"`
}

// Error implements error.
func (p *Problem) Error() string { return p.String() }

// String says where and what.
func (p Problem) String() string {
	return fmt.Sprintf("line %d (byte %d): %s", p.Line, p.Offset, p.Message)
}
