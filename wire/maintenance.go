package wire

import (
	"github.com/treeline-dev/treeline/repair"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/trash"
)

// Plan is a repair, planned or applied. backup is the original file and torn what was taken out of it; each is null if no such
// file was written. foreign counts the records that other programs wrote meanwhile, which are kept; held names programs that
// still write to the original file.
type Plan struct {
	Path    string   `json:"path"`
	Applied bool     `json:"applied"`
	Backup  *string  `json:"backup"`
	Torn    *string  `json:"torn"`
	Repairs []Repair `json:"repairs"`
	Foreign int      `json:"foreign,omitempty"`
	Held    []string `json:"held,omitempty"`
}

// Repair is one step of a plan. message is the problem. change is false if no repair is certain to be right, and nothing is
// done.
type Repair struct {
	Line    int                 `json:"line"`
	Offset  int64               `json:"offset"`
	Kind    session.ProblemKind `json:"kind"`
	Entry   session.EntryID     `json:"entry,omitempty"`
	Problem string              `json:"message"`
	Action  string              `json:"action"`
	Change  bool                `json:"change"`
}

// NewPlan returns a repair.
func NewPlan(p *repair.Plan) Plan {
	j := Plan{Path: p.Path, Applied: p.Backup != "", Backup: optional(p.Backup), Torn: optional(p.Aside), Repairs: []Repair{}}
	j.Foreign, j.Held = p.Late.Kept+len(p.Late.Records), p.Late.Holders
	for _, r := range p.Repairs {
		j.Repairs = append(j.Repairs, Repair(r))
	}
	return j
}

// Secret is a key, a token or a password in a log, or in a file of the session's folder. session is absent if the log cannot be
// read as one; entry is absent for the header and for anything that is not an entry. offset is where the secret begins. hint
// has its first characters, at most four.
type Secret struct {
	Path    string          `json:"path"`
	Session session.ID      `json:"session,omitempty"`
	Entry   session.EntryID `json:"entry,omitempty"`
	Line    int             `json:"line"`
	Offset  int64           `json:"offset"`
	Kind    string          `json:"kind"`
	Hint    string          `json:"hint"`
}

// NewSecret returns a secret.
func NewSecret(s repair.Secret) Secret { return Secret(s) }

// GC is a garbage collection, planned or applied. size is that of all unused blobs. missing are places that once had sessions
// and no longer do. restored and expired count blobs that leave the trash: put back, or deleted after 30 days. obstacles say
// why nothing was removed.
type GC struct {
	Applied   bool     `json:"applied"`
	Unused    []GCBlob `json:"unused"`
	Size      int64    `json:"size"`
	Young     int      `json:"young"`
	Used      int      `json:"used"`
	Leftovers int      `json:"leftovers"`
	Restored  int      `json:"restored"`
	Expired   int      `json:"expired"`
	Files     int      `json:"files"`
	Folders   []string `json:"folders"`
	Missing   []string `json:"missing"`
	Obstacles []string `json:"obstacles"`
}

// GCBlob is a blob that nothing refers to.
type GCBlob struct {
	Blob     string `json:"blob"`
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Modified string `json:"modified"`
}

// NewGC returns a garbage collection.
func NewGC(r trash.GCReport) GC {
	j := GC{
		Applied: r.Applied, Unused: []GCBlob{}, Young: r.Young, Used: r.Used, Leftovers: r.Leftovers,
		Restored: r.Restored, Expired: r.Expired, Files: r.Files,
		Folders: append([]string{}, r.Folders...), Missing: append([]string{}, r.Missing...), Obstacles: []string{},
	}
	for _, b := range r.Unused {
		j.Size += b.Size
		j.Unused = append(j.Unused, GCBlob{b.Ref.String(), b.Path, b.Size, UTC(b.Time)})
	}
	for _, err := range r.Obstacles {
		j.Obstacles = append(j.Obstacles, err.Error())
	}
	return j
}

// Import is what an import into the prompt history did. histories counts the history files of agents. failed are files that are
// not sessions. renewed counts known prompts that were used again.
type Import struct {
	Sessions  int      `json:"sessions"`
	Unchanged int      `json:"unchanged"`
	Failed    []string `json:"failed"`
	Histories int      `json:"histories"`
	Prompts   int      `json:"prompts"`
	TooLong   int      `json:"tooLong"`
	Added     int      `json:"added"`
	Renewed   int      `json:"renewed"`
}

// Prompt is a prompt of the history. cwd is null if the history has none, uses is empty if no session is known. Times are exact
// to the second, as in the database.
type Prompt struct {
	ID     int64   `json:"id"`
	Prompt string  `json:"prompt"`
	CWD    *string `json:"cwd"`
	Time   string  `json:"time"`
	Uses   []Use   `json:"uses"`
}

// Use is a place where a prompt was used.
type Use struct {
	Session session.ID      `json:"session"`
	Entry   session.EntryID `json:"entry"`
	Dialect string          `json:"dialect"`
	Path    string          `json:"path"`
	CWD     string          `json:"cwd"`
	Time    string          `json:"time"`
}

// Version is the version of the program. revision (the commit) and date (of the commit) are absent in a build without version
// control. modified means that there were uncommitted changes.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}
