package place

import (
	"slices"
	"strings"
)

// Firsts gives the first source of each agent, to say in few words where sessions are looked for. Values of one family, such as wave,
// wave-doc and wave-legacy, are one agent.
func Firsts(sources []Source) []Source {
	var first []Source
	for _, src := range sources {
		name := src.Dialect.Name()
		if !slices.ContainsFunc(first, func(f Source) bool {
			return name == f.Dialect.Name() || strings.HasPrefix(name, f.Dialect.Name()+"-")
		}) {
			first = append(first, src)
		}
	}
	return first
}
