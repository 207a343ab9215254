package pgdb

import (
	"errors"
	"strings"
)

// Split splits a URL into that of a database and what follows the name of the database: postgres://host/db/a/b?x=y is
// postgres://host/db?x=y and "a/b".
func Split(address string) (database, below string, err error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return "", "", errors.New("the postgres URL is not valid: use postgres://USER@HOST/DATABASE")
	}
	rest, query, asked := strings.Cut(rest, "?")
	hosts, path, slash := strings.Cut(rest, "/")
	name, below, _ := strings.Cut(path, "/")
	if err := sound(hosts, name); err != nil {
		return "", "", err
	}
	if !slash && strings.Contains(query, "@") {
		return "", "", errUnsound
	}
	database = scheme + "://" + hosts + "/" + name
	if asked {
		database += "?" + query
	}
	return database, strings.Trim(below, "/"), nil
}

// errUnsound does not repeat the URL, which may hold a password.
var errUnsound = errors.New("the postgres URL is not valid: it is postgres://user@host:port/database, with special characters percent-encoded")

// sound returns an error if a URL contains a special character of a password unescaped: the rest of the password would be taken for a host
// and a database, and shown.
func sound(hosts, database string) error {
	if strings.ContainsAny(hosts, "#") || strings.ContainsAny(database, "@#") {
		return errUnsound
	}
	return nil
}
