package codex

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// The regular expressions specify what the code does.
func TestHalfPair(t *testing.T) {
	escapes := regexp.MustCompile(`(?i)\\\\|\\ud[89ab]..\\ud[c-f]..|(\\ud[89a-f])`)
	pieces := []string{``, `\\`, `x`, `\n`, `\u00e4`, `\ud83d`, `\uD83D`, `\ude00`, `\uDE00`, `\ud7ff`, `ud83d`}
	for _, a := range pieces {
		for _, b := range pieces {
			for _, c := range pieces {
				text := `{"text":"` + a + b + c + `"}`
				want := slices.ContainsFunc(escapes.FindAllStringSubmatchIndex(text, -1), func(m []int) bool { return m[2] >= 0 })
				if got := halfPair([]byte(text)); got != want {
					t.Errorf("halfPair(%s) is %v", text, got)
				}
			}
		}
	}
}

func TestIsAgent(t *testing.T) {
	path := regexp.MustCompile(`^/(morpheus|root(/[a-z0-9_]+)*)$`)
	pieces := []string{"", "/", "/root", "root", "/morpheus", "/a_1", "/A", "x", "/ä"}
	for _, a := range pieces {
		for _, b := range pieces {
			for _, c := range pieces {
				name := a + b + c
				want := path.MatchString(name) && !strings.Contains(name[1:]+"/", "/root/")
				if got := isAgent(rawjson.Quote(name)); got != want {
					t.Errorf("isAgent(%q) is %v", name, got)
				}
			}
		}
	}
}
