package pgdb

import "testing"

func TestSplit(t *testing.T) {
	for given, want := range map[string][2]string{
		"postgres://host/db":                          {"postgres://host/db", ""},
		"postgres://host":                             {"postgres://host/", ""},
		"postgres://host?sslmode=off":                 {"postgres://host/?sslmode=off", ""},
		"postgres://u:p@h1:1,h2:2/db/?a=b":            {"postgres://u:p@h1:1,h2:2/db?a=b", ""},
		"postgres:///db?host=/tmp/x":                  {"postgres:///db?host=/tmp/x", ""},
		"postgres://host/db/laptop-3f9a2c1b":          {"postgres://host/db", "laptop-3f9a2c1b"},
		"postgresql://host/db/laptop-3f9a2c1b/omp?x=": {"postgresql://host/db?x=", "laptop-3f9a2c1b/omp"},
		"postgres://%2Ftmp%2Fx/a%2Fb/o/s/n.jsonl":     {"postgres://%2Ftmp%2Fx/a%2Fb", "o/s/n.jsonl"},
	} {
		database, below, err := Split(given)
		if got := [2]string{database, below}; err != nil || got != want {
			t.Errorf("%s: %q, %v; want no error, got == %v", given, got, err, want)
		}
	}
}

// A text that may be the rest of a password is not taken for a database, and so not shown.
func TestUnsound(t *testing.T) {
	for _, given := range []string{"postgres://u:1/w@host/db", "postgres://u:1?w@host/db", "postgres://u:1#w@host/db", "postgres://u:1/#w@host/db"} {
		if database, _, err := Split(given); err == nil {
			t.Errorf("%s is the database %s", given, database)
		}
	}
	for _, given := range []string{"postgres://u:1/w@host/db", "postgres://u:1#w@host/db"} {
		if shown, err := Shown(given); err == nil {
			t.Errorf("%s is shown as %s", given, shown)
		}
	}
}
