package find_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A hit is an entry. This index is in memory; with a folder in index.Options the next program need not read the logs again.
func ExampleFinder_Search() {
	home, err := os.MkdirTemp("", "treeline-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	ctx := context.Background()
	st := world.Store(home) // see store.New
	defer st.Close()
	s, err := st.Create(ctx, store.CreateOptions{CWD: home, Dialect: pi.Omp})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, text := range []string{"plan the beds", "and the watering_can?"} {
		if _, err := s.AppendText(ctx, session.RoleUser, text); err != nil {
			log.Fatal(err)
		}
	}

	f := find.New(st.Machine, index.Open(index.Options{}), time.Now)
	defer f.Close()
	found, err := f.Search(ctx, "watering", find.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Role, hit.Entry == s.Leaf(), hit.Snippet, hit.Marks)
	}
	// Output: user true and the watering_can? [[8 16]]
}
