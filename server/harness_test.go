package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/browser"
)

// TestBrowserFaults checks that the harness detects what pages must not do. A harness that detects nothing would pass every page.
func TestBrowserFaults(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	for _, tt := range []struct{ name, policy, body, want string }{
		{"nothing", "default-src 'none'; img-src data:", "<p>text</p>", ""},
		{"an inline script", "default-src 'none'; img-src data:", "<script>document.title = 1</script>", "Content Security Policy"},
		{"an event attribute", "default-src 'none'; img-src data:", `<img src="data:," onerror="document.title = 1">`, "Content Security Policy"},
		{"an exception", "default-src 'none'; script-src 'unsafe-inline'; img-src data:", "<script>throw new Error('oh')</script>", "oh"},
		{"another host", "default-src 'none'; img-src http: data:", `<img src="http://127.0.0.2:1/x.png">`, "another host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.Header().Set("Content-Security-Policy", tt.policy)
				if r.URL.Path == "/" {
					_, _ = io.WriteString(w, "<!doctype html><link rel=icon href=data:,>"+tt.body)
				}
			}))
			defer s.Close()
			tab := b.Tab(t, browser.Look{})
			tab.Open(s.URL)
			if tt.want != "" {
				for range 200 {
					if len(tab.Faults()) > 0 {
						break
					}
					tab.Wait("true")
				}
			}
			got := strings.Join(tab.Faults(), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("faults %q, want one with %q", got, tt.want)
			}
			tab.Screenshot(filepath.Join(t.TempDir(), "page.png"))
		})
	}
}
