package request

import (
	"slices"
	"strings"
)

// family is a family of models with which the program (2.1.325) continues.
type family struct {
	name   string
	system bool // it takes system messages between other messages
}

// families are the models that the program knows. The first is used for a session whose model it does not know.
var families = []family{
	{"claude-opus-5-5", true}, {"claude-opus-5", true}, {"claude-opus-4-8", true}, {"claude-opus-4-7", false}, {"claude-opus-4-6", false},
	{"claude-opus-4-5", false}, {"claude-sonnet-5-5", true}, {"claude-sonnet-5", true}, {"claude-sonnet-4-6", false},
	{"claude-sonnet-4-5", false}, {"claude-3-5-sonnet", false}, {"claude-haiku-5-5", true}, {"claude-haiku-4-5", false}, {"claude-fable-5", true},
}

// familyOf returns the family of a model. The name may begin with a provider and end with a date.
func familyOf(model string) (family, bool) {
	model = strings.ToLower(model)
	for _, f := range families {
		if _, after, ok := strings.Cut(model, f.name); ok && !goesOnWith(after) {
			return f, true
		}
	}
	return families[0], false
}

// goesOnWith reports whether after continues the version in a name: with a digit, or with a dash and a number of one or two digits.
func goesOnWith(after string) bool {
	digits := func(s string) (n int) {
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return n
	}
	if digits(after) > 0 {
		return true
	}
	number, dashed := strings.CutPrefix(after, "-")
	n := digits(number)
	return dashed && n > 0 && n <= 2
}

// goesOn returns the name of the family with which the program continues: that of the last answer. before is the model
// of the last answer before turns.
func goesOn(turns []*Turn, before string) string {
	for _, t := range slices.Backward(turns) {
		if t.assistant() && t.model != Synthetic && t.model != "" {
			before = t.model
			break
		}
	}
	f, _ := familyOf(before)
	return f.name
}

// takesSystem reports whether a model of that family takes system messages.
func takesSystem(name string) bool {
	f, _ := familyOf(name)
	return f.system
}

// markThinking marks the thinking of models other than the one with which the program continues. A provider accepts only the model's
// own thinking.
func markThinking(turns []*Turn, name string) {
	for _, t := range turns {
		f, known := familyOf(t.model)
		for k := range t.blocks {
			b := &t.blocks[k]
			b.foreign = t.assistant() && t.model != Synthetic && (!known || f.name != name) && (b.kind == blockThinking || b.kind == blockRedacted)
		}
	}
}
