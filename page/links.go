package page

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"strings"

	"github.com/treeline-dev/treeline/session"
)

// Link returns the address of a page of the site, given the parts of its path. In an export it is the address of a file, or "" if the
// export is a single file.
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

// longestID is the largest length of an entry's id in an address. A log may have longer ids, which would make pages very large.
const longestID = 512

// Linkable reports whether an entry's id can be part of a path: it is not too long, and a browser does not treat it as a folder.
func Linkable(id session.EntryID) bool {
	return id != "" && len(id) <= longestID && id != "." && id != ".."
}

// with adds parameters to an address. A value that is too long for an address is omitted.
func with(address string, v url.Values) string {
	maps.DeleteFunc(v, func(_ string, list []string) bool { return len(list) == 1 && len(list[0]) > 4*longestID })
	if len(v) == 0 {
		return address
	}
	return address + "?" + v.Encode()
}

// Anchor returns the fragment of an entry.
func Anchor(id session.EntryID) string { return "#" + elementID(id) }

// elementID returns the id of an entry's element: the entry's own id, percent-encoded like a fragment, since a browser first compares the
// two without decoding. A very long id is cut, and its hash is appended.
func elementID(id session.EntryID) string {
	if len(id) > longestID {
		sum := sha256.Sum256([]byte(id))
		return url.PathEscape(string(id[:32])) + "~" + hex.EncodeToString(sum[:8])
	}
	return url.PathEscape(string(id))
}

// EntryLink returns the permanent link to an entry, as seen from a leaf. It works whatever part of the session is shown.
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

// RawLink returns the address of an entry as it is in the log, or "" in an export.
func (s *Site) RawLink(key string, entry session.EntryID) string {
	if s.Export || !Linkable(entry) {
		return ""
	}
	return s.Link("s", key, "raw", string(entry))
}
