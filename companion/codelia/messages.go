package codelia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// read gives a file and the time of its last change.
func (c *Companion) read(path string) ([]byte, time.Time, error) { return readFile(c.opt.FS, path) }

// readFile gives a file as it was when it was opened. A device or a pipe is refused: reading one might never end. Bytes
// that are added meanwhile are left out; these files are only ever replaced.
func readFile(fsys durable.FS, path string) ([]byte, time.Time, error) {
	f, err := fsys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	if !info.Mode.IsRegular() {
		return nil, time.Time{}, fmt.Errorf("%s is no file", path)
	}
	content, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size))
	return content, time.Unix(0, info.Nanos), err
}

// splitMessages takes a file of messages apart. The file is only ever replaced as a whole, so there is no torn line that
// could be excused: a line that is no message is an error, as it is for the program.
func splitMessages(path string, content []byte) ([]session.Raw, error) {
	list := make([]session.Raw, 0, bytes.Count(content, []byte{'\n'})+1)
	line, offset, next := 0, 0, 0
	for text := range bytes.SplitSeq(content, []byte{'\n'}) {
		line++
		// Blank lines count: line and offset are those that an editor shows.
		offset, next = next, next+len(text)+1
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if !rawjson.IsObject(text) || !rawjson.Valid(text) {
			return nil, &session.Problem{File: path, Line: line, Kind: session.ProblemMalformed,
				Offset:  int64(offset),
				Message: fmt.Sprintf("message %d is no JSON object", len(list)+1),
				Advice:  "the file was not changed; codelia does not load the session either"}
		}
		list = append(list, session.Raw(text))
	}
	return list, nil
}

// joinMessages is the file of messages. They stay as they are: those that were there before are not ours to spell anew.
func joinMessages(messages []session.Raw) ([]byte, error) {
	var b bytes.Buffer
	for i, m := range messages {
		if !rawjson.IsObject(m) || !rawjson.Valid(m) {
			return nil, fmt.Errorf("message %d is no JSON object", i+1)
		}
		// Between members JSON may have line breaks, and a line is a message.
		if bytes.IndexByte(m, '\n') >= 0 {
			m = rawjson.Compact(m)
		}
		b.Write(m)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// lastUser is what the user said last, as the program's list shows it: text, and a word in brackets for all else.
func lastUser(messages []session.Raw) string {
	// From the end: conversations are long, and the last prompt is near.
	for i := len(messages) - 1; i >= 0; i-- {
		if rawjson.Str(messages[i], "role") == "user" {
			return display(rawjson.Get(messages[i], "content"))
		}
	}
	return ""
}

// display is the program's own rule, part by part: the text is compared with what it left in the row.
func display(content []byte) string {
	// Plain text has no parts.
	if s, ok := rawjson.Unquote(content); ok {
		return s
	}
	var b strings.Builder
	for part := range rawjson.Elements(content) {
		switch kind := rawjson.Str(part, "type"); kind {
		case "text":
			b.WriteString(rawjson.Str(part, "text"))
		case "image_url":
			b.WriteString("[image]")
		case "other":
			b.WriteString("[other:" + rawjson.Str(part, "provider") + "/" + rawjson.Str(part, "kind") + "]")
		default:
			b.WriteString("[" + kind + "]")
		}
	}
	return b.String()
}

// version stands for all that a state says. A hash and no counter: the files have no room for one, and the program would
// not keep it. Lengths stand before the parts, so that no two states give the same bytes.
func version(s *store.State) string {
	h := sha256.New()
	seq := ""
	if s.InvokeSeq != nil {
		seq = strconv.FormatInt(*s.InvokeSeq, 10)
	}
	for _, part := range []string{string(s.ID), s.UpdatedAt, s.RunID, seq, s.Root, string(s.Meta), string(s.Other)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	for _, m := range s.Messages {
		h.Write(m)
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// check compares what is there with what a writer believes to be there.
func check(want string, now *store.State) error {
	switch {
	// The caller takes whatever is there, or nothing.
	case want == "":
		return nil
	case want == store.NewState && now == nil:
		return nil
	case now != nil && now.Version == want:
		return nil
	}
	return store.ErrStateChanged
}
