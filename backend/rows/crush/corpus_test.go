package crush_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend/rows/crush"
	dialects "github.com/treeline-dev/treeline/dialect/crush"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/rowstest"
)

// TestCorpus compares what the model would see with what the program sent.
func TestCorpus(t *testing.T) {
	rowstest.Sent(t, "crush", crush.Tables(), dialecttest.Sent{
		Dialect: dialects.Crush, Losses: losses,
		Made: func(text string) bool { return text == "SAY resumed" || strings.HasPrefix(text, "<system_reminder>") },
	})
}

// losses are the Problems of the cases in which the program refuses the session.
var losses = map[string]string{
	"child-session": "refused 1",
	"unknown-part":  "refused 3",
}
