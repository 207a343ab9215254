// Package all opens the books of tokens that belong to archives. Only a program that needs every kind should import it: it links their
// databases, too.
package all

import (
	"fmt"
	"io"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/access/postgres"
)

// Open opens the book that belongs to the archive at a URL with this scheme. It makes no connection yet.
func Open(scheme, url string, random io.Reader) (access.Book, error) {
	switch scheme {
	case "postgres", "postgresql":
		return postgres.Open(url, postgres.Options{Random: random})
	}
	return nil, fmt.Errorf("%s://: tokens are kept in a database: use its own URL, postgres://host/db", scheme)
}
