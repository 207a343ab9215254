package convert

import (
	"cmp"
	"strings"

	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// title returns the name of the new session: that of the old one, or see ownPrompt.
func (c *crossing) title() string { return cmp.Or(c.tree.Header().Title, c.lastName(), c.prompt) }

// lastName returns the session's name from the last entry that sets one.
func (c *crossing) lastName() string {
	for i := c.tree.Len() - 1; i >= 0; i-- {
		if e := c.tree.At(i); e.Kind == session.KindSessionInfo && (c.leaf == nil || c.asked[i]) {
			if body, err := e.Body(); err == nil {
				if info, ok := body.(session.SessionInfo); ok {
					return info.Name
				}
			}
		}
	}
	return ""
}

// titleMost is how many characters of a prompt become a title.
const titleMost = 80

// ownPrompt returns the first prompt as the name of a session without a name, if the target's list would not show that prompt: lists show
// the first message of the user, and some formats cannot mark a message that the agent wrote. It returns "" if the list shows the prompt.
func (c *crossing) ownPrompt(n dialect.NewSession) (string, error) {
	if c.back != nil || c.ofRun || c.tree.Header().Title != "" || c.lastName() != "" {
		return "", nil
	}
	prompt, made := "", false // made: the agent wrote a message before it
	for next := 0; next >= 0 && prompt == ""; {
		var list []session.Prompt
		list, _, next = c.tree.Prompts(next) // one that cannot be read is no title
		for _, p := range list {
			if e, ok := c.tree.Lookup(p.Entry); !ok || c.asked != nil && !c.asked[e.Index] {
				continue
			}
			if p.Text != "" {
				prompt = p.Text
				break
			}
			made = true
		}
	}
	if !made || prompt == "" {
		return "", nil
	}
	taken, err := c.takesForPrompt(n)
	if !taken || err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	if text := []rune(line); len(text) > titleMost {
		line = string(text[:titleMost]) + "…"
	}
	return line, nil
}

// takesForPrompt reports whether the target treats a message that the agent wrote in the user's name as a prompt.
func (c *crossing) takesForPrompt(n dialect.NewSession) (bool, error) {
	m := dialect.NewMessage{ID: "x", Role: session.RoleUser, Meta: true, Time: n.Time, Parts: dialect.TextParts("x")}
	composed, err := c.to.Compose(m)
	if err != nil || len(composed) == 0 {
		return false, nil // it cannot say it at all
	}
	log := &pile.Sheet{}
	defer log.Close()
	opening, err := dialect.Opening(c.to.WritingDialect, n)
	if err != nil {
		return false, err
	}
	header := session.Header{ID: n.ID, CWD: n.CWD}
	record, err := c.to.Record(dialect.NewEntry{ID: "00000000", Time: n.Time, Body: session.Message{Role: session.RoleUser, JSON: composed[0]}, Header: &header})
	if err != nil {
		return false, nil
	}
	for _, r := range append(opening, record) {
		log.Add(r)
	}
	t, err := log.Read(c.to.Dialect, "", n)
	if err != nil {
		return false, err
	}
	list, _, _ := t.Prompts(0)
	return len(list) > 0 && list[0].Text != "", nil
}

// addTitle names the new session by an entry, if its agent does so.
func (v *conversion) addTitle() error {
	c := v.cross
	title := c.title()
	leaf := c.leafID()
	// A session that is converted back gets its name from its own records. Without a script, the entry with the name is converted itself.
	named := c.back != nil || c.lastName() == title && !c.scripted
	if title == "" || !v.to.Habits().RenameByEntry || named || leaf == "" {
		return nil
	}
	id, err := c.add("title", dialect.NewEntry{Parent: c.lastOf(leaf), Body: session.SessionInfo{Name: title}})
	if err != nil {
		return err
	}
	if d, ok := c.to.Dialect.(dialect.Besider); ok {
		last := c.passages[len(c.passages)-1].records
		record, err := c.pile.Bytes(last[len(last)-1])
		if err != nil || d.Beside(record) {
			return err
		}
	}
	c.last[leaf] = id // the leaf is now here
	return nil
}
