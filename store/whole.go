package store

import (
	"context"
	"fmt"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Whole gives the record of an entry with the strings that were cut when it was written as they were: see
// WriteOptions.NoOverflow. Most entries have none, and it is their record, byte for byte. What cannot be put back stays
// cut, and the problems say why.
func (s *Session) Whole(ctx context.Context, e session.Entry) (record []byte, problems []session.Problem, err error) {
	record, err = e.Raw()
	if err != nil {
		return nil, nil, err
	}
	// Only agents that cut long strings have anything to put back.
	d, ok := s.dialect.(dialect.Overflower)
	if !ok {
		return record, nil, nil
	}
	record = d.Whole(record, func(ref string) ([]byte, error) {
		b, p := s.Blob(ctx, ref)
		if p != nil {
			p.Line, p.Offset = e.Line, e.Span.Offset
			problems = append(problems, *p)
			return nil, p
		}
		return b, nil
	})
	return record, problems, nil
}

// AppendText appends a message of plain text, by the user or the model. An answer names the model that is in use at the
// leaf.
func (s *Session) AppendText(ctx context.Context, role session.Role, text string) (Appended, error) {
	d, ok := s.dialect.(dialect.Speaker)
	if !ok {
		return Appended{}, fmt.Errorf("making messages of %s is %w", s.dialect.Name(), ErrUnsupported)
	}
	if err := s.canWrite(); err != nil {
		return Appended{}, err
	}
	var model session.ModelRef
	if role == session.RoleAssistant {
		// Somebody may append between this look and the append: then the answer names the model of a moment ago.
		c, err := s.Context(ctx, s.Leaf(), ContextOptions{NoBlobs: true})
		if err != nil {
			return Appended{}, err
		}
		model, _ = c.DefaultModel()
	}
	message, err := d.Say(role, text, s.w.opt.Clock(), model)
	if err != nil {
		return Appended{}, err
	}
	return s.AppendMessage(ctx, message)
}

// canWrite asks before a context is computed for nothing.
func (s *Session) canWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.writable()
	return err
}
