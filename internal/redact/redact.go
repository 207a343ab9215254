// Package redact finds secrets in texts: keys, tokens, passwords, private keys, cookies.
//
// A kind of secret is a few keywords and an expression. One Aho-Corasick pass finds the keywords of all kinds, without regard to
// case, and the expression is tried only at a hit. So a text without keywords costs one table lookup a byte, and the number of
// kinds does not matter.
//
// The rules are written from what providers publish about their keys: prefix, alphabet, length, checksum. Where there is no
// prefix, the name beside a value decides (PASSWORD=, "api_key": ), and then the value has to look random. What documentation
// uses in place of a key is not a secret: <your-key>, xxxx, $VAR, process.env.KEY, anything with EXAMPLE in it. A checksum that
// is right makes such a value a secret all the same. A checksum that is wrong does not excuse a value, since a key that was
// copied with a typing error still tells most of the key.
//
// Texts may be JSON with its escapes, once or several times: a key ends before \n and \", and begins after them.
package redact

import (
	"cmp"
	"strings"
	"sync"

	"github.com/treeline-dev/treeline/internal/sorting"
)

// Match is a secret: text[Start:End], without the name or the scheme beside it.
type Match struct {
	Kind       string
	Start, End int
}

// Options extend the rules.
type Options struct {
	// Hide are texts that are also secrets, without regard to the case of ASCII letters, even inside words. Empty ones are ignored.
	Hide []string
	// Known maps secrets that were found elsewhere to their kinds. They are found even without any context. Those of fewer than KnownLeast
	// bytes are ignored, since they may be words, and those of fewer than KnownInside bytes are found as whole words.
	Known map[string]string
}

// Lengths of known secrets: the least one, and the one from which they are found inside words.
const (
	KnownLeast  = 8
	KnownInside = 16
)

// HiddenText is the kind of what Options.Hide names.
const HiddenText = "hidden text"

// Finder finds secrets. It can be used by several goroutines at once.
type Finder struct {
	words *automaton
	rules [][]rule // by keyword
}

// rule is one expression of a kind. If matches overlap, the earlier rule wins.
type rule struct {
	kind string
	rank int
	expression
}

// expression decides at a keyword, text[at:end], whether there is a secret, and where.
type expression interface {
	match(text string, at, end int) (span, bool)
}

// span is text[start:end].
type span struct{ start, end int }

var standard = sync.OnceValue(func() *Finder { return New(Options{}) })

// Find returns the secrets of a text by the standard rules, in order. They do not overlap.
func Find(text string) []Match { return standard().Find(text) }

// Text returns the text with each secret replaced by its Mark, and the secrets with their places in the old text.
func Text(text string) (string, []Match) { return standard().Text(text) }

// Mark returns the replacement for a secret of a kind.
func Mark(kind string) string { return "[redacted: " + kind + "]" }

// New makes a Finder. It costs about a millisecond.
func New(o Options) *Finder {
	f, ids := &Finder{}, map[string]int{}
	var words []string
	add := func(r rule, keyword string) {
		keyword = lower(keyword)
		id, ok := ids[keyword]
		if !ok {
			id = len(words)
			ids[keyword] = id
			words, f.rules = append(words, keyword), append(f.rules, nil)
		}
		f.rules[id] = append(f.rules[id], r)
	}
	for _, hide := range o.Hide {
		if hide != "" {
			add(rule{HiddenText, 0, verbatim{}}, hide)
		}
	}
	for secret, kind := range o.Known {
		if len(secret) >= KnownLeast {
			add(rule{kind, 1, known(secret)}, secret)
		}
	}
	rank := 2
	for _, k := range kinds() {
		for _, source := range k.shapes {
			s := compile(source)
			add(rule{k.name, rank, s}, s.keyword())
		}
		for _, keyword := range k.keywords {
			add(rule{k.name, rank, k.find}, keyword)
		}
		rank++
	}
	f.words = newAutomaton(words)
	return f
}

// verbatim matches the keyword itself.
type verbatim struct{}

func (verbatim) match(_ string, at, end int) (span, bool) { return span{at, end}, true }

// known matches one text, a short one as a word.
type known string

func (k known) match(text string, at, end int) (span, bool) {
	ok := text[at:end] == string(k) && (len(k) >= KnownInside || beginsWord(text, at) && (end == len(text) || !isAlnum(text[end])))
	return span{at, end}, ok
}

// ranked is a match that may overlap other matches.
type ranked struct {
	Match
	rank int
}

// Find returns the secrets of a text, in order. They do not overlap.
func (f *Finder) Find(text string) []Match {
	var found []ranked
	done := map[int]int(nil) // by rank: the end of the longest refused candidate
	f.words.scan(text, func(id, end int) {
		at := end - f.words.length(id)
		for _, r := range f.rules[id] {
			if at < done[r.rank] {
				continue
			}
			s, ok := r.match(text, at, end)
			if ok {
				found = append(found, ranked{Match{r.kind, s.start, s.end}, r.rank})
			}
			// Otherwise a text made of beginnings of keys would be read once for each of them.
			if s.end-at > 256 {
				if done == nil {
					done = map[int]int{}
				}
				done[r.rank] = s.end
			}
		}
	})
	return merge(found)
}

// merge joins overlapping matches. The kind of the first rank remains.
func merge(found []ranked) []Match {
	if len(found) == 0 {
		return nil
	}
	sorting.By(found, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End), cmp.Compare(a.rank, b.rank))
	})
	list, rank := []Match{found[0].Match}, found[0].rank
	for _, m := range found[1:] {
		last := &list[len(list)-1]
		if m.Start >= last.End {
			list, rank = append(list, m.Match), m.rank
			continue
		}
		last.End = max(last.End, m.End)
		if m.rank < rank {
			last.Kind, rank = m.Kind, m.rank
		}
	}
	return list
}

// Text returns the text with each secret replaced by its Mark, and the secrets with their places in the old text.
func (f *Finder) Text(text string) (string, []Match) {
	found := f.Find(text)
	if len(found) == 0 {
		return text, nil
	}
	var out strings.Builder
	out.Grow(len(text))
	at := 0
	for _, m := range found {
		out.WriteString(text[at:m.Start])
		out.WriteString(Mark(m.Kind))
		at = m.End
	}
	out.WriteString(text[at:])
	return out.String(), found
}

// Hint returns what may be shown of a secret to find it again: its first four characters, or fewer of a short one.
func Hint(secret string) string {
	n := min(4, len(secret)/4)
	for i := range n {
		if secret[i] < ' ' || secret[i] > '~' {
			n = i
			break
		}
	}
	return secret[:n] + "…"
}
