package claude_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
)

// TestCorpus compares what the model would see with what the program sent.
func TestCorpus(t *testing.T) {
	dialecttest.Sent{
		Dialect: claude.Claude, Member: "messages", Losses: losses,
		Made: func(text string) bool { return strings.HasPrefix(text, "<system-reminder>") },
	}.Run(t, dialecttest.Corpus(t, "claude"))
}

// losses are the problems of logs that are damaged, or in which the program does not show the model something.
var losses = map[string]string{
	"blank-and-scalars":              "not-object 3, not-object 4, not-object 5, not-object 6",
	"boundary-mid-of-turn":           "unseen 5",
	"bridge-days":                    "orphan 3, unseen 3",
	"bridge-file-or-time":            "orphan 7, unseen 7",
	"bridge-gap-1h":                  "orphan 3, unseen 3",
	"bridge-gap-1m":                  "orphan 3, unseen 3",
	"bridge-gap-4999ms":              "orphan 3",
	"bridge-gap-6s":                  "orphan 3, unseen 3",
	"bridge-into-compact":            "orphan 6",
	"bridge-mid-later-branch":        "orphan 3",
	"bridge-over-system":             "orphan 5",
	"bridge-small-overlap":           "orphan 3, unseen 3",
	"bridge-tips":                    "orphan 7, unseen 7",
	"bridge-twice":                   "orphan 3, orphan 5",
	"cycle-inner":                    "cycle 2",
	"dangling-call":                  "unseen 2",
	"dangling-first-on-path":         "unseen 2",
	"dangling-mid-and-last-answered": "unseen 2",
	"dangling-off-path-first":        "unseen 2",
	"dangling-one-resolved-off":      "unseen 2",
	"dangling-parallel-mid":          "unseen 3",
	"double-call":                    "unseen 4, unseen 5",
	"dup-later-time":                 "duplicate-id 5, unseen 3",
	"dup-mid":                        "duplicate-id 4",
	"dup-uuid-identical":             "duplicate-id 5",
	"dup-uuid-new-parent":            "duplicate-id 5, unseen 4",
	"explicit-off-path-then-more":    "unseen 8",
	"glued":                          "glued 2, unseen 2",
	"lp-first-line":                  "unseen 6",
	"lp-only-bridged":                "orphan 7, unseen 7",
	"lp-then-new-root":               "unseen 8",
	"lp-with-system-child":           "unseen 9",
	"missing-after-sidechain":        "orphan 4",
	"missing-parent":                 "orphan 3",
	"missing-parent-assistant":       "orphan 4",
	"missing-parent-other-branch":    "orphan 7",
	"missing-parent-root":            "orphan 1",
	"missing-parent-ts":              "orphan 5, unseen 5",
	"missing-then-boundary":          "orphan 5",
	"preserved-rewritten-uuid":       "duplicate-id 7, duplicate-id 8",
	"regenerated-result":             "unseen 5",
	"self-parent":                    "cycle 3",
	"timestamp-number":               "refused 2",
	"timestamp-only-user":            "refused 4",
	"torn-tail":                      "torn 4",
	"torn-then-more":                 "torn 3",
	"without-uuid":                   "orphan 2",
}
