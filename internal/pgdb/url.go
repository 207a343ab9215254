package pgdb

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// parse reads a URL. Errors of the parsers can have parts of the password, so they are told only if they do not.
func parse(address string) (*pgxpool.Config, url.Values, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme != "postgres" && scheme != "postgresql" {
		return nil, nil, errors.New("not a postgres URL: it begins with postgres://")
	}
	authority, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, nil, errors.New("the postgres URL has an invalid query")
	}
	authority, path, _ := strings.Cut(authority, "/")
	if err := sound(authority, path); err != nil {
		return nil, nil, err
	}
	at := strings.LastIndexByte(authority, '@') + 1
	// The folder of a unix socket may stand in the place of a host, as libpq has it.
	if host, err := url.PathUnescape(authority[at:]); err == nil && strings.Contains(host, "/") {
		values.Set("host", host)
		authority = authority[:at]
	}
	address = scheme + "://" + authority + "/" + path
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	if _, err := url.Parse(address); err != nil {
		return nil, nil, errUnsound
	}
	config, err := pgxpool.ParseConfig(address)
	if err == nil {
		return config, values, nil
	}
	text := err.Error()
	_, secret, _ := strings.Cut(authority[:max(0, at-1)], ":")
	plain, _ := url.PathUnescape(secret) // "" if it has no secret
	for _, s := range []string{secret, plain, values.Get("password"), values.Get("sslpassword")} {
		if s != "" {
			text = strings.ReplaceAll(text, s, "xxxxx")
		}
	}
	return nil, nil, errors.New("the postgres URL is not valid: " + text)
}

// Shown is a URL as people may see it: hosts and database, without a user, a password, and what says how to connect. The folder of
// a unix socket is percent-encoded. Open opens it too, with the user and the password of the environment.
func Shown(address string) (string, error) {
	config, _, err := parse(address)
	if err != nil {
		return "", err
	}
	var hosts []string
	add := func(host string, port uint16) {
		if host = url.PathEscape(host); strings.Contains(host, ":") { // IPv6
			host = "[" + host + "]"
		}
		if port != 5432 {
			host += ":" + strconv.Itoa(int(port))
		}
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	add(config.ConnConfig.Host, config.ConnConfig.Port)
	for _, f := range config.ConnConfig.Fallbacks { // the other hosts, and ways to connect
		add(f.Host, f.Port)
	}
	database := config.ConnConfig.Database
	if database == "" {
		database = config.ConnConfig.User // as the server does
	}
	return "postgres://" + strings.Join(hosts, ",") + "/" + url.PathEscape(database), nil
}
