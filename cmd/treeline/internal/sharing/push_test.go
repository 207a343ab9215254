package sharing

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/push"
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
			t.Errorf("%s: %s, %v; want no error, strings.Contains(s.content, want)", system, s.content, err)
		}
		if !strings.HasPrefix(s.path, "/home/ann lee/") || !strings.Contains(s.remove, "rm '/home/ann lee/") || !strings.Contains(s.start, strings.TrimSuffix(s.name, ".plist")) {
			t.Errorf(`%+v; want strings.HasPrefix(s.path, "/home/ann lee/"), strings.Contains(s.remove, "rm '/home/ann lee/"), strings.Contains(s.start, strings.TrimSuffix(s.name, ".plist"))`, s)
		}
	}
	if _, err := serviceFor("plan9", "/", none, "", nil); err == nil {
		t.Error("plan9 has services")
	}
}

// A password is detected wherever it is, even in an invalid address.
func TestHasPassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://team.example:8443/": false, "postgres://u@h:5/db?sslmode=disable": false, "postgres://u@h:1,i:2/db": false, "postgres://u@[::1]:5/db": false,
		"postgres://u:p@h/db": true, "postgres://u:p@h:1,i:2/db": true, "postgres://u:p/w@h/db": true, "postgres://u@h/db?password=p": true,
		"postgres://u@h/db?sslmode=require&sslpassword=p": true, "postgres://u:p%zz@h/db": true,
	} {
		if got := hasPassword(url); got != want {
			t.Errorf("%s: %v; want got == %v", url, got, want)
		}
	}
}

// TestPushedLine: the size counts only logs that were copied, not the bytes of a log that failed.
func TestPushedLine(t *testing.T) {
	c := &copying{f: &copyFlags{}, done: "pushed"}
	for want, r := range map[string]push.Report{
		"pushed 0 logs; 6 failed":                    {Logs: map[push.Fate]int{push.Failed: 6}, Bytes: 50000},
		"pushed 1 log (1 created), 2.0 KB; 1 failed": {Logs: map[push.Fate]int{push.Created: 1, push.Failed: 1}, Bytes: 2048},
	} {
		if got := c.line(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
