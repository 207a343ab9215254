package gemini_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/gemini"
)

// TestCorpus compares what the model would see with what the program sent.
func TestCorpus(t *testing.T) {
	dialecttest.Sent{
		Dialect: gemini.Gemini, Member: "contents", Losses: losses, Joins: true,
		Made: func(text string) bool { return strings.HasPrefix(text, "<session_context>") || text == "SAY resumed" },
	}.Run(t, dialecttest.Corpus(t, "gemini"))
}

// losses are the Problems of the cases in which the program loses something: kind and line. The other cases have none.
var losses = map[string]string{
	"kinds":         "unseen 8",
	"subagent-kind": "refused 1",
	"torn-tail":     "torn 6",
}
