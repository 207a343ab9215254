package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// picture is an image of one pixel.
var picture = session.Image{MIME: "image/gif", Data: "R0lGODlhAQABAAAAACwAAAAAAQABAAACAkQBADs="}

// typed appends a turn from neutral parts, in the way that is the same for all dialects: a question with a picture, an
// answer that calls a tool, the result, and an answer to it.
func typed(s *suite) {
	sess := s.begin()
	ctx := s.Context()
	s.must(second(sess.AppendUser(ctx, "apricot", picture)))
	think, say := session.Thinking{Text: "bilberry"}, session.Text{Text: "cherry"}
	call := session.ToolCall{ID: "call-1", Name: "read", Arguments: session.Raw(`{"path":"a"}`)}
	result := session.ToolResult{CallID: "call-1", Name: "read", Parts: []session.Part{session.Text{Text: "damson"}}, IsError: true}
	// A program may drop the thinking of a model that it does not know.
	by := store.Answer{Provider: "orchard", Model: "claude-opus-4-6", Usage: &session.Usage{Input: 30, Output: 4, Total: 34}}
	if s.habits.ResultsInCalls {
		a, err := sess.AppendAssistant(ctx, []session.Part{think, say, call, result}, by)
		s.must(err)
		s.fails(sess, store.ErrUnsupported, map[string]func() error{
			"AppendToolResult": func() error { return second(sess.AppendToolResult(ctx, "call-1", result.Parts, true)) },
		})
		s.durable(sess, a)
	} else {
		s.must(second(sess.AppendAssistant(ctx, []session.Part{think, say, call}, by)))
		a, err := sess.AppendToolResult(ctx, "call-1", result.Parts, true)
		s.must(err)
		s.durable(sess, a)
	}
	s.must(second(sess.AppendText(ctx, session.RoleAssistant, "elderberry")))
	var refused *store.RefusedError
	if _, err := sess.AppendToolResult(ctx, "call-2", result.Parts, false); !errors.As(err, &refused) {
		s.Errorf("a result of no call: %v", err)
	}
	said := []session.Part{session.Text{Text: "apricot"}, picture, think, say, call, result, session.Text{Text: "elderberry"}}
	want := spell(said)
	heard := []string{"apricot", "bilberry", "cherry", "damson", "elderberry"}
	if s.habits.ForgetsThinking {
		said, heard = slices.Delete(said, 2, 3), slices.Delete(heard, 1, 2)
	}
	if s.habits.PlainResults {
		result.IsError = false
		said[len(said)-2] = result
	}
	sees := spell(said)
	s.must(sess.Close())
	again := s.reopened(sess.Path(), heard...)
	var entries, messages []session.Part
	for e := range again.Tree().Entries() {
		if e.Kind != session.KindMessage {
			continue
		}
		parts, err := e.Parts()
		s.must(err)
		entries = append(entries, parts...)
		s.used(e, by)
	}
	c, err := again.Context(ctx, again.Leaf(), store.ContextOptions{})
	s.must(err)
	for m, err := range c.Messages() {
		s.must(err)
		messages = append(messages, again.MessageParts(m.JSON)...)
	}
	if got := spell(entries); !slices.Equal(got, want) {
		s.Errorf("the entries have\n  %q\nwant\n  %q", got, want)
	}
	if got := spell(messages); !slices.Equal(got, sees) {
		s.Errorf("the model sees\n  %q\nwant\n  %q", got, sees)
	}
	// Some formats name no provider.
	if m, ok := c.DefaultModel(); ok && m.Model != "claude-opus-4-6" {
		s.Errorf("the model is %q", m.Name)
	}
}

// blobs appends a picture that the agent keeps outside of the log, and reads it with another store.
func blobs(s *suite) {
	if s.dialect.Layout().RootAt("").Blobs == "" {
		return // not a skip: the format keeps pictures in the log
	}
	sess := s.begin()
	if s.a.BlobsAs(backend.Writer{}, sess.Path(), s.dialect) == nil {
		return // not a skip: the place has no blobs
	}
	large := session.Image{MIME: "image/png", Data: strings.Repeat("iVBORw0KGgoAAAAN", 4096)}
	s.must(second(sess.AppendUser(s.Context(), "apricot", large)))
	s.must(second(sess.AppendText(s.Context(), session.RoleAssistant, "bilberry")))
	s.must(sess.Close())
	if content := s.bytes(sess.Path()); strings.Contains(content, large.Data) || !strings.Contains(content, blob.Prefix) {
		s.Errorf("the picture is in the log: %.200q", content)
	}
	again := s.reopened(sess.Path(), "apricot", "bilberry")
	var parts []session.Part
	c, err := again.Context(s.Context(), again.Leaf(), store.ContextOptions{})
	s.must(err)
	for m, err := range c.Messages() {
		s.must(err)
		parts = append(parts, again.MessageParts(m.JSON)...)
	}
	want := []session.Part{session.Text{Text: "apricot"}, large, session.Text{Text: "bilberry"}}
	if !slices.Equal(spell(parts), spell(want)) {
		s.Errorf("the model sees %.300q", spell(parts))
	}
}

// durable checks the answer of an append.
func (s *suite) durable(sess *store.Session, a store.Appended) {
	s.Helper()
	if !a.Durable || a.ID != sess.Leaf() {
		s.Errorf("%+v, leaf %s", a, sess.Leaf())
	}
}

// used compares what an answer took, where the format says it.
func (s *suite) used(e session.Entry, by store.Answer) {
	s.Helper()
	body, err := e.Body()
	s.must(err)
	m, ok := body.(session.Message)
	if ok && m.Usage != nil && m.Usage.Input != 0 && (m.Usage.Input != by.Usage.Input || m.Usage.Output != by.Usage.Output) {
		s.Errorf("the answer took %+v", m.Usage)
	}
}

// spell returns parts as texts, without what some formats have no place for: the type of a picture, the tool of a result.
func spell(parts []session.Part) (list []string) {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			list = append(list, "text "+p.Text)
		case session.Thinking:
			list = append(list, "thinking "+p.Text)
		case session.ToolCall:
			list = append(list, fmt.Sprintf("call %s %s %s", p.ID, p.Name, p.Arguments))
		case session.ToolResult:
			list = append(list, fmt.Sprintf("result %s %v %q", p.CallID, p.IsError, spell(p.Parts)))
		case session.Image:
			list = append(list, "image "+p.Data)
		default:
			list = append(list, fmt.Sprintf("%T", p))
		}
	}
	return list
}
