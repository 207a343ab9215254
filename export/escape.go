package export

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped adds the spellings of texts in JSON, and in JSON within a string of JSON, if they differ.
func escaped(hide []string) []string {
	list := slices.Clone(hide)
	add := func(spelling string) {
		if !slices.Contains(list, spelling) {
			list = append(list, spelling)
		}
	}
	for _, h := range hide {
		if b, err := json.Marshal(h); err == nil {
			add(string(b[1 : len(b)-1]))
		}
		add(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(h))
		ascii := inASCII(h)
		add(ascii)
		add(strings.ReplaceAll(ascii, `\u`, `\\u`))
	}
	return list
}

// inASCII returns the spelling of a text in JSON that has only ASCII characters.
func inASCII(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}
