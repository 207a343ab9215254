package file

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
)

// viewLeast is the size above which mapping a file costs less than reading it.
const viewLeast = 1 << 20

// View implements backend.ViewReader: it maps the file. That saves the copy, a third of the time of reading a session.
//
// If another program truncates the file, access to a page after its end is a fault that would end the process. So faults
// become panics while look runs, and a panic caused by a change of the file becomes ErrChanged. An iterator could not do
// this, since it must not recover panics from the body of its loop.
func (s *snapshot) View(from, size int64, look func(data []byte) error) (err error) {
	if s.size < viewLeast {
		return fmt.Errorf("%s: a view of so few bytes: %w", s.name, errors.ErrUnsupported)
	}
	if size > int64(s.most) { // a line that needs it is refused by Records
		return fmt.Errorf("%s: a view of so many bytes: %w", s.name, errors.ErrUnsupported)
	}
	m, ok := s.f.(durable.Mapper)
	if !ok {
		return fmt.Errorf("%s: a view: %w", s.name, errors.ErrUnsupported)
	}
	data, unmap, err := m.Map(from, size)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", s.name, errors.ErrUnsupported, err)
	}
	defer func() { err = errors.Join(err, unmap()) }()
	if err := s.guard(data, look); err != nil {
		return err
	}
	// Checked at the end: only then is it certain that these were the bytes that the caller saw.
	return s.check()
}

// guard calls look and turns a panic into ErrChanged if the file changed meanwhile.
func (s *snapshot) guard(data []byte, look func(data []byte) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		// Not only faults count: a parser that sees different bytes the second time may panic anywhere.
		if !durable.FaultIn(cause, data) && s.check() == nil {
			panic(cause)
		}
		err = fmt.Errorf("%s: %w", s.name, backend.ErrChanged)
	}()
	return look(data)
}
