package opencode_test

import (
	"testing"

	"github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	dialects "github.com/treeline-dev/treeline/dialect/opencode"
	"github.com/treeline-dev/treeline/internal/rowstest"
)

// TestCorpus compares what the model would see with what the program sent.
func TestCorpus(t *testing.T) {
	rowstest.Sent(t, "opencode", opencode.Tables(), dialecttest.Sent{
		Dialect: dialects.OpenCode, Losses: losses, Made: func(text string) bool { return text == "SAY resumed" },
		Unknown: map[string]string{"subagent-child": "the corpus has no request for it; OpenCode 1.18.33 was seen to resume it with its messages"},
	})
}

// losses are the Problems of the cases in which the program loses something.
var losses = map[string]string{
	"errors":      "unseen 3",
	"part-kinds":  "unseen 2, unseen 3",
	"tool-states": "unseen 3",
}
