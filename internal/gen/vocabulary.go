package gen

import (
	"math"
	"math/rand/v2"
	"strings"
	"sync"
)

// With these numbers a rare name occurs in a few sessions of one project.
const (
	nameCount = 2000 // names of a project
	fileCount = 240  // files of a project
	pickBits  = 15   // the tables of ranks have 1<<pickBits elements
)

// A vocabulary has the words of one project.
type vocabulary struct {
	project string
	words   []string // common to all projects
	names   []string // identifiers, the most frequent first
	files   []string // paths below the project's folder
	lang    language

	wordRanks, nameRanks []uint16
}

// A language is the style of a project's source code.
type language struct {
	ext    string
	indent string // escaped for JSON
	lines  []string
}

// In the lines, N is a name, S a few words and D a number; { and } at the end of a line open and close a block. The lines are
// escaped for JSON.
var languages = []language{
	{".go", `\t`, []string{
		`if err := N(N, N); err != nil {`, `return fmt.Errorf(\"S: %w\", err)`, `}`, `N := N.N(N)`, `N.N = append(N.N, N{N: N, N: D})`,
		`for i, N := range N.N {`, `}`, `return N, nil`, `switch N := N.(type) {`, `}`, `func (N *N) N(N []byte) (int, error) {`, `}`, `}`,
		`case N:`, `defer N.N()`, `// S`, `N.N(\"S\", \"N\", N)`, `if len(N) == D || N.N != \"N\" {`, `}`, `var N = []string{\"N\", \"N\", \"N\\n\"}`,
	}},
	{".ts", `\t`, []string{
		`const N = await N.N(N, { N: \"N\", N: D });`, `if (!N.N || N.N === \"N\") {`, `}`, `return N.N((N) => N.N !== N);`, `}`,
		`export function N(N: N, N?: string): N[] {`, `}`, `throw new Error(` + "`S: ${N}`" + `);`, `// S`, `N.N.push({ N, N: N.N ?? \"N\" });`,
		`for (const N of N.N) {`, `}`, `import { N, N } from \"./N.js\";`, `expect(N.N).toBe(\"S\");`, `it(\"S\", async () => {`, `}`,
		`const N = /^N\\s+\\d+$/;`, `type N = { N: string; N: number };`,
	}},
	{".py", `    `, []string{
		`def N(self, N: str, N=None) -> N: {`, `}`, `if N is None or N.N == \"N\": {`, `}`, `return [N.N for N in N if N]`, `N = N.N(N, N=D)`,
		`raise N(f\"S: {N}\")`, `for N in N.N(): {`, `}`, `self.N[\"N\"] = N`, `# S`, `with N(N, \"N\") as N: {`, `}`, `assert N.N(N) == \"S\\n\"`,
		`N.N(\"S %s\", N)`, `from N.N import N`,
	}},
}

// newVocabulary makes the words of a project. Names consist of a verb and a noun, in camel case or with an underscore, and of words that no
// other project has.
func newVocabulary(project uint64) *vocabulary {
	r := rand.New(rand.NewPCG(project, 0x766f636162)) // independent of the seeds of sessions
	v := &vocabulary{
		words:     strings.Fields(english),
		lang:      languages[r.IntN(len(languages))],
		wordRanks: wordRanks(),
		nameRanks: nameRanks(),
	}
	verbs, nouns, syllables := strings.Fields(verbs), strings.Fields(nouns), strings.Fields(syllables)
	one := func(list []string) string { return list[r.IntN(len(list))] }
	made := func() string { return one(syllables) + one(syllables) + one(syllables) }
	v.project = made() + "-" + one(nouns)
	own := make([]string, 40) // terms of the project
	for i := range own {
		own[i] = made()
	}
	v.names = make([]string, nameCount)
	for i := range v.names {
		head, tail := one(verbs), title(one(nouns))
		switch r.IntN(6) {
		case 0:
			head = one(nouns)
		case 1:
			head = one(own)
		case 2:
			tail = title(one(own))
		}
		switch r.IntN(8) {
		case 0:
			v.names[i] = title(head) + tail
		case 1:
			v.names[i] = head + "_" + strings.ToLower(tail)
		case 2:
			v.names[i] = head + tail + title(one(nouns))
		case 3:
			v.names[i] = one(nouns)
		case 4:
			v.names[i] = made()
		default:
			v.names[i] = head + tail
		}
	}
	v.files = make([]string, fileCount)
	for i := range v.files {
		dir, ext := one(nouns), v.lang.ext
		if r.IntN(2) == 0 {
			dir += "/" + one(own)
		}
		if r.IntN(4) == 0 {
			ext = "_test" + ext
		}
		v.files[i] = dir + "/" + one(nouns) + "_" + one(nouns) + ext
	}
	return v
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

var (
	wordRanks = sync.OnceValue(func() []uint16 { return zipf(len(strings.Fields(english)), 0.9) })
	nameRanks = sync.OnceValue(func() []uint16 { return zipf(nameCount, 0.8) })
)

// zipf returns a table in which rank i of n occurs about in proportion to 1/(i+1)^s, and at least once. A random element of it
// is a rank that follows Zipf's law.
func zipf(n int, s float64) []uint16 {
	sum := 0.0
	for i := range n {
		sum += math.Pow(float64(i+1), -s)
	}
	const size = 1 << pickBits
	table := make([]uint16, 0, size)
	for i := n - 1; i > 0; i-- { // from the rare end: the most frequent rank gets the rest
		share := max(1, int(size*math.Pow(float64(i+1), -s)/sum))
		for range min(share, size-len(table)) {
			table = append(table, uint16(i))
		}
	}
	return table[:size]
}
