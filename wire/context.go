package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/treeline-dev/treeline/llm"
	"github.com/treeline-dev/treeline/session"
)

// PartsContext is what the model would see, in a form that is the same for every agent.
type PartsContext struct {
	Messages []PartsMessage    `json:"messages"`
	Problems []session.Problem `json:"problems,omitempty"`
}

// PartsMessage is a message of a context. role is user, assistant, tool or system (also where the agent says developer). Results
// are in messages of the role tool or user, as the agent sends them. The parts are those of an Entry; images have their bytes.
type PartsMessage struct {
	Role  string `json:"role"`
	Parts []Part `json:"parts"`
}

// NewPartsMessage returns a message with the bytes of its images.
func NewPartsMessage(m llm.Message) PartsMessage {
	unknown := func(string) int64 { return -1 } // a blob that is still a reference could not be read
	return PartsMessage{Role: m.Role.String(), Parts: *newParts(m.Parts, partOptions{blobSize: unknown, data: true})}
}

// WriteContext prints a context as one JSON object: the messages byte for byte, the members of the agent's own context, "estimatedTokens"
// (see session.Estimate) and, if there are any, "problems". parts splits a message into parts. The problems come last, since reading
// messages may add to them.
func WriteContext(
	w io.Writer, c *session.Context, parts func(message []byte) []session.Part, problems *[]session.Problem,
) error {
	tokens := int64(0)
	return writeMessages(w, problems, func(yield func([]byte, error) bool) {
		for m, err := range c.Messages() {
			tokens += session.Estimate(parts(m.JSON))
			if !yield(m.JSON, err) {
				return
			}
		}
	}, func(rest []byte) []byte {
		return fmt.Appendf(c.AppendState(append(rest, ',')), `,"estimatedTokens":%d`, tokens)
	})
}

// WriteParts prints a PartsContext.
func WriteParts(w io.Writer, messages iter.Seq2[llm.Message, error], problems *[]session.Problem) error {
	return writeMessages(w, problems, func(yield func([]byte, error) bool) {
		for m, err := range messages {
			var b bytes.Buffer
			if err == nil {
				err = Write(&b, NewPartsMessage(m))
			}
			if !yield(bytes.TrimSuffix(b.Bytes(), []byte("\n")), err) {
				return
			}
		}
	}, func(rest []byte) []byte { return rest })
}

// writeMessages prints an object with the member "messages", what state appends after it, and the problems. It streams messages and
// problems, since a context may be as large as the session.
func writeMessages(w io.Writer, problems *[]session.Problem, messages iter.Seq2[[]byte, error], state func([]byte) []byte) error {
	if err := writeList(w, `{"messages":[`, messages); err != nil {
		return err
	}
	if _, err := w.Write(state([]byte("]"))); err != nil {
		return err
	}
	end := "}\n"
	if len(*problems) > 0 {
		end = "]}\n"
		if err := writeList(w, `,"problems":[`, func(yield func([]byte, error) bool) {
			for _, p := range *problems {
				if !yield(json.Marshal(p)) {
					return
				}
			}
		}); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, end)
	return err
}

// writeList prints begin, and then the elements with commas in between.
func writeList(w io.Writer, begin string, elements iter.Seq2[[]byte, error]) error {
	before := begin
	for e, err := range elements {
		if err == nil {
			_, err = io.WriteString(w, before)
		}
		if err == nil {
			_, err = w.Write(e)
		}
		if err != nil {
			return err
		}
		before = ","
	}
	if before == "," {
		return nil
	}
	_, err := io.WriteString(w, begin)
	return err
}
