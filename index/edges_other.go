//go:build !amd64

package index

// findEdges writes to out where runs begin and end in the first blocks of 64 bytes of text, of which base is the place, and
// gives how many edges that are. inside is 1 where a run goes on from before, otherwise 0. There must be room for as many
// edges as there are bytes.
func findEdges(text []byte, blocks, base, inside int, out []int) int {
	return findEdgesGo(text, blocks, base, inside, out)
}
