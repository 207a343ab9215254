package push

import (
	"net/netip"
	"net/url"
	"strings"
)

// Local reports whether an address leads to a program on this machine: the loopback interface, a unix socket, or memory. It returns false
// for an address that it cannot parse. getenv is called for PGHOST and PGSERVICE, which apply to an address without a host.
func Local(address string, getenv func(string) string) bool {
	u, err := url.Parse(address)
	if err != nil {
		// Package url does not parse several hosts with ports.
		scheme, rest, ok := strings.Cut(address, "://")
		hosts, _, _ := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(hosts, '@'); i >= 0 {
			hosts = hosts[i+1:]
		}
		return ok && strings.HasPrefix(scheme, "postgres") && !strings.ContainsAny(hosts, "?#") && !strings.Contains(address, "host") && allLocal(hosts)
	}
	hosts := u.Host
	if strings.HasPrefix(u.Scheme, "postgres") {
		given := u.Query()
		for _, name := range []string{"host", "hostaddr"} {
			if given.Has(name) {
				if hosts = given.Get(name); !allLocal(hosts) {
					return false
				}
			}
		}
		if hosts == "" && (given.Has("service") || getenv("PGSERVICE") != "") {
			return false // the host is in a file
		}
		if hosts == "" {
			hosts = getenv("PGHOST")
		}
		if hosts == "" {
			return true // the default: a unix socket, or localhost
		}
	} else if u.Scheme == "memory" {
		return true
	}
	return allLocal(hosts)
}

// allLocal reports whether hosts, separated by commas, are all on this machine.
func allLocal(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		if _, err := netip.ParseAddr(host); err != nil {
			host = (&url.URL{Host: host}).Hostname() // without a port
		}
		if plain, err := url.PathUnescape(host); err == nil {
			host = plain // the path of a socket
		}
		if ip, _ := netip.ParseAddr(host); host != "localhost" && !strings.HasPrefix(host, "/") && !ip.Unmap().IsLoopback() {
			return false
		}
	}
	return true
}
