package redact

import "strings"

// urlPassword matches the password between user and host of a URL. Databases have a kind of their own, since their URLs are where most
// passwords of agents' sessions are.
type urlPassword struct{ database bool }

// databases are schemes, without what follows a plus (postgresql+asyncpg).
var databases = []string{
	"postgres", "postgresql", "mysql", "mysqlx", "mariadb", "mongodb", "redis", "rediss", "valkey", "amqp", "amqps", "mssql", "sqlserver", "oracle", "clickhouse", "cockroachdb",
	"cassandra", "neo4j", "bolt", "nats", "kafka", "couchdb", "couchbase", "influxdb", "elasticsearch", "snowflake", "redshift", "db2", "vertica", "libsql", "jdbc", "sqlalchemy", "surrealdb", "memcached",
}

func isDatabase(scheme string) bool {
	scheme, _, _ = strings.Cut(lower(scheme), "+")
	for _, d := range databases {
		if scheme == d {
			return true
		}
	}
	return false
}

func (u urlPassword) match(text string, at, end int) (span, bool) {
	scheme := text[at-marks("+-.").back(text[:at], 24) : at]
	if scheme == "" || isDatabase(scheme) != u.database {
		return span{}, false
	}
	host, ok := authority(text, end)
	if !ok {
		return span{}, false
	}
	user, password, ok := strings.Cut(text[end:host], ":")
	start := end + len(user) + 1
	if !ok {
		// A token may stand in place of the user. Sentry's are public.
		user := text[end:host]
		return span{end, host}, len(user) >= 20 && random(user) && !strings.Contains(text[host:min(len(text), host+40)], "sentry")
	}
	if password == "" || placeholder(password) || strings.ContainsAny(password, "<>{}*[") || lower(password) == lower(user) || len(password) < 3 {
		return span{}, false
	}
	return span{start, host}, true
}

// authority returns the position of the @ that ends user and password. Of several @ it is the last one before the path: passwords are not
// always escaped. A slash ends the authority, unless the text before it cannot be a host with a port.
func authority(text string, from int) (at int, ok bool) {
	at, colon := -1, -1
	for i := from; i < len(text) && i < from+512; i++ {
		switch c := text[i]; {
		case c <= ' ' || strings.IndexByte("\"'`\\<>|,;", c) >= 0:
			return at, at > from
		case c == '@':
			at = i
		case c == ':' && colon < 0:
			colon = i
		case c == '/' || c == '?' || c == '#':
			if at >= 0 || colon < 0 || isPort(text[colon+1:i]) {
				return at, at > from
			}
			// The character belongs to the password if a host follows.
			rest := text[i:min(len(text), from+512)]
			rest = rest[:endOfURL(rest)]
			next := strings.IndexByte(rest, '@')
			if next < 0 || strings.Contains(rest[:next], "//") || strings.IndexByte(text[from:colon], '.') >= 0 {
				return 0, false
			}
			host := rest[next:]
			if slash := strings.IndexByte(host, '/'); slash >= 0 {
				host = host[:slash]
			}
			return i + next + strings.LastIndexByte(host, '@'), true
		}
	}
	return at, at > from
}

func endOfURL(s string) int {
	for i := range len(s) {
		if s[i] <= ' ' || strings.IndexByte("\"'`\\<>|", s[i]) >= 0 {
			return i
		}
	}
	return len(s)
}

func isPort(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}
