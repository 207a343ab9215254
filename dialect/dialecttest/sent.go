package dialecttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Sent tests a folder of logs NAME.jsonl with what their program sent when it resumed them, NAME.sent.json. NAME.d has the other
// logs that a log needs. A log NAME.json is one record.
type Sent struct {
	// Dialect must also be a dialect.Parter.
	Dialect dialect.Dialect
	// Member is the member of NAME.sent.json with the list of messages; its value is null if the program refused to resume the log.
	Member string
	// Losses are the problems of the logs that have any, each with its kind and line: "torn 3, unseen 4".
	Losses map[string]string
	// Unknown are the logs that are not compared, each with the reason.
	Unknown map[string]string
	// Content turns a message that was sent into one of the dialect; nil if it already is one.
	Content func(message []byte) []byte
	// Joins: the program joins messages of one role, and a result is a part like any other. The ends of messages are ignored.
	Joins bool
	// Made reports whether the program made a text together with the new prompt.
	Made func(text string) bool
}

// Run compares what the model would see with what was sent, and the problems with the losses of the program.
func (s Sent) Run(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.sent.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sent.json")
		t.Run(name, func(t *testing.T) { s.compare(t, dir, name) })
	}
}

func (s Sent) compare(t *testing.T, dir, name string) {
	decode := dialect.DecodeLog
	log, err := os.ReadFile(filepath.Join(dir, name+".jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		log, err = os.ReadFile(filepath.Join(dir, name+".json"))
		decode = func(dec dialect.Decoder, log []byte) error {
			dec.Decode(dialect.Record{Data: log, Line: 1})
			return dec.Finish()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := os.ReadFile(filepath.Join(dir, name+".sent.json"))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		t.Fatal(err)
	}
	var sent []json.RawMessage
	if err := json.Unmarshal(members[s.Member], &sent); err != nil {
		t.Fatal(err)
	}
	b := session.NewBuilder(name, source(log))
	dec := dialect.Supplies{File: func(n dialect.Need) ([]byte, error) {
		found, _ := filepath.Glob(filepath.Join(dir, name+".d", filepath.Base(n.Name)))
		if len(found) == 0 {
			return nil, errors.New("not found")
		}
		return os.ReadFile(found[0])
	}}.Meet(s.Dialect.NewDecoder(b))
	if err := decode(dec, log); err != nil {
		var p *session.Problem
		if s.Unknown[name] == "" && (sent != nil || !errors.As(err, &p) || s.Losses[name] != string(p.Kind)) {
			t.Errorf("not read: %v; want %q", err, s.Losses[name])
		}
		return
	}
	tree := b.Finish()
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lost []string
	for _, p := range append(tree.Problems(), c.Problems()...) {
		lost = append(lost, fmt.Sprintf("%s %d", p.Kind, p.Line))
	}
	if diff := Diff(s.Losses[name], strings.Join(lost, ", ")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	var got [][]byte
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.JSON)
	}
	var want [][]byte
	for _, m := range sent {
		if s.Content != nil {
			m = s.Content(m)
		}
		want = append(want, m)
	}
	if diff := Diff(s.project(want), s.project(got)); diff != "" && s.Unknown[name] == "" {
		t.Errorf("(-sent +context):\n%s", diff)
	}
}

// project reduces messages to what must agree: roles, texts, calls, results and images.
func (s Sent) project(messages [][]byte) string {
	var out strings.Builder
	for _, m := range messages {
		role := s.Dialect.Codec().Role(m)
		if role == session.RoleSystem {
			continue
		}
		var said bytes.Buffer
		for _, p := range s.Dialect.(dialect.Parter).MessageParts(m) {
			s.say(&said, p)
			if s.Joins && said.Len() > 0 {
				if role == session.RoleTool {
					role = session.RoleUser
				}
				fmt.Fprintf(&out, "%s%s\n", role, said.String())
				said.Reset()
			}
		}
		if said.Len() > 0 {
			fmt.Fprintf(&out, "%s%s\n", role, said.String())
		}
	}
	return out.String()
}

func (s Sent) say(w *bytes.Buffer, p session.Part) {
	switch p := p.(type) {
	case session.Text:
		if strings.TrimSpace(p.Text) != "NEXT PROMPT" && !s.Made(p.Text) {
			w.WriteString("\ntext " + p.Text)
		}
	case session.Thinking:
		w.WriteString("\nthinking " + p.Text)
	case session.ToolCall:
		args := bytes.NewBuffer(nil)
		if err := json.Compact(args, p.Arguments); err != nil {
			args = bytes.NewBuffer(p.Arguments)
		}
		w.WriteString("\ncall " + p.ID + " " + p.Name + " " + args.String())
	case session.ToolResult:
		fmt.Fprintf(w, "\nresult %s error=%t", p.CallID, p.IsError)
		for _, inside := range p.Parts {
			if text, ok := inside.(session.Text); ok { // a reminder may follow the text
				said, _, _ := strings.Cut(text.Text, "\n\n<system-reminder>")
				inside = session.Text{Text: said}
			}
			s.say(w, inside)
		}
	case session.Image:
		w.WriteString("\nimage " + p.MIME + " " + p.Data[:min(len(p.Data), 20)])
	case session.OpaquePart:
		w.WriteString("\nopaque " + p.Type)
	}
}
