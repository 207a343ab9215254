package push_test

import (
	"testing"

	"github.com/treeline-dev/treeline/push"
)

// Redaction is left out only for addresses on this machine.
func TestLocal(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://localhost:8080": true, "https://127.0.0.1/base": true, "http://[::1]:99": true, "memory://x": true,
		"postgres://u:p@localhost/db": true, "postgres:///db": true, "postgres:///db?host=/run/postgresql": true,
		"postgres://%2Frun%2Fpostgresql/db": true, "postgres://localhost:1,127.0.0.1:2/db": true, "postgresql://u@[::1]:5432/db": true,
		"https://team.example": false, "https://localhost.example": false, "https://192.168.1.1": false, "": false, "https://": false,
		"postgres://localhost:1,db.example:2/db": false, "postgres:///db?host=db.example": false, "postgres://localhost/db?host=db.example": false,
		"postgres://localhost/db?hostaddr=10.0.0.1": false, "https://127.0.0.1@team.example": false, "https://user@localhost@team.example/": false,
		"postgres://a:1,localhost:2/?host=x": false, "https://localhost,team.example": false,
		"postgres:///db?service=team": false, "postgres:///db?host=db.example&hostaddr=127.0.0.1": false,
	} {
		if got := push.Local(address, func(string) string { return "" }); got != want {
			t.Errorf("%s: %v; want got == %v", address, got, want)
		}
	}
	for _, name := range []string{"PGHOST", "PGSERVICE"} {
		if push.Local("postgres:///db", func(asked string) string { return map[string]string{name: "db.example"}[asked] }) {
			t.Errorf("%s leads elsewhere", name)
		}
	}
}
