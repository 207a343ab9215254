package pgdb

import (
	"errors"
	"strings"
)

// Split takes a URL apart into that of a database and what follows the name of the database: postgres://host/db/a/b?x=y is
// postgres://host/db?x=y and "a/b".
func Split(address string) (database, below string, err error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return "", "", errors.New("the postgres URL is not valid: use postgres://USER@HOST/DATABASE")
	}
	rest, query, asked := strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(rest, "/")
	name, below, _ := strings.Cut(path, "/")
	database = scheme + "://" + hosts + "/" + name
	if asked {
		database += "?" + query
	}
	return database, strings.Trim(below, "/"), nil
}
