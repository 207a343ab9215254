package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/interop/draft"
)

// claims reports whether a log is one of the agent.
func (a agent) claims(log []byte) bool {
	first, _, _ := bytes.Cut(log, []byte("\n"))
	return a.dialect.Detect([]dialect.Record{{Data: first, Line: 1}})
}

// idOf is the last id in the name of a file, or else the first in its content.
func (a agent) idOf(name string, log []byte) string {
	if ids := uuid.FindAllString(name, -1); ids != nil {
		return ids[len(ids)-1]
	}
	for line := range bytes.Lines(log) {
		for _, key := range []string{`"sessionId":"`, `"id":"`} {
			if _, after, ok := bytes.Cut(line, []byte(key)); ok {
				if id := uuid.Find(after[:min(36, len(after))]); id != nil {
					return string(id)
				}
			}
		}
	}
	return "00000000-0000-4000-8000-00000000ffff"
}

// cwd is the directory that a log names.
var cwd = regexp.MustCompile(`"cwd":"[^"\\\\]*"`)

// moved is a log in another directory, as the desk wants to have it: some agents find a session only in its own.
func moved(log []byte) []byte {
	if old := cwd.Find(log); old != nil {
		return bytes.ReplaceAll(log, old, []byte(`"cwd":"`+draft.CWD+`"`))
	}
	return log
}

// beside are the logs in the folder NAME.d beside NAME.jsonl.
func beside(file string) map[string][]byte { return logs(strings.TrimSuffix(file, ".jsonl") + ".d") }

// logs are the logs of a folder by their names.
func logs(dir string) map[string][]byte {
	list := map[string][]byte{}
	found, _ := filepath.Glob(filepath.Join(dir, "*.jsonl")) // the pattern is valid
	for _, path := range found {
		if log, err := os.ReadFile(path); err == nil {
			list[filepath.Base(path)] = log
		}
	}
	return list
}

// recall is what the agent sent another time. An empty file is a refusal.
func (d *desk) recall(file string) (s sent, err error) {
	if s.body, err = os.ReadFile(file); err != nil || len(s.body) == 0 {
		return sent{}, err
	}
	s.messages, err = d.project(s.body)
	return s, err
}
