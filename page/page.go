// Package page writes the HTML of the viewer: sessions, one session, the changes of its files, raw entries, search results, runs, usage and errors.
// It gets values and writes HTML. It opens no file, asks no store and knows no request, so that the server and the
// exports share it.
//
// # Addresses
//
// A [Site] makes every link. The server answers these, below [Site.Base]:
//
//	/                          sessions; the members of [ListQuery] as parameters
//	/s/KEY                     one session; mode, leaf, at, before and after as parameters, see [SessionPage]
//	/s/KEY/fragment            the same parameters: the part of the page that changes, see [Site.Fragment]
//	/s/KEY/raw/ENTRY           one entry as it is in the log; form=exact without indentation, form=download the bytes alone
//	/s/KEY/export?format=html  a download
//	/search?q=WORDS            results; with part=hits the list alone, for searching while typing
//	/runs, /runs/ID            runs, one run
//	/usage, /usage.csv         usage; the members of [UsageQuery] as parameters
//	/assets/NAME               what [Assets] lists; the name has a hash of the content, so it may be cached forever
//
// KEY is how the server addresses a session. An entry's element has the entry's id as its own, so /s/KEY?leaf=ENTRY#ENTRY is a
// permanent link, and the same fragment works in an exported file.
//
// # Safety
//
// Everything that comes from a log is hostile. Text passes through the escapers that html/template chooses for
// its place (see templates.go), or through package markup; package screen makes control characters and changes of the writing direction visible. No page has an inline script, style or event attribute, except
// an export, whose policy names its one script and its one style sheet by hash.
package page

import (
	"io"
	"time"
)

// Site writes the pages of one server, or of one export. It is safe for concurrent use.
type Site struct {
	// Base is the path before every link, without a slash at its end; "" for the root.
	Base string
	// Home is the reader's home folder, which paths show as ~; "" shortens nothing.
	Home string
	// Now tells the time that "2 min ago" counts from; nil shows dates alone.
	Now func() time.Time
	// Zone is the zone of times; nil is UTC.
	Zone *time.Location
	// Export writes files that need no server: style and script are inside the page, and links are fragments.
	Export bool
	// SignOut offers to sign out, for a server with a token.
	SignOut bool

	// execute writes a page another way; nil is the generated code. Tests put html/template here.
	execute func(w io.Writer, name string, v view) error
}

// view is what every template gets.
type view struct {
	*Site
	// Section is the entry of the navigation that is current, Title that of the window.
	Section, Title string
	// Query is the text of the search box.
	Query string
	// Index is the script with the search index of an export.
	Index string
	// Page is one of the page types.
	Page any
}

// With is the view of a part of the page.
func (v view) With(part any) view {
	v.Page = part
	return v
}
