package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A row of the import table: what the production files of some packages may import of this module and of others. The
// standard library is open to all, except to packages that are pure.
//
// A pattern is a package ("session"), all packages below a folder ("backend/*", not "backend" itself), "." for the
// root package or "*" for everything. Packages of one pattern with a star are siblings and never see each other; only
// what lies below a sibling is its own ("backend/postgres" may import "backend/postgres/schema").
type row struct {
	packages []string
	may      []string // of ours
	modules  []string // of other people, by prefix; "*" for any
	pure     bool     // no files, network, clock or randomness: see impure
	why      string
}

// importTable is the architecture. The first row that names a package is its rule; a package without a row is an error.
var importTable = []row{
	// What everything stands on.
	{
		packages: []string{"internal/rawjson", "internal/jsonl", "internal/durable"},
		modules:  []string{"golang.org/x/sys"},
		why: "bytes, lines and files are the ground floor: what everything stands on stands on the standard library alone " +
			"(and on x/sys, where processor and kernel are asked)",
	},
	{
		packages: []string{"internal/durable/*", "internal/crashfs"},
		may:      []string{"internal/durable"},
		why:      "a file system that fails on purpose stands beside the real one and knows nothing of what is stored in it",
	},

	{
		packages: []string{"internal/litefile"},
		may:      []string{"internal/durable"},
		modules:  []string{"modernc.org/sqlite"},
		why:      "how a database is opened without harm is the same for all that is kept in one; it knows no table",
	},
	{
		packages: []string{"internal/screen"},
		modules:  []string{"github.com/clipperhouse/displaywidth"},
		pure:     true,
		why:      "how text looks on a terminal is the same whatever it says, and for every face",
	},

	// The model.
	{
		packages: []string{"session", "run"},
		may:      []string{"internal/rawjson"},
		pure:     true,
		why:      "the model is what a session is, apart from any format, place or program; it does no I/O and has no dependencies",
	},

	// What a record means.
	{
		packages: []string{"dialect"},
		may:      []string{"session", "run", "internal/rawjson"},
		pure:     true,
		why:      "the contract of dialects knows the model and no dialect, or each new format would change it",
	},
	{
		packages: []string{"dialect/all"},
		may:      []string{"dialect", "dialect/*"},
		pure:     true,
		why:      "the ordered list of dialects is a list and nothing else",
	},
	{
		packages: []string{"dialect/dialecttest"},
		may:      []string{"session", "run", "dialect", "dialect/all", "internal/*"},
		modules:  []string{"*"},
		why:      "the suite tests any dialect through its interface; one that knew a backend or the store would test two things at once",
	},
	{
		packages: []string{"dialect/*"},
		may:      []string{"session", "run", "dialect", "internal/rawjson"},
		modules:  []string{"github.com/go-json-experiment/json", "github.com/google/uuid", "github.com/gofrs/uuid"},
		pure:     true,
		why: "a dialect is a pure codec: it can be fuzzed, and works on any backend (M dialects + N backends, never M × N); " +
			"home, temp folder, realpath, time zone, clock and ids come in from outside",
	},

	// Where records live.
	{
		packages: []string{"backend"},
		why:      "a new backend is written from this contract alone; records are opaque bytes to it",
	},
	{
		packages: []string{"backend/backendtest"},
		may:      []string{"backend", "backend/memory", "internal/*"},
		modules:  []string{"*"},
		why:      "the suite tests any backend through its interface, with the memory backend as the oracle of random histories",
	},
	{
		packages: []string{"backend/all"},
		may:      []string{"backend", "backend/*"},
		why:      "the ordered list of drivers is a list and nothing else",
	},
	{
		packages: []string{"backend/*"},
		may:      []string{"backend", "internal/jsonl", "internal/durable", "internal/rawjson"},
		modules:  []string{"*"},
		why: "a backend stores opaque records and never knows what they mean, so that every dialect works on it unchanged; what a " +
			"place needs of others it brings along (fsnotify for files), since no other place does",
	},
	{
		packages: []string{"blob/blobtest"},
		may:      []string{"blob", "internal/*"},
		modules:  []string{"*"},
		why:      "the suite tests any blob store through its interface",
	},
	{
		packages: []string{"blob"},
		may:      []string{"internal/durable"},
		why:      "a blob is bytes under their hash; who refers to it is not its business",
	},
	{
		packages: []string{"blob/*"},
		may:      []string{"blob", "internal/durable"},
		modules:  []string{"*"},
		why:      "a blob is bytes under their hash; who refers to it is not its business",
	},

	// Derived data.
	{
		packages: []string{"index/word"},
		pure:     true,
		why:      "what a word is; queries and signatures must agree on it and share nothing else",
	},
	{
		packages: []string{"index/query"},
		may:      []string{"index/word", "internal/rawjson"},
		pure:     true,
		why:      "a query decides about texts and bytes; it asks a signature by keys and knows neither files nor the index",
	},
	{
		packages: []string{"index/query/querytest"},
		may:      []string{"index/query"},
		modules:  []string{"*"},
		why:      "the oracle says what a query finds; it shares no code with what it checks",
	},
	{
		packages: []string{"index"},
		may:      []string{"session", "index/word", "internal/durable"},
		why:      "an index is derived from the model and can be thrown away; what it knew of formats or places could not be rebuilt",
	},
	{
		packages: []string{"index/indextest"},
		may:      []string{"session", "index", "internal/*"},
		modules:  []string{"*"},
		why:      "the suite tests any index through its interface",
	},

	// Putting it together.
	{
		packages: []string{"store/storetest"},
		may:      []string{"session", "run", "dialect", "backend", "backend/memory", "blob", "index", "index/query", "store", "internal/*"},
		modules:  []string{"*"},
		why:      "the suite tests what the store promises, on whatever it was assembled from",
	},
	{
		packages: []string{"store"},
		may:      []string{"session", "run", "dialect", "backend", "backend/memory", "blob", "index", "index/query", "internal/rawjson"},
		modules:  []string{"*"},
		why: "the store knows interfaces only: concrete dialects and backends are injected, or each new one would change it " +
			"(the memory backend is part of it, for sessions that are never stored)",
	},
	{
		packages: []string{"companion", "companion/*"},
		may:      []string{"session", "store", "internal/*"},
		modules:  []string{"*"},
		why:      "an agent's second place is an optional part of a store; it sees the store's contract and no dialect or backend",
	},

	// One capability each, on top of the store.
	{
		packages: []string{"history"},
		may:      []string{"session", "run", "index", "store", "internal/*"},
		modules:  []string{"modernc.org/sqlite"},
		why:      "the prompt history reads sessions through the store and is known to the faces alone, so that an embedder of sessions links no SQLite",
	},

	// The faces.
	{
		packages: []string{"rpc", "rpc/*", "server", "server/*", "tui", "tui/*"},
		may:      []string{"store", "session", "run", "index", "index/query"},
		modules:  []string{"*"},
		why:      "a face shows the store; what it needs of a format or a place it asks the store, so that all faces can do the same",
	},
	{
		packages: []string{".", "cmd/*"},
		may:      []string{"*"},
		modules:  []string{"*"},
		why:      "here the parts are assembled",
	},

	// Tools of the repository.
	{
		packages: []string{"internal/archtest"},
		why:      "the judge depends on nobody it judges",
	},
	{
		packages: []string{"internal/gen", "internal/bench", "internal/interop", "internal/soak"},
		may:      []string{"*"},
		modules:  []string{"*"},
		why:      "generators and measurements may look at everything; nothing that is shipped imports them",
	},
}

