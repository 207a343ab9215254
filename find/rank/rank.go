// Package rank scores how well entries fit a query: Okapi BM25, with chunks of logs as documents.
package rank

import "math"

// Terms has the frequency of each term of a query. In the usual formula the chunk takes the place of the document: counting the entries
// that have a term would mean reading them all.
type Terms struct {
	Chunks int   // number of chunks of all logs
	With   []int // number of chunks that may have each term
}

// Weights returns the weight of each term.
func (t *Terms) Weights() []float64 {
	weights := make([]float64, len(t.With))
	for i, n := range t.With {
		weights[i] = math.Log(1 + (float64(t.Chunks-n)+0.5)/(float64(n)+0.5))
	}
	return weights
}

// Entry is the input of an entry's score.
type Entry struct {
	Terms  []int // how often each term occurs
	Length int   // length of all texts
}

// Score grows with the number of occurrences, less so the longer the entry is, and a rare term counts for more than a common one. The usual
// length is a constant, that of a long paragraph, so that the score of an entry does not depend on the other entries.
func (e *Entry) Score(weights []float64) float64 {
	const k, b, usual = 1.2, 0.75, 1000
	sum := 0.0
	for i, n := range e.Terms {
		tf := float64(n)
		sum += weights[i] * tf * (k + 1) / (tf + k*(1-b+b*float64(e.Length)/usual))
	}
	return sum
}
