package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// A story is a session to be written. Its file has a head of "name: value" lines, an empty line, and steps. A step is a line that begins
// with "@" and the text below it:
//
//	@user [chart]     a prompt, with a picture
//	@think            a thought of the model
//	@say              a text of the model
//	@call NAME        a call of a tool; below are its arguments, see arguments
//	@result [TIME]    the result of the first call without one, and how long it took
//	@error [TIME]     the same, for a call that failed
//	@mark NAME        names the last entry
//	@label NAME TEXT  labels an entry that has a name
//	@back NAME        goes back to an entry that has a name: a branch begins
//	@compact KEEP     a compaction that keeps what begins at an entry that has a name; below is its summary
//	@wait TIME        time passes
//
// Thoughts, texts and calls that follow each other are one answer.
type story struct {
	agent string // the name of its dialect
	title string
	cwd   string
	model string // provider/model
	// The beginning: days before today and a time of day, or a time before now.
	days  int
	at    time.Duration
	ago   time.Duration
	fork  string // the story that this is a fork of
	child string // the story, and the number of its call, that began this sub-agent
	kind  string // kind of sub-agent
	run   bool   // the story is recorded as a run, too
	torn  bool   // the session ends in a torn record
	steps []step
}

type step struct {
	line  int
	verb  string
	words []string // after the verb
	text  string   // the text below the line
}

// parse reads a story.
func parse(text string) (*story, error) {
	s := &story{}
	head, quoted := true, false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case head && line == "":
			head = false
		case head:
			name, value, _ := strings.Cut(line, ": ")
			if err := s.set(name, value); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		case !quoted && strings.HasPrefix(line, "@"):
			words := strings.Fields(line[1:])
			if len(words) == 0 {
				return nil, fmt.Errorf("line %d: a step without a verb", i+1)
			}
			s.steps = append(s.steps, step{line: i + 1, verb: words[0], words: words[1:]})
		case len(s.steps) > 0:
			last := &s.steps[len(s.steps)-1]
			last.text += line + "\n"
			quoted = last.verb == "call" && line != ">>" && (quoted || strings.HasSuffix(line, " <<"))
		}
	}
	for i := range s.steps {
		s.steps[i].text = strings.Trim(s.steps[i].text, "\n")
	}
	return s, nil
}

// set reads a line of the head.
func (s *story) set(name, value string) (err error) {
	switch name {
	case "agent":
		s.agent = value
	case "title":
		s.title = value
	case "cwd":
		s.cwd = value
	case "model":
		s.model = value
	case "when": // "3 14:02"
		var hour, minute int
		_, err = fmt.Sscanf(value, "%d %d:%d", &s.days, &hour, &minute)
		s.at = time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
	case "ago":
		s.ago, err = time.ParseDuration(value)
	case "fork":
		s.fork = value
	case "child":
		s.child = value
	case "kind":
		s.kind = value
	case "run":
		s.run = value == "yes"
	case "torn":
		s.torn = value == "yes"
	default:
		err = fmt.Errorf("unknown name %q", name)
	}
	return err
}

// begins returns when the story begins.
func (s *story) begins(now time.Time) time.Time {
	if s.ago > 0 {
		return now.Add(-s.ago)
	}
	return now.Truncate(24*time.Hour).AddDate(0, 0, -s.days).Add(s.at)
}

// word returns the first word after the verb, or "".
func (st step) word() string {
	if len(st.words) > 0 {
		return st.words[0]
	}
	return ""
}

// arguments reads the arguments of a call as a JSON object. A line "name = value" is a string, or JSON if it begins like a list, an object,
// a number or a truth value. "name <<" begins a text that ends before a line ">>".
func (st step) arguments() ([]byte, error) {
	var out bytes.Buffer
	add := func(name string, value []byte) {
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%q:%s", name, value)
	}
	lines := strings.Split(st.text, "\n")
	for i := 0; i < len(lines); i++ {
		name, value, ok := strings.Cut(lines[i], " = ")
		switch {
		case ok && json.Valid([]byte(value)):
			add(name, []byte(value))
		case ok:
			add(name, quote(value))
		case strings.HasSuffix(lines[i], " <<"):
			from := i + 1
			for i++; i < len(lines) && lines[i] != ">>"; i++ {
			}
			if i == len(lines) {
				return nil, fmt.Errorf("line %d: no line >> ends the text", st.line+from)
			}
			add(strings.TrimSuffix(lines[from-1], " <<"), quote(strings.Join(lines[from:i], "\n")))
		case lines[i] != "":
			return nil, fmt.Errorf("line %d: not an argument", st.line+i+1)
		}
	}
	return []byte("{" + out.String() + "}"), nil
}

// quote encodes a text as JSON.
func quote(text string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // encoding a text does not fail
	return bytes.TrimSpace(b.Bytes())
}
