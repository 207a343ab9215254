package push

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/treeline-dev/treeline/internal/redact"
)

// looseWait is how long a log must be unchanged before its unterminated last line is redacted and sent. Half a key would not be recognized.
const looseWait = time.Minute

// tornWait is how long a log must be unchanged before its unterminated last line gets a newline: its writer may only be
// slow.
const tornWait = 10 * time.Second

// cutLoose splits off an unterminated last line.
func cutLoose(data []byte) (lines, loose []byte) {
	i := bytes.LastIndexByte(data, '\n') + 1
	return data[:i], data[i:]
}

// redactLoose redacts an unterminated line. If the line is cut off, it may end within a secret, so nothing of it is sent.
func redactLoose(line []byte) ([]byte, int) {
	if !json.Valid(line) {
		return []byte(redact.Mark("unfinished record")), 1
	}
	return redact.Record(line)
}
