package guard_test

import (
	"crypto/x509"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/server/guard"
)

// A request may use an address, the public URL, or a name in the server's certificate. The refusal of another name says how to allow it,
// with the scheme that the server speaks.
func TestHosts(t *testing.T) {
	t.Parallel()
	plain := &guard.Guard{}
	secure := &guard.Guard{Secure: true, Certificate: &x509.Certificate{DNSNames: []string{"team.example", "*.team.example"}}}
	public := &guard.Guard{Public: &url.URL{Scheme: "https", Host: "box.example"}}
	for _, c := range []struct {
		guard *guard.Guard
		host  string
		want  string // in the refusal; "" if it is allowed
	}{
		{plain, "192.0.2.1:7331", ""}, {plain, "localhost:7331", ""}, {plain, "team.example:7331", "--public-url http://team.example:7331 "},
		{secure, "team.example:7331", ""}, {secure, "TEAM.example", ""}, {secure, "a.team.example", ""}, {secure, "127.0.0.1:7331", ""},
		{secure, "evil.example:7331", "--public-url https://evil.example:7331 "}, {secure, "a.b.team.example", "not allowed"},
		{public, "box.example", ""}, {public, "team.example", "not allowed"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = c.host
		if err := c.guard.Check(r); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want (err == nil) == %v, not (err != nil && !strings.Contains(err.Error(), c.want))", c.host, err, (c.want == ""))
		}
	}
}
