package page

import (
	"net/url"
	"strings"

	"github.com/treeline-dev/treeline/session"
)

// Link is the address of a page of the site: its path, by its parts. In an export it is that of a file, "" where the
// export is one file.
func (s *Site) Link(parts ...string) string {
	var b strings.Builder
	if s.Export {
		if s.Base == "" {
			return ""
		}
		b.WriteString(s.Base)
		if len(parts) == 0 {
			b.WriteString("/index.html")
			return b.String()
		}
	} else {
		b.WriteString(s.Base)
		if len(parts) == 0 {
			b.WriteByte('/')
		}
	}
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(p))
	}
	if s.Export {
		b.WriteString(".html")
	}
	return b.String()
}

// with adds the parameters of an address.
func with(address string, v url.Values) string {
	if len(v) == 0 {
		return address
	}
	return address + "?" + v.Encode()
}

// Anchor is the fragment of an entry.
func Anchor(id session.EntryID) string { return "#" + elementID(id) }

// elementID is the id of an entry's element: the entry's own, with escapes for what a fragment spells with them. A browser
// compares both before it takes escapes away.
func elementID(id session.EntryID) string { return url.PathEscape(string(id)) }

// EntryLink is the permanent link to an entry, as seen from a leaf. It works whatever part of the session is shown.
func (s *Site) EntryLink(key string, leaf, entry session.EntryID) string {
	if s.Export {
		return s.Link("s", key) + Anchor(entry)
	}
	v := url.Values{}
	if leaf != "" {
		v.Set("leaf", string(leaf))
	}
	if entry != leaf {
		v.Set("at", string(entry))
	}
	return with(s.Link("s", key), v) + Anchor(entry)
}

// RawLink is the address of an entry as it is in the log; "" in an export.
func (s *Site) RawLink(key string, entry session.EntryID) string {
	if s.Export || entry == "" {
		return ""
	}
	return s.Link("s", key, "raw", string(entry))
}
