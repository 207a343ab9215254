// Package all is the list of the dialects that treeline knows, in the order in which they are asked.
package all

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/dialect/wave"
)

// Dialects is every dialect. The first value of a family is the one that a log is taken for where nothing else decides;
// the first of all is the default for new sessions.
// A slice and no registry: the order decides which dialect claims a log, so it must be the same in every program.
func Dialects() []dialect.Dialect {
	return []dialect.Dialect{
		pi.Omp,
		pi.Pi,
		pi.OmpDoc,
		operator.Operator,
		operator.OperatorDoc,
		wave.Wave,
		wave.Doc,
		wave.Legacy,
		codelia.State, // before those whose folder theirs lies in
		codelia.StateDoc,
		codelia.Codelia,
		codelia.CodeliaDoc,
	}
}
