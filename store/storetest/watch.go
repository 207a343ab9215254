package storetest

import (
	"context"
	"iter"
	"time"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/watch"
)

// A watch tells of every entry once, in order, and of sessions that appear and disappear.
func watches(s *suite) {
	for name, opt := range map[string]watch.Options{
		"hints": {After: soon},
		"polls": {After: soon, NoHints: true},
	} {
		s.sub(name, func(s *suite) { s.watch(opt) })
	}
}

// soon is time.After with less patience: a look at a database takes long, and the next one is put off accordingly.
func soon(d time.Duration) <-chan time.Time { return time.After(min(d, 5*time.Millisecond)) }

func (s *suite) watch(opt watch.Options) {
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	one := s.begin("apricot", "bilberry")
	next, stop := iter.Pull2(watch.Watch(ctx, s.b.Machine, opt))
	defer stop()
	// tells waits for a change of a session: an entry, if text is set.
	tells := func(kind watch.Kind, sess *store.Session, text string) {
		s.Helper()
		for {
			c, err, ok := next()
			s.must(err)
			if !ok {
				s.Fatalf("the watch ended before %s %s", kind, text)
			}
			if c.Kind == watch.KindEntry && c.Entry.Kind != session.KindMessage {
				continue // some agents write more than messages
			}
			if c.Kind != kind || sess != nil && c.Path != sess.Path() {
				s.Fatalf("told %s of %s, %v: %s; want %s %s", c.Kind, c.Path, c.Err, c.Raw, kind, text)
			}
			if text != "" {
				parts, err := c.Parts()
				s.must(err)
				if len(parts) != 1 || parts[0] != (session.Text{Text: text}) {
					s.Fatalf("told %v, want %s", parts, text)
				}
			}
			return
		}
	}
	tells(watch.KindStart, nil, "")
	s.say(one, session.RoleUser, "cherry")
	tells(watch.KindEntry, one, "cherry")
	two := s.closing(s.b.Create(s.Context(), store.CreateOptions{CWD: s.other, Dialect: s.dialect}))
	s.say(two, session.RoleUser, "damson")
	s.say(two, session.RoleAssistant, "elderberry")
	tells(watch.KindSession, two, "")
	tells(watch.KindEntry, two, "damson")
	tells(watch.KindEntry, two, "elderberry")
	s.say(one, session.RoleAssistant, "fig")
	tells(watch.KindEntry, one, "fig")
	s.must(two.Delete(s.Context()))
	tells(watch.KindRemoved, two, "")
	s.must(one.Delete(s.Context()))
	tells(watch.KindRemoved, one, "")
}
