package find

import "math"

// rank counts how common each term is, to weigh hits.
type rank struct {
	chunks int   // of all logs
	with   []int // chunks that may have each term
}

// weights says how much each term tells. The chunk takes the place of the document in the usual formula: counting the
// entries that have a term would mean reading them all.
func (r *rank) weights() []float64 {
	weights := make([]float64, len(r.with))
	for i, n := range r.with {
		weights[i] = math.Log(1 + (float64(r.chunks-n)+0.5)/(float64(n)+0.5))
	}
	return weights
}

// counted is what the score of a hit is made of.
type counted struct {
	terms  []int // how often each occurs
	length int   // of all texts
}

// score is Okapi BM25: the more often the terms occur the better, less so the longer the entry is, and a rare term
// counts for more than a common one. The usual length is a constant, that of a long paragraph, so that the score of a hit
// does not depend on what else is searched.
func (c *counted) score(weights []float64) float64 {
	const k, b, usual = 1.2, 0.75, 1000
	sum := 0.0
	for i, n := range c.terms {
		tf := float64(n)
		sum += weights[i] * tf * (k + 1) / (tf + k*(1-b+b*float64(c.length)/usual))
	}
	return sum
}
