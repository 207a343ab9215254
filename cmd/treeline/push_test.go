package main

import (
	"strings"
	"testing"
)

// A service runs exactly the command line, whatever is in it.
func TestServices(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	for system, want := range map[string]string{
		"linux":  `ExecStart="/a b" "100%%" "$$x" "<y>"`,
		"darwin": "<string>/a b</string>\n\t\t<string>100%</string>\n\t\t<string>$x</string>\n\t\t<string>&lt;y&gt;</string>",
	} {
		s, err := serviceFor(system, "/home/ann lee", none, "https://team.example", []string{"/a b", "100%", "$x", "<y>"})
		if err != nil || !strings.Contains(s.content, want) {
			t.Errorf("%s: %s, %v", system, s.content, err)
		}
		if !strings.HasPrefix(s.path, "/home/ann lee/") || !strings.Contains(s.remove, "rm '/home/ann lee/") || !strings.Contains(s.start, strings.TrimSuffix(s.name, ".plist")) {
			t.Errorf("%+v", s)
		}
	}
	if _, err := serviceFor("plan9", "/", none, "", nil); err == nil {
		t.Error("plan9 has services")
	}
}
