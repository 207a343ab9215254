package archtest

import "strings"

// A row of the import table says what the production files of some packages may import from this module and from others.
// All may import the standard library, except pure packages.
//
// A pattern is a package ("session"), all packages below a folder ("backend/*", without "backend" itself), "." for the root
// package, or "*" for everything. Packages that match one pattern with a star are siblings and must not import each other,
// but a package may import what is below it ("backend/postgres" may import "backend/postgres/schema").
type row struct {
	packages names
	may      names // packages of this module
	modules  names // other modules, by prefix; "*" for any
	pure     bool  // no files, network, clock or randomness: see impure
	why      string
}

// names are patterns, separated by spaces.
type names string

func (n names) list() []string { return strings.Fields(string(n)) }

// String formats the names for messages.
func (n names) String() string {
	if n == "" {
		return "nothing"
	}
	return strings.Join(n.list(), ", ")
}

// everywhere is a package that all packages may import: it replaces functions of the standard library.
const everywhere = "internal/sorting"

// importTable is the architecture. The first row that matches a package is its rule. Every package needs a row, and every
// row a package.
var importTable = []row{
	// The lowest layer.
	{packages: "internal/rawjson internal/jsonl internal/durable", modules: "golang.org/x/sys",
		why: "bytes, lines and files are the lowest layer: they use the standard library alone (and x/sys for the " +
			"processor and the kernel)"},
	{packages: "internal/shortid", pure: true,
		why: "lists of sessions and of runs shorten ids alike"},
	{packages: "internal/hexdigits", pure: true,
		why: "ids of records and generations of files are spelled alike"},
	{packages: "internal/sorting", pure: true,
		why: "sorting does not depend on what is sorted; all packages may use it, as they may the standard library"},
	{packages: "internal/durable/killtest", may: "internal/soak/soaktest",
		why: "a child process that is killed knows nothing of what it writes; its parent runs its tests as all do"},
	{packages: "internal/durable/*", may: "internal/durable",
		why: "a file system that fails on purpose replaces the real one and does not know what is stored in it"},
	{packages: "internal/litefile", may: "internal/durable internal/spill", modules: "modernc.org/sqlite",
		why: "a database is opened safely in the same way whatever its tables are"},
	{packages: "internal/spill", may: "internal/durable",
		why: "bytes that are needed for one operation are kept in the same way whatever they are"},
	{packages: "internal/pgdb", modules: "github.com/jackc/pgx/v5/pgconn",
		why: "a database server is reached in the same way whatever its tables are"},
	{packages: "internal/difftest", may: "internal/diff",
		why: "values are compared by what Go says of them, whatever they mean"},
	{packages: "internal/worktree", may: "internal/durable",
		why: "where a repository begins does not depend on what lies in it"},
	{packages: "internal/jsonschema", pure: true,
		why: "a schema comes from Go types alone"},
	{packages: "internal/screen", modules: "github.com/clipperhouse/displaywidth", pure: true,
		why: "text is shown on a terminal in the same way by every face"},
	{packages: "internal/redact", pure: true,
		why: "a secret is known by its text alone, wherever the text comes from"},
	{packages: "internal/diff", pure: true,
		why: "two texts are compared in the same way wherever they come from"},
	{packages: "internal/markup", may: "internal/screen", modules: "github.com/yuin/goldmark", pure: true,
		why: "HTML is made from a text alone; what is dangerous in a text is decided once, for terminals and pages"},
	// The model.
	{packages: "session run", may: "internal/rawjson", pure: true,
		why: "the model does not depend on any format, place or program; it does no I/O and has no dependencies"},
	// What a record means.
	{packages: "dialect", may: "session run internal/hexdigits internal/rawjson", pure: true,
		why: "the contract of dialects knows the model and no dialect; otherwise each new format would change it"},
	{packages: "dialect/all", may: "dialect dialect/*", pure: true,
		why: "the ordered list of dialects is a list and nothing else"},
	{packages: "dialect/unread", may: "dialect", pure: true,
		why: "agents without a dialect are known by their folders alone"},
	{packages: "dialect/dialecttest", may: "session run dialect dialect/all internal/*", modules: "*",
		why: "the suite tests any dialect through its interface; with a backend or the store it would test two things at once"},
	{packages: "dialect/claude", may: "session run dialect dialect/claude/blocks dialect/claude/files dialect/claude/request internal/rawjson", pure: true,
		why: "a dialect is a pure codec; where its program keeps files is a package of its own"},
	{packages: "dialect/claude/request", may: "session dialect dialect/claude/blocks internal/rawjson", pure: true,
		why: "the rules by which messages become a request need no tree and no log"},
	{packages: "dialect/contents", may: "session dialect internal/rawjson", pure: true,
		why: "the contents of one API of language models mean the same in the files of every agent"},
	{packages: "dialect/gemini dialect/qwen", may: "session run dialect dialect/contents internal/rawjson", pure: true,
		why: "a dialect is a pure codec; both agents keep contents of the same API"},
	{packages: "dialect/chat", may: "session dialect internal/rawjson", pure: true,
		why: "the messages of one interface of language models mean the same in the contexts of every agent"},
	{packages: "dialect/opencode dialect/goose dialect/crush", may: "session run dialect dialect/chat dialect/rowlog internal/rawjson", pure: true,
		why: "a dialect is a pure codec; these agents show a context in messages of the same interface"},
	{packages: "dialect/*", may: "session run dialect internal/rawjson",
		modules: "github.com/go-json-experiment/json github.com/google/uuid github.com/gofrs/uuid", pure: true,
		why: "a dialect is a pure codec: it can be fuzzed, and works on any backend (M dialects + N backends, never M × " +
			"N); home, temp folder, realpath, time zone, clock and ids are injected"},
	// What a provider is sent.
	{packages: "llm", may: "session dialect internal/rawjson", pure: true,
		why: "a request is made from neutral parts alone: it knows no agent, so that each dialect works with each provider"},
	// Where records are kept.
	{packages: "backend",
		why: "a new backend is written from this contract alone; records are opaque bytes"},
	{packages: "backend/backendtest", may: "backend backend/memory internal/*", modules: "*",
		why: "the suite tests any backend through its interface, with the memory backend as the oracle of random histories"},
	{packages: "backend/all", may: "backend backend/*",
		why: "the ordered list of drivers is a list and nothing else"},
	{packages: "backend/rows backend/rows/*", may: "backend backend/rows internal/durable internal/litefile internal/rawjson",
		modules: "modernc.org/sqlite",
		why:     "a schema knows one agent's tables and files; what its records mean is for a dialect to say"},
	{packages: "backend/*", may: "backend blob internal/jsonl internal/durable internal/hexdigits internal/spill internal/pgdb internal/rawjson", modules: "*",
		why: "a backend stores opaque records, and a database blobs too; it does not know what they mean, so every dialect works " +
			"on it; it may use a module that only it needs (fsnotify for files)"},
	{packages: "blob", may: "internal/durable",
		why: "a blob is bytes under their hash; it does not know what refers to it"},
	// Derived data on disk.
	{packages: "index/word", pure: true,
		why: "what a word is, and the key that stands for it, is said once, for signatures and for queries"},
	{packages: "index/query", may: "index/word internal/rawjson", pure: true,
		why: "what a query means does not depend on how an index finds candidates; it knows neither files nor catalogues"},
	{packages: "index/indextest index/query/querytest", may: "session run index index/* internal/*", modules: "*",
		why: "a suite tests any implementation through its interface"},
	{packages: "index/remote", may: "backend backend/remote backend/remote/protocol index index/query index/remote/protocol",
		why: "an index behind a server is asked over the connections of its logs"},
	{packages: "index/remote/protocol", may: "index index/query",
		why: "both sides of a connection know what is said"},
	{packages: "index/all", may: "backend index index/*",
		why: "the ordered list of drivers is a list and nothing else"},
	{packages: "index/postgres", may: "session index index/query internal/pgdb", modules: "github.com/jackc/pgx/v5/pgconn",
		why: "an index beside the logs of a database knows their feed of changes and nothing of what they mean"},
	{packages: "index", may: "session run index/query index/word internal/rawjson internal/durable",
		why: "an index is derived from the model and can be rebuilt; it knows neither formats nor places"},
	// One log, and where logs are.
	{packages: "logtree", may: "session run dialect backend blob internal/rawjson",
		why: "reading one log needs a backend and a dialect and nothing else; everything above reads through it"},
	{packages: "place", may: "session dialect backend blob index logtree internal/worktree internal/shortid",
		why: "where sessions are is asked by everything that works on them, so it knows no session that is open, no run " +
			"and no search"},
	{packages: "folders", may: "backend place",
		why: "which folders have sessions is noted by the store and by repairs, and asked by garbage collection"},
	// One session.
	{packages: "store/storetest",
		may: "session dialect backend backend/memory blob index logtree place folders store find watch internal/*", modules: "*",
		why: "the suite tests what a store promises on any backend"},
	{packages: "store/caption", may: "dialect backend place",
		why: "a file beside a log is changed without opening the session"},
	{packages: "store/breadcrumb", may: "dialect backend place",
		why: "the note of a terminal's last session is read and written without opening the session"},
	{packages: "store/lists", may: "session dialect internal/rawjson",
		why: "entries that are in no session are decoded without a place where sessions are"},
	{packages: "store", may: "store/caption store/breadcrumb store/lists session dialect backend backend/memory blob logtree place folders internal/rawjson",
		why: "opening and writing one session knows no capability that is built on it; dialects and backends are " +
			"injected (except the memory backend, for sessions that are never stored)"},
	{packages: "store/state", may: "store session dialect backend logtree place",
		why: "saving a session as a whole is another way to write than appending to one"},
	// One capability each. They do not know each other: what needs two is composed in the root package.
	{packages: "find/texts", may: "session run index/query internal/rawjson",
		why: "which texts are searched is decided once, from decoded records alone"},
	{packages: "find/snapshot", may: "backend",
		why: "it is a backend of one log, whatever is in it"},
	{packages: "find/past", may: "session index",
		why: "whether a part of a log has an id follows from hashes in the index and from the bytes of the part"},
	{packages: "find/rank",
		why: "the score of an entry follows from counts alone"},
	{packages: "find/listing", may: "session dialect index place internal/shortid",
		why: "a list is sorted, filtered and shortened without its rows; how it was brought up to date does not matter"},
	{packages: "find/copies",
		why: "which log is a copy of which follows from the messages that they have"},
	{packages: "find", may: "find/texts find/snapshot find/past find/rank find/listing find/copies session run dialect backend blob index index/query logtree place internal/rawjson internal/shortid",
		why: "the catalogue and search work on trees of logs, not on sessions that are open"},
	{packages: "usage", may: "session dialect index place",
		why: "statistics come from the rows of a catalogue and read no log"},
	{packages: "watch", may: "session dialect backend blob logtree place",
		why: "following what other programs write only reads"},
	{packages: "convert/pile", may: "session dialect logtree internal/spill",
		why: "where records are while they are made does not depend on what they say"},
	{packages: "convert/origin", may: "convert/pile session dialect",
		why: "what a converted session carries is read and written without a conversion"},
	{packages: "convert/casting", may: "session dialect",
		why: "which messages a provider accepts does not depend on what they are converted to"},
	{packages: "convert", may: "convert/pile convert/origin convert/casting session dialect backend blob logtree place store internal/rawjson internal/shortid",
		why: "a conversion makes records; how a session is written is the store's business"},
	{packages: "runs", may: "session run dialect backend logtree place internal/rawjson internal/shortid",
		why: "run logs lie beside sessions and are written by one writer; they need no store"},
	{packages: "repair", may: "session dialect backend blob logtree place internal/rawjson internal/redact",
		why: "a repair replaces a log that no session has open"},
	{packages: "push", may: "session dialect backend blob logtree place internal/durable internal/rawjson internal/redact",
		why: "copies are made of bytes; only where two copies have diverged does it matter what a record says"},
	{packages: "trash", may: "session dialect backend blob logtree place",
		why: "removing and collecting work on whole logs and blobs, whatever they say"},
	{packages: "history", may: "session place store internal/rawjson internal/durable internal/litefile",
		modules: "modernc.org/sqlite",
		why:     "the prompt history is an agent's database; a program that only embeds sessions does not link SQLite for it"},
	// What faces show, and the front door.
	{packages: "wire",
		may: "dialect/unread session run dialect llm access backend blob index index/query logtree place store store/state find usage watch convert runs repair " +
			"trash internal/rawjson internal/screen internal/shortid",
		why: "the stable JSON and text forms are the same in every face, so they know no terminal, command line or server"},
	{packages: "transcript",
		may: "session dialect logtree place store wire internal/diff internal/markup internal/rawjson internal/screen",
		why: "a session as a person reads it is the same in a viewer, in an export and on a terminal, so it makes values and " +
			"neither HTML nor escapes"},
	{packages: "page/chart", may: "wire",
		why: "a drawing of usage is made of numbers"},
	{packages: "page", may: "session run wire transcript page/chart internal/diff internal/markup internal/rawjson internal/screen",
		why: "pages are made from values: the server and the exports share them, so they open nothing and know no request"},
	{packages: "export", may: "session place store wire transcript page internal/diff internal/durable internal/markup internal/rawjson " +
		"internal/redact internal/screen",
		why: "an export is made from what people see of sessions; it knows neither formats nor the command line"},
	{packages: ".",
		may: "session run dialect dialect/all dialect/unread llm backend backend/file backend/memory blob index index/query logtree " +
			"place store store/state find find/listing usage watch convert runs repair trash push internal/durable",
		modules: "github.com/pelletier/go-toml/v2",
		why:     "an embedder gets sessions and their capabilities, without a database or a command line"},
	{packages: "internal/started", may: "backend/rows/* internal/durable internal/litefile",
		why: "what an agent makes when it is first started is data: the tables of its database"},
	{packages: "internal/demo", may: ". session run dialect backend store runs internal/started",
		why: "the sessions of the demo are written through the front door, as a program that embeds treeline would write them"},
	// What a server allows.
	{packages: "access/accesstest", may: "access internal/*", modules: "*",
		why: "the suite tests any book of tokens through its interface"},
	{packages: "access/all", may: "access access/postgres",
		why: "the list of the kinds of books is a list and nothing else"},
	{packages: "access/postgres", may: "access internal/pgdb", modules: "github.com/jackc/pgx/v5/pgconn",
		why: "tokens are kept beside the logs that they are for, and known to no log"},
	{packages: "access",
		why: "what a token allows does not depend on what is served; a project is a working directory and nothing else"},
	// The faces.
	{packages: "server/replay", may: "run internal/rawjson",
		why: "a recorded run is replayed from its log alone"},
	{packages: "server/logs", may: "backend backend/remote/protocol blob server/guard internal/spill",
		why: "logs and blobs are passed on as bytes, from any backend; what they mean, and what a caller may see, is for others to say"},
	{packages: "server/indexed", may: "backend index index/query index/remote/protocol place server/guard server/logs",
		why: "an index is passed on as any index.Shared gives it; what a caller may see is for others to say"},
	{packages: "server/guard", may: "access",
		why: "whether a request is answered does not depend on what is served"},
	{packages: "server/reply", may: "internal/spill", modules: "github.com/klauspost/compress",
		why: "how an answer reaches a slow client does not depend on what is answered"},
	{packages: "server/view", may: ". session dialect access index place find usage page server/guard",
		why: "what a client may see of a list is decided once, for pages and for the API"},
	{packages: "server/feed", may: "watch wire",
		why: "clients follow a log of events, wherever these come from"},
	{packages: "server/metrics",
		why: "how answers are counted does not depend on what is answered"},
	{packages: "server", may: ". session run dialect access backend blob index index/query logtree place store find usage watch runs wire transcript page page/chart export " +
		"server/feed server/guard server/indexed server/logs server/metrics server/reply server/view internal/jsonschema",
		why: "a face parses, calls and prints; it knows no concrete dialect or backend, and package page alone knows HTML"},
	{packages: "rpc", may: ". session run index index/query place store store/state find usage watch convert runs repair trash history wire " +
		"internal/jsonschema internal/rawjson",
		why: "a face parses, calls and prints; it knows no concrete dialect or backend, so that all faces can do the same"},
	{packages: "tui/look", may: "internal/screen", modules: "charm.land/bubbletea/v2 charm.land/lipgloss/v2 github.com/charmbracelet/x/ansi",
		why: "the screens of the terminal share their contract, keys and colours, and text becomes harmless in one place"},
	{packages: "tui/view", may: ". session logtree place find transcript wire tui/look internal/diff internal/markup internal/rawjson internal/screen",
		modules: "charm.land/bubbletea/v2 charm.land/lipgloss/v2",
		why:     "the screen of a session draws what package transcript gives it; it knows no dialect, and only the program above it acts"},
	{packages: "tui", may: ". session convert find/listing index place store usage wire tui/look tui/view internal/screen", modules: "charm.land/bubbletea/v2",
		why: "a face parses, calls and prints; it knows no concrete dialect or backend, and no server"},
	{packages: "mcp", may: ". session backend index index/query place find usage wire internal/jsonschema internal/redact internal/screen",
		modules: "github.com/modelcontextprotocol/go-sdk",
		why:     "an agent that asks about its past gets answers and changes nothing: what writes sessions is not imported"},
	{packages: "cmd/treeline/internal/console", may: "wire internal/screen", modules: "github.com/clipperhouse/displaywidth golang.org/x/term",
		why: "how a command reads and writes does not depend on what it does"},
	{packages: "cmd/treeline/internal/cli",
		may: ". session run dialect access access/all backend backend/all index/all place store find runs trash export wire internal/screen internal/shortid " +
			"internal/demo cmd/treeline/internal/console",
		modules: "github.com/spf13/cobra github.com/spf13/pflag",
		why:     "what the commands share knows no command; it alone links every backend, through their list"},
	{packages: "cmd/treeline/internal/*",
		may: ". session run dialect dialect/unread llm access backend index index/query place store find find/listing usage watch convert runs repair trash push history " +
			"wire export rpc mcp server server/* tui internal/rawjson internal/screen internal/demo cmd/treeline/internal/cli cmd/treeline/internal/console",
		modules: "github.com/spf13/cobra golang.org/x/term charm.land/bubbletea/v2",
		why:     "the commands below one heading of the help do not know those below another; what they share is in cli"},
	{packages: "cmd/treeline",
		may:     ". session dialect llm place store usage wire server tui internal/screen cmd/treeline/internal/*",
		modules: "github.com/spf13/cobra github.com/spf13/pflag",
		why:     "the program is the list of its commands, their help and completion, and what runs commands in turn: the terminal program and the demo"},
	// Tools of the repository.
	{packages: "internal/archtest",
		why: "the test depends on nothing that it checks"},
	{packages: "internal/termsvg", pure: true,
		why: "a picture is made of text; it knows no command"},
	{packages: "internal/doctest", pure: true,
		why: "what a document shows is compared with any output; what runs the blocks knows the program"},
	{packages: "internal/dist/man", modules: "github.com/spf13/cobra github.com/spf13/pflag",
		why: "a manual page comes from commands, whatever they do; the program does not link what writes it"},
	{packages: "internal/dist internal/dependencies",
		why: "a release is made of the program and of files: what makes it runs the Go command and imports nothing"},
	{packages: "internal/gen internal/bench internal/interop internal/interop/* internal/world internal/rowstest internal/browser internal/npm internal/pgtest internal/soak internal/soak/* internal/mutants", may: "*", modules: "*",
		why: "generators and measurements may import everything; the program imports none of them"},
}
