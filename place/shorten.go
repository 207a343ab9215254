package place

import "github.com/treeline-dev/treeline/internal/shortid"

// Shorten fills in short ids that are unique among the rows. Machine.Find accepts them if the rows are all sessions, or all
// sessions of the project.
func Shorten(rows []Row) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = string(rows[i].ID)
	}
	for i, short := range shortid.All(ids) {
		rows[i].Short = short
	}
}

// ShortenSome is Shorten for some of the sessions; ids are the ids of all. A row may come twice. It returns the rows whose id another
// session has, too.
func ShortenSome(rows []*Row, ids []string) (shared map[*Row]bool) {
	some := make([]string, len(rows))
	for i, r := range rows {
		some[i] = string(r.ID)
	}
	shared = map[*Row]bool{}
	short, twice := shortid.Some(some, ids)
	for i, r := range rows {
		if r.Short == "" {
			r.Short, shared[r] = short[i], twice[i]
		}
	}
	return shared
}
