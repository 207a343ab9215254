package doctest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Names maps the ids that a document shows to the ids of this run.
//
// The output of a command may differ from what the document shows in this:
//
//   - An id, eight hexadecimal digits, a UUID or one of OpenCode ("ses_" and letters), is any id of the same length. From then on the one in the document stands for
//     the one in the output, also in commands.
//   - A date, a time of day, an age ("3 d") and a size ("1.3 KB", which depends on the paths in a file) are any others.
//   - White space between words is as wide as it needs to be.
//   - "…" is any text in a line. A line with nothing else is any number of lines.
type Names struct {
	real map[string]string // ids of this run, by the ids in the document
}

const (
	idShape   = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{8}|ses_[0-9A-Za-z]{4,}`
	dateShape = `[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}[:-][0-9]{2}[:-][0-9]{2}(?:\.[0-9]+|-[0-9]{3})?Z?)?|[0-9]{4}/[0-9]{2}/[0-9]{2}|[0-9]{2}[:-][0-9]{2}(?:[:-][0-9]{2})?(?:\.[0-9]+)?`
	ageShape  = `(?:[0-9]+|<1) (?:s|min|h|d|w|y)`
	sizeShape = `[0-9.]+ (?:B|KB|MB|GB)`
)

// shapes finds what is not literal in a line of a document: an id, a date, an age, a size, white space, anything.
func shapes() *regexp.Regexp {
	return regexp.MustCompile(`\b(` + idShape + `)\b|\b(` + dateShape + `)\b|(` + ageShape + `)\b|(` + sizeShape + `)\b|( +)|(…)`)
}

// Match compares what a document shows with what was printed. If they agree, the ids in it are bound.
func (n *Names) Match(shown, printed string) error {
	var ids []string
	find := shapes()
	pattern := "^"
	// A file name may combine its time and its id.
	apart := strings.NewReplacer("Z_", "Z ")
	for line := range strings.Lines(apart.Replace(shown)) {
		line = strings.TrimRight(line, " \n")
		if line == "…" {
			pattern += `(?:.*\n)*?`
			continue
		}
		at := 0
		for _, m := range find.FindAllStringSubmatchIndex(line, -1) {
			pattern += regexp.QuoteMeta(line[at:m[0]])
			at = m[1]
			switch {
			case m[2] >= 0:
				id := line[m[2]:m[3]]
				if real, ok := n.real[id]; ok {
					pattern += "(" + real + ")"
				} else if own, ok := strings.CutPrefix(id, "ses_"); ok {
					pattern += fmt.Sprintf(`(ses_[0-9A-Za-z]{%d})`, len(own))
				} else {
					pattern += fmt.Sprintf(`([0-9a-f-]{%d})`, len(id))
				}
				ids = append(ids, id)
			case m[4] >= 0:
				pattern += "(?:" + dateShape + ")"
			case m[6] >= 0:
				pattern += ageShape
			case m[8] >= 0:
				pattern += sizeShape
			case m[10] >= 0:
				pattern += " +"
			default:
				pattern += ".*"
			}
		}
		pattern += regexp.QuoteMeta(line[at:]) + ` *\n`
	}
	if printed != "" && !strings.HasSuffix(printed, "\n") {
		printed += "\n"
	}
	match := regexp.MustCompile(pattern + "$").FindStringSubmatch(apart.Replace(printed))
	if match == nil {
		return fmt.Errorf("the document shows\n%s\nbut the command prints\n%s", shown, printed)
	}
	return n.bind(ids, match[1:])
}

// bind records which id stands for which. One id does not stand for two.
func (n *Names) bind(ids, real []string) error {
	if n.real == nil {
		n.real = map[string]string{}
	}
	for i, id := range ids {
		if had, ok := n.real[id]; ok && had != real[i] {
			return fmt.Errorf("the id %s in the document is %s and %s in the output", id, had, real[i])
		}
		n.real[id] = real[i]
	}
	return nil
}

// Real returns a command with the ids of this run. A short id in the command stands for the beginning of the UUID in an output.
func (n *Names) Real(command string) (string, error) {
	var unknown error
	text := regexp.MustCompile(`\b(?:`+idShape+`)\b`).ReplaceAllStringFunc(command, func(id string) string {
		if real, ok := n.real[id]; ok {
			return real
		}
		for _, shown := range slices.Sorted(maps.Keys(n.real)) {
			if strings.HasPrefix(shown, id) {
				return n.real[shown][:len(id)]
			}
		}
		unknown = fmt.Errorf("the id %s is not in any output above", id)
		return id
	})
	return text, unknown
}

// Shown returns an output of this run with the ids of the document, as far as they are known, to be put into the document.
func (n *Names) Shown(printed string) string {
	for _, id := range slices.Sorted(maps.Keys(n.real)) {
		printed = strings.ReplaceAll(printed, n.real[id], id)
	}
	return printed
}
