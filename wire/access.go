package wire

import (
	"time"

	"github.com/treeline-dev/treeline/access"
)

// Token is a token of a server, and what it allows. token is the token itself, which is shown only when it is created. projects
// are patterns of working directories; an empty list means all. expires, lastUsed and revoked are null for never.
type Token struct {
	Token    string   `json:"token,omitempty"`
	Name     string   `json:"name"`
	User     string   `json:"user"`
	Machine  string   `json:"machine"`
	Write    bool     `json:"write"`
	Projects []string `json:"projects"`
	Created  string   `json:"created"`
	Expires  *string  `json:"expires"`
	Used     *string  `json:"lastUsed"`
	Revoked  *string  `json:"revoked"`
}

// NewToken returns what a token allows.
func NewToken(g access.Grant) Token {
	return Token{
		Name: g.Name, User: g.User, Machine: g.Machine, Write: g.Write, Projects: append([]string{}, g.Projects...), Created: UTC(g.Created),
		Expires: never(g.Expires), Used: never(g.Used), Revoked: never(g.Revoked),
	}
}

func never(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := UTC(t)
	return &text
}

// AuditRecord is something that happened at a server. name, user and machine are those of the token, empty for a request
// without a valid one. action is the operation, path the session or log it was about, and cwd its project. outcome is done,
// refused or failed; reason says why. count is how many identical ones happened at about the same time.
type AuditRecord struct {
	Time    string         `json:"time"`
	Name    string         `json:"name"`
	User    string         `json:"user"`
	Machine string         `json:"machine"`
	Address string         `json:"address"`
	Action  string         `json:"action"`
	Path    string         `json:"path"`
	CWD     string         `json:"cwd"`
	Outcome access.Outcome `json:"outcome"`
	Reason  string         `json:"reason"`
	Count   int            `json:"count"`
}

// NewAuditRecord returns one record of the audit log.
func NewAuditRecord(r access.Record) AuditRecord {
	return AuditRecord{
		Time: UTC(r.Time), Name: r.Token, User: r.User, Machine: r.Machine, Address: r.Address, Action: r.Action, Path: r.Target, CWD: r.Project,
		Outcome: r.Outcome, Reason: r.Reason, Count: r.Count,
	}
}
