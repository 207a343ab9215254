package session

// Usage counts what one answer used, as far as it was recorded.
type Usage struct {
	Input, Output, CacheRead, CacheWrite, Total int64
	// Cost is the sum of Costs, in dollars.
	Cost  float64
	Costs Costs
	// Odd names the first member whose number is impossible for an answer. It was read as 0.
	Odd string
}

// Costs are the costs of the tokens of one answer.
type Costs struct{ Input, Output, CacheRead, CacheWrite float64 }

// usageMost limits each number of a Usage, so that no sum over the entries of a log, at most 2^31, overflows.
const usageMost = 1e9

// NewUsage makes a Usage of the numbers in a log: input, output, cacheRead, cacheWrite and total, in tokens and in
// dollars. Fractions of tokens are dropped.
func NewUsage(tokens, costs [5]float64) Usage {
	var u Usage
	names := [5]string{"input", "output", "cacheRead", "cacheWrite", "total"}
	check := func(prefix string, list *[5]float64) {
		for i, f := range list {
			if !(f >= 0 && f <= usageMost) { // also true for NaN
				list[i] = 0
				if u.Odd == "" {
					u.Odd = prefix + names[i]
				}
			}
		}
	}
	check("", &tokens)
	check("cost.", &costs)
	u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Total = int64(tokens[0]), int64(tokens[1]), int64(tokens[2]), int64(tokens[3]), int64(tokens[4])
	u.Costs = Costs{Input: costs[0], Output: costs[1], CacheRead: costs[2], CacheWrite: costs[3]}
	u.Cost = costs[4]
	return u
}

// Problem reports an impossible number in the usage of an entry. The name of the log is left out; ok is false if there is none.
func (u *Usage) Problem(e Entry) (p Problem, ok bool) {
	if u == nil || u.Odd == "" {
		return p, false
	}
	return Problem{
		Line: e.Line, Offset: e.Span.Offset, Kind: ProblemField,
		Message: "the usage of the answer has an impossible number (" + u.Odd + ")", Advice: "it counts as 0; the record is kept as it is",
	}, true
}
