package run

import (
	"fmt"
	"strings"
)

// Type is the type of a record.
// Types beyond these are legal: those of extensions, and those of later versions. Both are kept as they stand.
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

// Known says whether the type is one of the ten.
func (t Type) Known() bool {
	switch t {
	case TypeHeader, TypeRunStart, TypeRunContext, TypeAgentEvent, TypeToolOutput, TypeLLMRequest, TypeLLMResponse,
		TypeRunStatus, TypeRunError, TypeRunEnd:
		return true
	}
	return false
}

// Extension says whether the type is one that anybody may make up: x.<org>.<name>.
func (t Type) Extension() bool {
	rest, ok := strings.CutPrefix(string(t), "x.")
	org, name, dot := strings.Cut(rest, ".")
	return ok && dot && org != "" && name != ""
}

// SchemaVersion is the version that is written. Others are read as well as we can.
const SchemaVersion = 1

// Raw is a JSON value as it stands in a log.
// nil is a member that is not there, which is not the same as null.
type Raw []byte

// Member is a member of an object that we have no name for, or whose value is not what it should be.
type Member struct {
	Key   string
	Value Raw
}

// Body is what a record says. The set is closed: what is not known is Opaque.
// The interface has unexported methods, so no other package can add to the set, and a switch over it is complete.
type Body interface {
	Type() Type
	envelope() *Envelope
	members(w *writer)
}

// Envelope is what all records but the header have.
type Envelope struct {
	RunID string
	Time  string // "ts", as it is spelled
	Meta  Raw    // kept free for extensions
	Other []Member
}

func (e *Envelope) envelope() *Envelope { return e }

// Header is the first record of a log. It is written once and never changed.
// The pointers are nil where the header lacks the object. StartedAt is as it is spelled: it may be no time at all.
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

// Other, in these and in all types below, holds what we have no name for, in the order of the record.
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

	// Prompts are the texts that the run began with.
	Prompts struct {
		System string
		Other  []Member
	}

	// Tools are the tools that the model was offered.
	Tools struct {
		Definitions Raw // an array
		Source      string
		Other       []Member
	}

	// Runtime is the machine.
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

	// RunContext says how much room the model's context has left.
	RunContext struct {
		Envelope
		ContextLeftPercent float64
	}

	// AgentEvent is something that the user was shown.
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

	// LLMRequest is a request to the model, whole, as it was sent.
	LLMRequest struct {
		Envelope
		Seq   int64 // the number of the invocation; 0 lets the Recorder count
		Model *Model
		Input RequestInput
	}

	// LLMResponse is what the model answered.
	LLMResponse struct {
		Envelope
		Seq    int64 // that of the request; 0 is the Recorder's only open one
		Output ResponseOutput
	}

	// RunStatus says that the run's state changed.
	RunStatus struct {
		Envelope
		Status  string // StatusRunning and so on, or one that we do not know
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
		Outcome string // OutcomeCompleted and so on, or one that we do not know
		Final   string // the last message, where there is one
	}

	// Opaque is a record of another type, whole.
	Opaque struct {
		Envelope
		Name Type
		JSON Raw
	}
)

// What a run.status says.
const (
	StatusRunning    = "running"
	StatusAwaitingUI = "awaiting_ui"
	StatusCompleted  = "completed"
	StatusError      = "error"
	StatusCancelled  = "cancelled"
)

// What a run.end says.
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

	// OutputRef says where the output of a tool is kept besides.
	OutputRef struct {
		ID                  string
		ByteSize, LineCount *int64
		Other               []Member
	}

	// RequestInput is what the model was sent.
	RequestInput struct {
		Messages   Raw // an array
		Tools      Raw // an array, null, or nothing
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

// ProblemKind says what is wrong with a log, in the words that sessions have for it.
type ProblemKind string

// What may be wrong.
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

// Problem is something wrong with a log that did not stop us, and where. It is an error too, for the one that does.
type Problem struct {
	Line    int         `json:"line"`
	Offset  int64       `json:"offset"`
	Kind    ProblemKind `json:"kind"`
	Message string      `json:"message"`
}

// Error implements error.
func (p *Problem) Error() string { return p.String() }

// String says where, then what.
func (p Problem) String() string {
	return fmt.Sprintf("line %d (byte %d): %s", p.Line, p.Offset, p.Message)
}
