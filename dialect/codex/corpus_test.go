package codex_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
)

// TestCorpus compares what the model would see with what the program sent. NAME.d has the rollouts that a log continues.
func TestCorpus(t *testing.T) {
	dialecttest.Sent{
		Dialect: codex.Codex, Member: "input", Losses: losses,
		Unknown: map[string]string{"meta-other-provider": "whether the provider that a header names is the configured one, the log does not say"},
		Made: func(text string) bool {
			return strings.HasPrefix(text, "<environment_context>") || strings.HasPrefix(text, "# AGENTS.md")
		},
	}.Run(t, dialecttest.Corpus(t, "codex"))
}

// losses are the Problems of the cases in which the program loses something: kind and line. The other cases have none.
var losses = map[string]string{
	"compacted-metadata-mismatch": "unseen 8",
	"events-only":                 "unseen 2, unseen 3",
	"glued":                       "glued 3, unseen 3",
	"meta-not-first":              "no-header",
	"meta-second":                 "second-header 8",
	"meta-without-cli-version":    "refused 1",
	"meta-without-id":             "no-header",
	"no-line-timestamp":           "refused 1",
	"output-object":               "unseen 6",
	"paginated-no-ordinals":       "refused 1",
	"paginated-swapped":           "unseen 4, unseen 6",
	"system-role":                 "unseen 3",
	"torn-tail":                   "torn 11",
	"unknown-content-part":        "unseen 3",
	"unknown-item-type":           "unseen 8",
}
