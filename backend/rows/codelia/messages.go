package codelia

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// readFile returns a file as it was when it was opened, and its modification time. It refuses devices and pipes, because
// reading one might never end.
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
		return nil, time.Time{}, fmt.Errorf("%s: not a regular file", path)
	}
	content := make([]byte, info.Size)
	n, err := io.ReadFull(io.NewSectionReader(f, 0, info.Size), content)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the file was truncated meanwhile
	}
	return content[:n], time.Unix(0, info.Nanos), err
}

// damage returns the error for a file that neither we nor the program can load.
func damage(path, format string, args ...any) error {
	return &backend.DamageError{File: path, Line: 1, Message: fmt.Sprintf(format, args...),
		Advice: "the file was not changed; codelia does not load the session either"}
}

// splitMessages splits a file of messages. A line that is not a message is kept: the dialect reports it. torn: the last one is an
// unterminated line that is not JSON. The program replaces the file whole and loads no file with such a line, so only damage
// makes one.
func splitMessages(content []byte) (list [][]byte, torn bool) {
	list = make([][]byte, 0, bytes.Count(content, []byte{'\n'})+1)
	for text := range bytes.Lines(content) {
		text, whole := bytes.CutSuffix(text, []byte{'\n'})
		if text = bytes.Trim(text, " \t\r"); len(text) > 0 {
			list = append(list, text)
			torn = !whole && !rawjson.Valid(text)
		}
	}
	return list, torn
}

func isMessage(m []byte) bool { return rawjson.IsObject(m) && rawjson.Valid(m) }

// lastUser returns the last text of the user, as the program's list shows it.
func lastUser(messages [][]byte) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if rawjson.Str(messages[i], "role") == "user" {
			return display(rawjson.Get(messages[i], "content"))
		}
	}
	return ""
}

// display follows the program's own rule, because its text is compared with the one in the row.
func display(content []byte) string {
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
