// Package all is the ordered list of the dialects that treeline knows.
package all

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/copilot"
	"github.com/treeline-dev/treeline/dialect/crush"
	"github.com/treeline-dev/treeline/dialect/gemini"
	"github.com/treeline-dev/treeline/dialect/goose"
	"github.com/treeline-dev/treeline/dialect/opencode"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/dialect/qwen"
	"github.com/treeline-dev/treeline/dialect/wave"
)

// Dialects returns every dialect. The first value of a family is the default for its logs; the first of all is the default for
// new sessions. The order decides which dialect claims a log, so it is a list and not a registry.
func Dialects() []dialect.Dialect {
	return []dialect.Dialect{
		pi.Omp,
		pi.Pi,
		pi.OmpDoc,
		pi.Omp18,
		operator.Operator,
		operator.OperatorDoc,
		wave.Wave,
		wave.Doc,
		wave.Legacy,
		codelia.State, // before the dialects whose folder contains that of codelia.State
		codelia.StateDoc,
		codelia.Codelia,
		codelia.CodeliaDoc,
		claude.Claude,
		codex.Codex,
		gemini.Gemini,
		qwen.Qwen,
		copilot.Copilot,
		opencode.OpenCode,
		opencode.Storage,
		goose.Goose,
		crush.Crush,
	}
}
