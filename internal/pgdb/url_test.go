package pgdb

import (
	"strings"
	"testing"
)

// A shown URL has only hosts and the database, and can be opened.
func TestShown(t *testing.T) {
	t.Setenv("PGHOST", "fromenv")
	t.Setenv("PGUSER", "me")
	for given, want := range map[string]string{
		"postgres://u:secret@host/db":               "postgres://host/db",
		"postgres://u@host:6432/db?sslmode=disable": "postgres://host:6432/db",
		"postgres://u@a:1,b:2/db?password=secret":   "postgres://a:1,b:2/db",
		"postgresql://u@[::1]:7/db":                 "postgres://[::1]:7/db",
		"postgres://u@/db?host=/tmp/s":              "postgres://%2Ftmp%2Fs/db",
		"postgres://u@%2Ftmp%2Fs/db":                "postgres://%2Ftmp%2Fs/db",
		"postgres://u@/d%20b?host=a,b&port=5432,6":  "postgres://a,b:6/d%20b",
		"postgres://": "postgres://fromenv/me",
		"postgres://u@a,b/db?target_session_attrs=read-write": "postgres://a,b/db",
	} {
		got, err := Shown(given)
		if err != nil || got != want {
			t.Errorf("%s is shown as %s, %v; want %s", given, got, err, want)
		}
		if again, err := Shown(got); err != nil || again != got {
			t.Errorf("%s is shown as %s, %v", got, again, err)
		}
	}
}

// No error contains a password, whatever is wrong with the URL.
func TestSecrets(t *testing.T) {
	for _, url := range []string{
		"postgres://u:se/cret@host/db", "postgres://u:secr%zzet@host/db", "postgres://u:secret@host:port/db", "postgres://u:secret@host/db?sslmode=secret",
		"postgres://u@host/db?password=secret&sslmode=wrong", "postgres://u@host/db?password=secret;%zz", "host=a password=secret",
		"postgres://u:secret@ho st/db", "postgres://u:sec:ret@host:99999/db", "postgres://u:sec%20ret@host:x/db", "mysql://u:secret@host/db",
		"postgres://u@host/db?sslpassword=secret&connect_timeout=x",
	} {
		_, err := Open(url, Options{})
		if err == nil {
			t.Errorf("%s was opened", url)
			continue
		}
		for _, part := range []string{"secret", "cret", "secr", "sec ret", "sec%20ret"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v; want not strings.Contains(err.Error(), part)", url, err)
			}
		}
	}
}
