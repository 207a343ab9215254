package goose_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend/rows/goose"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	dialects "github.com/treeline-dev/treeline/dialect/goose"
	"github.com/treeline-dev/treeline/internal/rowstest"
)

// TestCorpus compares what the model would see with what the program sent.
func TestCorpus(t *testing.T) {
	rowstest.Sent(t, "goose", goose.Tables(), dialecttest.Sent{
		Dialect: dialects.Goose, Losses: losses, Made: func(text string) bool { return strings.HasPrefix(text, "SAY resumed\n<turn-context>") },
		Unknown: map[string]string{"compact-command": "the program was asked for a compaction"},
	})
}

// losses are the Problems of the cases in which the program loses something, or refuses the session.
var losses = map[string]string{
	"bad-json":           "malformed 3, refused 3",
	"dangling-request":   "unseen 3",
	"image-notification": "unseen 2",
	"unknown-content":    "refused 3",
}
