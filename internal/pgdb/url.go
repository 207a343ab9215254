package pgdb

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// addressed is a parsed URL.
type addressed struct {
	config *pgconn.Config
	limits limits
	mode   mode
}

// mode tells whether the server keeps statements under names, which poolers in transaction mode do not allow.
type mode int

const (
	modeUnsaid mode = iota
	modeNamed
	modeUnnamed
)

// own removes the parameters of a URL that are not the server's. They have the same names as in pgx.
func (a *addressed) own() error {
	a.limits = limits{conns: 8, lifetime: time.Hour, idle: 30 * time.Minute}
	take := func(name string) (string, bool) {
		s, ok := a.config.RuntimeParams[name]
		delete(a.config.RuntimeParams, name)
		return s, ok
	}
	if s, ok := take("pool_max_conns"); ok {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > 10_000 {
			return fmt.Errorf("pool_max_conns=%s: not a number of connections", s)
		}
		a.limits.conns = n
	}
	for name, to := range map[string]*time.Duration{"pool_max_conn_lifetime": &a.limits.lifetime, "pool_max_conn_idle_time": &a.limits.idle} {
		if s, ok := take(name); ok {
			d, err := time.ParseDuration(s)
			if err != nil || d <= 0 {
				return fmt.Errorf("%s=%s: not a duration such as 30m", name, s)
			}
			*to = d
		}
	}
	for _, name := range []string{"pool_min_conns", "pool_min_idle_conns", "pool_health_check_period", "pool_max_conn_lifetime_jitter",
		"pool_ping_timeout", "statement_cache_capacity", "description_cache_capacity"} {
		take(name) // not used here, and the server would refuse them
	}
	if s, ok := take("default_query_exec_mode"); ok {
		switch s {
		case "cache_statement":
			a.mode = modeNamed
		case "cache_describe", "describe_exec", "exec", "simple_protocol":
			a.mode = modeUnnamed
		default:
			return fmt.Errorf("default_query_exec_mode=%s: it is cache_statement or cache_describe", s)
		}
	}
	return nil
}

// parse parses a URL. Errors of the parsers may contain parts of the password, so their text is used only if it does not.
func parse(address string) (a addressed, err error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme != "postgres" && scheme != "postgresql" {
		return a, errors.New("not a postgres URL: it begins with postgres://")
	}
	authority, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, errors.New("the postgres URL has an invalid query")
	}
	authority, path, _ := strings.Cut(authority, "/")
	if err := sound(authority, path); err != nil {
		return a, err
	}
	at := strings.LastIndexByte(authority, '@') + 1
	// The folder of a unix socket may be in the place of a host, as in libpq.
	if host, err := url.PathUnescape(authority[at:]); err == nil && strings.Contains(host, "/") {
		values.Set("host", host)
		authority = authority[:at]
	}
	address = scheme + "://" + authority + "/" + path
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	if _, err := url.Parse(address); err != nil {
		return a, errUnsound
	}
	if a.config, err = pgconn.ParseConfig(address); err == nil {
		err = a.own()
	}
	if err == nil {
		return a, nil
	}
	text := err.Error()
	_, secret, _ := strings.Cut(authority[:max(0, at-1)], ":")
	plain, _ := url.PathUnescape(secret) // "" if it has no secret
	for _, s := range []string{secret, plain, values.Get("password"), values.Get("sslpassword")} {
		if s != "" {
			text = strings.ReplaceAll(text, s, "xxxxx")
		}
	}
	return a, errors.New("the postgres URL is not valid: " + text)
}

// Shown returns a URL as people may see it: hosts and database, without a user, a password, and parameters that say how to connect. The
// folder of a unix socket is percent-encoded. Open accepts it too, with the user and the password of the environment.
func Shown(address string) (string, error) {
	a, err := parse(address)
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
	add(a.config.Host, a.config.Port)
	for _, f := range a.config.Fallbacks { // the other hosts, and ways to connect
		add(f.Host, f.Port)
	}
	database := a.config.Database
	if database == "" {
		database = a.config.User // as the server does
	}
	return "postgres://" + strings.Join(hosts, ",") + "/" + url.PathEscape(database), nil
}
