// Package page writes the HTML of the viewer: sessions, one session, the changes of its files, raw entries, search results, runs, usage and errors.
// It turns values into HTML. It opens no file, calls no store and knows no request, so that the server and the exports share it.
//
// # Addresses
//
// A [Site] makes all links. The server answers these, below [Site.Base]:
//
//	/                          sessions; the members of [ListQuery] as parameters
//	/s/KEY                     one session; mode, leaf, at, before and after as parameters, see [SessionPage]
//	/s/KEY/fragment            the same parameters: the part of the page that changes, see [Site.Fragment]
//	/s/KEY/raw/ENTRY           one entry as it is in the log; form=exact without indentation, form=download only the bytes
//	/s/KEY/export?format=html  a download
//	/search?q=WORDS            results; with part=hits only the list, for searching while typing
//	/runs, /runs/ID            runs, one run
//	/usage, /usage.csv         usage; the members of [UsageQuery] as parameters
//	/assets/NAME               a file of [Assets]; the name has a hash of the content, so it may be cached forever
//
// KEY identifies a session in addresses. An entry's element has the entry's id, so /s/KEY?leaf=ENTRY#ENTRY is a permanent link, and the
// same fragment works in an exported file.
//
// # Safety
//
// Everything that comes from a log is hostile. Text passes through the escapers that html/template chooses for its place (see
// templates.go), or through package markup; package screen makes control characters and changes of the writing direction visible. No page
// has an inline script, style or event attribute, except an export, whose policy names its one script and its one style sheet by hash.
package page

import (
	"io"
	"time"
)

// Site writes the pages of one server, or of one export. It is safe for concurrent use.
type Site struct {
	// Base is the prefix of the path of every link, without a trailing slash; "" for the root.
	Base string
	// Home is the reader's home directory, which paths show as ~; "" means that no path is shortened.
	Home string
	// Now returns the time from which "2 min ago" counts; nil shows only dates.
	Now func() time.Time
	// Zone is the time zone; nil means UTC.
	Zone *time.Location
	// Export writes files that need no server: style and script are in the page, and links are fragments.
	Export bool
	// SignOut shows the button for signing out, for a server with a token.
	SignOut bool

	// execute overrides how a page is written; nil means the generated code. Tests use html/template instead.
	execute func(w io.Writer, name string, v view) error
}

// view is the data of every template.
type view struct {
	*Site
	// Section is the current entry of the navigation; Title is the title of the window.
	Section, Title string
	// Query is the text of the search box.
	Query string
	// Index is the address of the script with an export's search index.
	Index string
	// Page is one of the page types.
	Page any
}

// With returns the view for a part of the page.
func (v view) With(part any) view {
	v.Page = part
	return v
}
