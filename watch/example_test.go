package watch_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/watch"
)

// A watcher yields each entry once, whichever program writes it.
func ExampleWatch() {
	home, err := os.MkdirTemp("", "treeline-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	ctx := context.Background()
	st := world.Store(home) // see store.New
	defer st.Close()
	s, err := st.Create(ctx, store.CreateOptions{CWD: home, Dialect: pi.Omp})
	if err == nil {
		_, err = s.AppendText(ctx, session.RoleUser, "plan the beds")
	}
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for c, err := range watch.Watch(ctx, st.Machine, watch.Options{Path: s.Path(), Last: 1}) {
		if err != nil {
			log.Fatal(err)
		}
		switch c.Kind {
		case watch.KindStart: // from here on nothing is missed
			if _, err := s.AppendText(ctx, session.RoleUser, "and the paths?"); err != nil {
				log.Fatal(err)
			}
		case watch.KindEntry:
			parts, err := c.Parts()
			fmt.Println(c.Entry.Role, parts, err)
			if c.Entry.ID == s.Leaf() && s.Tree().Len() == 2 {
				return
			}
		}
	}
	// Output:
	// user [{plan the beds}] <nil>
	// user [{and the paths?}] <nil>
}
