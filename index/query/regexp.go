package query

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// regexpTerm makes the term of a query that is a regular expression.
func regexpTerm(text string, exact bool) (*term, error) {
	if text == "" {
		return nil, ErrEmpty
	}
	if _, err := syntax.Parse(text, syntax.Perl); err != nil { // the text alone first: the error must not show the prefix
		return nil, badRegexp(err)
	}
	if !exact {
		text = "(?i)" + text // without a parenthesis at the end, which an open \Q would quote
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, badRegexp(err)
	}
	// Parsed again, since package regexp does not expose its tree. Compile needs Simplify.
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, badRegexp(err)
	}
	tree = tree.Simplify()
	auto, err := newAutomatons(re, tree)
	if err != nil {
		return nil, err
	}
	return &term{re: re, tree: tree, auto: auto}, nil
}

// badRegexp says what is wrong with an expression.
func badRegexp(err error) error {
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		return fmt.Errorf("invalid regular expression: %s: %.60q", wrong.Code, wrong.Expr)
	}
	return err
}

// regexpFilter returns the keys of the literals without which the expression cannot match. A literal may occur inside words.
func regexpFilter(re *syntax.Regexp) (f filter) {
	eachRequired(re, func(lit *syntax.Regexp) {
		f.piece(lit.Rune, false, false)
	}, func(choices []*syntax.Regexp) {
		var any []filter
		for _, c := range choices {
			any = append(any, regexpFilter(c))
		}
		f.anys = append(f.anys, any)
	})
	return f
}

// eachRequired visits what every match of an expression contains: literals, and choices, of which it contains one
// alternative. Everything else (classes, stars, assertions) requires nothing.
func eachRequired(re *syntax.Regexp, literal func(*syntax.Regexp), choice func([]*syntax.Regexp)) {
	switch re.Op {
	case syntax.OpLiteral:
		literal(re)
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			eachRequired(sub, literal, choice)
		}
	case syntax.OpRepeat:
		if re.Min > 0 {
			eachRequired(re.Sub[0], literal, choice)
		}
	case syntax.OpAlternate:
		choice(re.Sub)
	}
}
