package query_test

import (
	"fmt"
	"log"

	"github.com/treeline-dev/treeline/index/query"
)

// Words find entries in which all of them occur, a phrase is in quotes, and a star stands for the rest of a word.
func ExampleParse() {
	q, err := query.Parse(`"plan the" bed*`, query.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"Plan the beds!", "the plan: beds", "beds, then plan the paths"} {
		_, ok := q.Match([]query.Text{{Field: query.FieldUser, Text: text}})
		fmt.Println(ok, text)
	}
	// Output:
	// true Plan the beds!
	// false the plan: beds
	// true beds, then plan the paths
}
