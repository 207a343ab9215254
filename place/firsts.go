package place

import (
	"slices"

	"github.com/treeline-dev/treeline/dialect"
)

// Firsts returns the first source of each agent, to say briefly where sessions are looked for.
func Firsts(sources []Source) []Source {
	var first []Source
	for _, src := range sources {
		if !slices.ContainsFunc(first, func(f Source) bool { return dialect.Agent(src.Dialect) == dialect.Agent(f.Dialect) }) {
			first = append(first, src)
		}
	}
	return first
}
