package page

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
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

// longestID is the length of an entry's id that addresses have. A log can have longer ones; a page would be made of them.
const longestID = 512

// Linkable reports whether an entry's id can be a part of a path: not too long, and a browser does not take it for a folder.
func Linkable(id session.EntryID) bool {
	return id != "" && len(id) <= longestID && id != "." && id != ".."
}

// with adds the parameters of an address. A value that is too long for an address is left out.
func with(address string, v url.Values) string {
	maps.DeleteFunc(v, func(_ string, list []string) bool { return len(list) == 1 && len(list[0]) > 4*longestID })
	if len(v) == 0 {
		return address
	}
	return address + "?" + v.Encode()
}

// Anchor is the fragment of an entry.
func Anchor(id session.EntryID) string { return "#" + elementID(id) }

// elementID is the id of an entry's element: the entry's own, with escapes for what a fragment spells with them. A browser
// compares both before it takes escapes away. A very long id is cut, and told apart by its hash.
func elementID(id session.EntryID) string {
	if len(id) > longestID {
		sum := sha256.Sum256([]byte(id))
		return url.PathEscape(string(id[:32])) + "~" + hex.EncodeToString(sum[:8])
	}
	return url.PathEscape(string(id))
}

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
	if s.Export || !Linkable(entry) {
		return ""
	}
	return s.Link("s", key, "raw", string(entry))
}
