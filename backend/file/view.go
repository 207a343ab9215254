package file

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// viewLeast is the size from which on mapping a file costs less than reading it.
const viewLeast = 1 << 20

// View implements backend.Viewer: it maps the file, which saves the copy, a third of the time of reading a session.
//
// A page of a mapped file that another program cuts off is gone, and to look at it is a fault that would end the process.
// So faults are made panics while look runs, and a panic that comes of the file's change is turned into ErrChanged. That
// is why this is a function that calls another: an iterator must not recover what happens in the body of its loop.
func (b *Backend) View(ctx context.Context, at backend.Log, look func(data []byte) error) (err error) {
	if at.Size < viewLeast {
		return fmt.Errorf("%s: a view of so few bytes: %w", at.Name, errors.ErrUnsupported)
	}
	s, err := b.hold(ctx, at)
	if err != nil {
		return err
	}
	defer s.Close()
	m, ok := s.f.(durable.Mapper)
	if !ok {
		return fmt.Errorf("%s: a view: %w", at.Name, errors.ErrUnsupported)
	}
	data, unmap, err := m.Map(0, s.size, true)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", at.Name, errors.ErrUnsupported, err)
	}
	defer func() { err = errors.Join(err, unmap()) }()
	if err := s.guard(data, look); err != nil {
		return err
	}
	// Looked at in the end: only then is it sure that what was seen is what the caller saw.
	return s.check()
}

// guard calls look and turns a panic into ErrChanged where the reason is that the file changed under it.
func (s *snapshot) guard(data []byte, look func(data []byte) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		// Not only faults: who has checked some bytes, and finds others when he looks again, may do anything.
		if !durable.FaultIn(cause, data) && s.check() == nil {
			panic(cause)
		}
		err = fmt.Errorf("%s: %w", s.name, backend.ErrChanged)
	}()
	return look(data)
}