// testOnly are the packages (or patterns) for tests and tools. Nothing that is shipped may import them, whatever its row says, and
// they alone may import "testing" and test libraries.
var testOnly = []string{
	"dialect/dialecttest", "backend/backendtest", "blob/blobtest", "index/indextest", "index/query/querytest", "store/storetest",
	"internal/crashfs", "internal/durable/*",
	"internal/archtest", "internal/gen", "internal/bench", "internal/interop", "internal/soak",
}

const whyTestOnly = "suites, generators and fakes are for tests and tools; imported here, they would be linked into the program"

// testLibraries are imports of other people that belong to tests.
var testLibraries = []string{
	"testing", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal/testscript", "pgregory.net/rapid", "go.uber.org/goleak",
}

// impure are the packages that a pure package may not import, and what it needs instead.
var impure = map[string]string{
	"os":           "file, environment and process come in as values",
	"net":          "there is no network below the faces and backends",
	"syscall":      "system calls belong to internal/durable",
	"io/ioutil":    "there are no files here",
	"database/sql": "databases are backends, indexes or companions",
	"log":          "problems are returned as values, never printed",
	"crypto/rand":  "ids and randomness are injected, so that tests see the same ones every time",
	"math/rand":    "ids and randomness are injected, so that tests see the same ones every time",
	"plugin":       "there are no files here",
}

