package run

import (
	"bytes"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Summary is what the beginning and the end of a run log show.
type Summary struct {
	Header Header
	// Started is zero if the header has no valid time.
	Started time.Time
	// Prompt is what the run was asked, if it stands directly after the header.
	Prompt string
	// Outcome is the outcome in run.end. It is "" for a run that crashed or is still running.
	Outcome string
}

// CWD is the working directory of the run; see Header.WorkDir.
func (s *Summary) CWD() string { return s.Header.WorkDir() }

// Peek reads the summary of a log of the given size. ends gives the first head bytes of the log and the last tail bytes of the
// rest. Peek asks for more until it has a whole record at each end, at most 1 MB, or 64 MB for the header. It
// fails with ErrNotHeader, or with the error of ends.
func Peek(size int64, ends func(head, tail int64) (first, last []byte, err error)) (s Summary, err error) {
	const begin, most, headMost, factor = 4 << 10, 1 << 20, 64 << 20, 16
	for head, tail := int64(begin), int64(begin); ; {
		first, last, err := ends(head, tail)
		if err != nil {
			return s, err
		}
		whole := head >= size
		found, cut := s.peekHead(first, whole)
		switch {
		case !found:
			if whole || !cut || head >= headMost {
				return s, ErrNotHeader
			}
			head = min(head*factor, headMost)
			continue
		case whole:
			last = first
		}
		if s.peekTail(last) || whole || tail >= most {
			return s, nil
		}
		head, tail = max(head, min(head*factor, most)), tail*factor // the last record may begin in the head
	}
}

// peekHead reads the header and the prompt. It reports whether there is a header, and whether the first record is cut off.
// A last line without its newline counts only if head is the whole log.
func (s *Summary) peekHead(head []byte, whole bool) (found, cut bool) {
	for line := range bytes.Lines(bytes.TrimPrefix(head, []byte("\ufeff"))) {
		if !whole && line[len(line)-1] != '\n' {
			break
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !found {
			h, err := DecodeHeader(bytes.Clone(line)) // the header points into its bytes, and the buffer is reused
			if err != nil {
				return false, false
			}
			found = true
			s.Header = h
			s.Started, _ = time.Parse(time.RFC3339Nano, h.StartedAt)
			continue
		}
		if b, err := Decode(line); err == nil {
			if start, ok := b.(*RunStart); ok {
				s.Prompt = start.Input.Text
				for part := range rawjson.Elements(start.Input.Parts) {
					s.Prompt += rawjson.Str(part, "text")
				}
			}
		}
		break
	}
	return found, !found
}

// peekTail reads the outcome. It reports whether the last record lies in tail as a whole. A torn record is not an
// outcome: the run crashed.
func (s *Summary) peekTail(tail []byte) bool {
	tail = bytes.TrimSpace(tail)
	i := bytes.LastIndexByte(tail, '\n')
	if b, err := Decode(tail[i+1:]); err == nil {
		if end, ok := b.(*RunEnd); ok {
			s.Outcome = end.Outcome
		}
	}
	return i >= 0
}
