package wire

import (
	"errors"

	"github.com/treeline-dev/treeline/session"
)

// Message is a line on stderr of a command that prints JSON. It has exactly one member.
type Message struct {
	Error   *Error           `json:"error,omitempty"`
	Notice  *Notice          `json:"notice,omitempty"`
	Problem *session.Problem `json:"problem,omitempty"`
}

// Error is why a command failed. code is its exit code: 1 for a problem, 2 for a mistake in the command line, which help
// explains. kind, path, line, offset and advice are present if the error is a problem of a session.
type Error struct {
	Message string              `json:"message"`
	Code    int                 `json:"code"`
	Help    string              `json:"help,omitempty"`
	Kind    session.ProblemKind `json:"kind,omitempty"`
	Path    string              `json:"path,omitempty"`
	Line    int                 `json:"line,omitempty"`
	Offset  *int64              `json:"offset,omitempty"`
	Advice  string              `json:"advice,omitempty"`
}

// Notice is something that does not fail a command.
type Notice struct {
	Message string `json:"message"`
}

// NewError returns an error with its exit code. help is the command that explains the usage, or "".
func NewError(err error, code int, help string) Message {
	j := &Error{Message: err.Error(), Code: code, Help: help}
	var p *session.Problem
	if errors.As(err, &p) {
		j.Kind, j.Path, j.Line, j.Offset, j.Advice = p.Kind, p.File, p.Line, &p.Offset, p.Advice
	}
	return Message{Error: j}
}