// impureCalls are functions that reach outside from packages that are otherwise pure.
var impureCalls = map[string][]string{
	"time": {
		"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation",
	},
	"path/filepath": {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
}

const whyImpureCall = "clock, time zone and file system are injected, so that the same bytes always mean the same"

// checkImports holds the imports of a package against its row of the table.
func checkImports(m *Module, p *Package) []Violation {
	files := p.Production()
	if len(files) == 0 {
		return nil
	}
	r, pattern, ok := rowOf(p.Dir)
	if !ok {
		return []Violation{{
			Where: p.Dir,
			What:  "package without a row in the import table of internal/archtest",
			Why:   "who may import whom is decided before code is written; add a row with its reason",
		}}
	}
	var found []Violation
	for _, f := range files {
		for _, spec := range f.Syntax.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the parser has checked it
			}
			if what, why := r.judge(m.Path, p.Dir, pattern, target); what != "" {
				found = append(found, Violation{m.where(spec), what, why})
			}
		}
		if r.pure {
			found = append(found, checkCalls(m, f)...)
		}
	}
	return found
}

// rowOf finds the row of a package, and the pattern in it that matched.
func rowOf(dir string) (row, string, bool) {
	for _, r := range importTable {
		for _, pattern := range r.packages {
			if matches(pattern, dir) {
				return r, pattern, true
			}
		}
	}
	return row{}, "", false
}

// matches says whether a package is meant by a pattern.
func matches(pattern, dir string) bool {
	if pattern == "*" || pattern == dir {
		return true
	}
	folder, ok := strings.CutSuffix(pattern, "*")
	return ok && strings.HasPrefix(dir, folder)
}

// judge says what is wrong with one import, and why; nothing when it is allowed.
func (r row) judge(module, from, pattern, target string) (what, why string) {
	if target == "C" {
		return "imports C", "there is no cgo: the program cross-compiles, and starts nobody else's C code"
	}
	isTest := isTestOnly(from)
	if !isTest && slices.ContainsFunc(testLibraries, func(l string) bool { return below(target, l) }) {
		return "imports " + target, whyTestOnly
	}
	if target == module || strings.HasPrefix(target, module+"/") {
		dir := strings.TrimPrefix(strings.TrimPrefix(target, module), "/")
		if dir == "" {
			dir = "."
		}
		return r.judgeOurs(from, pattern, dir, isTest)
	}
	if strings.Contains(firstElement(target), ".") {
		if isTest || slices.ContainsFunc(r.modules, func(l string) bool { return l == "*" || below(target, l) }) {
			return "", ""
		}
		return fmt.Sprintf("imports %s; %s may import no other module than %s",
			target, strings.Join(r.packages, ", "), list(r.modules)), r.why
	}
	if r.pure {
		for std, instead := range impure {
			if below(target, std) {
				return "imports " + target + " (" + instead + ")", r.why
			}
		}
	}
	return "", ""
}

// judgeOurs is judge for packages of this module. What lies below a sibling is its own.
func (r row) judgeOurs(from, pattern, target string, isTest bool) (what, why string) {
	if own := family(pattern, from); own != "" && below(target, own) {
		return "", ""
	}
	if !slices.ContainsFunc(r.may, func(p string) bool { return matches(p, target) }) {
		return fmt.Sprintf("imports %s; %s may import of ours: %s",
			target, strings.Join(r.packages, ", "), list(r.may)), r.why
	}
	if !isTest && isTestOnly(target) {
		return "imports " + target, whyTestOnly
	}
	return "", ""
}

// isTestOnly says whether nothing that is shipped may import the package.
func isTestOnly(dir string) bool {
	return slices.ContainsFunc(testOnly, func(pattern string) bool { return matches(pattern, dir) })
}

// family is the folder that belongs to one sibling of a pattern with a star: backend/postgres for
// backend/postgres/schema. A pattern without a star has no siblings.
func family(pattern, dir string) string {
	folder, ok := strings.CutSuffix(pattern, "*")
	if !ok || folder == "" {
		return ""
	}
	return path.Join(folder, firstElement(strings.TrimPrefix(dir, folder)))
}

// checkCalls finds uses of functions that reach outside in a file of a pure package.
func checkCalls(m *Module, f *File) []Violation {
	names := map[string]string{} // what this file calls a package → its path
	for _, spec := range f.Syntax.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		if _, ok := impureCalls[target]; !ok {
			continue
		}
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = target
	}
	var found []Violation
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || x.Obj != nil { // a variable that hides the package
			return true
		}
		target, ok := names[x.Name]
		if ok && slices.Contains(impureCalls[target], sel.Sel.Name) {
			found = append(found, Violation{m.where(sel), "uses " + path.Base(target) + "." + sel.Sel.Name, whyImpureCall})
		}
		return true
	})
	return found
}

// below says whether an import path is folder or lies in it.
func below(target, folder string) bool {
	return target == folder || strings.HasPrefix(target, folder+"/")
}

func firstElement(p string) string {
	first, _, _ := strings.Cut(p, "/")
	return first
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
