package markup

import "sync"

// languages are all known languages. Their words are those of the languages' specifications and standard libraries.
var languages = sync.OnceValue(func() []*language {
	double, single := quote{open: `"`, close: `"`}, quote{open: `'`, close: `'`}
	slashes, stars := []string{"//"}, [2]string{"/*", "*/"}
	all := []*language{
		{
			name: "go", aliases: "golang", extensions: "go", line: slashes, block: stars,
			quotes: []quote{double, single, {open: "`", close: "`", raw: true, lines: true}},
			keywords: `break case chan const continue default defer else fallthrough for func go goto if import interface map
				package range return select struct switch type var nil true false iota`,
			types: `any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string
				uint uint8 uint16 uint32 uint64 uintptr`,
		},
		{
			name: "ts", aliases: "typescript tsx js javascript jsx mjs cjs node", extensions: "ts tsx mts cts js jsx mjs cjs",
			line: slashes, block: stars, capital: true, word: "$", meta: "@",
			quotes: []quote{double, single, {open: "`", close: "`", lines: true}},
			keywords: `abstract as async await break case catch class const continue debugger declare default delete do else enum
				export extends finally for from function get if implements import in infer instanceof interface is keyof let
				namespace new of private protected public readonly return satisfies set static super switch this throw try type
				typeof var void while with yield null undefined true false NaN Infinity`,
			types: `any bigint boolean never number object string symbol unknown`,
		},
		{
			name: "python", aliases: "py python3 pycon", extensions: "py pyi", line: []string{"#"}, capital: true, meta: "@",
			prefixes: "r u b f rb br fr rf t",
			quotes:   []quote{{open: `"""`, close: `"""`, lines: true}, {open: `'''`, close: `'''`, lines: true}, double, single},
			keywords: `and as assert async await break case class continue def del elif else except finally for from global if
				import in is lambda match nonlocal not or pass raise return try while with yield None True False self cls`,
			types: `bool bytearray bytes complex dict float frozenset int list object range set slice str tuple type`,
		},
		{
			name: "rust", aliases: "rs", extensions: "rs", line: slashes, block: stars, capital: true, meta: "#[", prefixes: "b c",
			quotes: []quote{{open: `r##"`, close: `"##`, raw: true, lines: true}, {open: `r#"`, close: `"#`, raw: true, lines: true},
				{open: `r"`, close: `"`, raw: true, lines: true}, {open: `"`, close: `"`, lines: true}, {open: `'`, close: `'`, char: true}},
			keywords: `as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod
				move mut pub ref return self Self static struct super trait true type union unsafe use where while`,
			types: `bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize`,
		},
		{
			name: "java", aliases: "kotlin kt", extensions: "java kt kts", line: slashes, block: stars, capital: true, meta: "@",
			quotes: []quote{{open: `"""`, close: `"""`, lines: true}, double, single},
			keywords: `abstract assert break case catch class const continue default do else enum extends final finally for goto if
				implements import instanceof interface native new non-sealed package permits private protected public record
				return sealed static strictfp super switch synchronized this throw throws transient try var volatile while yield
				true false null companion data fun in is object open override suspend typealias val when`,
			types: `boolean byte char double float int long short void`,
		},
		{
			name: "c", aliases: "cpp c++ cc cxx h hpp objc", extensions: "c h cc cpp cxx hh hpp hxx", line: slashes, block: stars,
			meta: "#", quotes: []quote{double, single}, prefixes: "L u u8 U",
			keywords: `alignas alignof asm auto break case catch class concept const consteval constexpr constinit const_cast
				continue co_await co_return co_yield decltype default delete do dynamic_cast else enum explicit export extern
				final for friend goto if inline mutable namespace new noexcept operator override private protected public
				register reinterpret_cast requires restrict return sizeof static static_assert static_cast struct switch
				template this thread_local throw try typedef typeid typename typeof union using virtual volatile while true
				false nullptr NULL`,
			types: `bool char char8_t char16_t char32_t double float int long short signed unsigned void wchar_t size_t ssize_t
				ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t FILE`,
		},
		{
			name: "shell", aliases: "sh bash zsh console shell-session shellscript", extensions: "sh bash zsh", scan: scanShell,
			quotes: []quote{{open: `"`, close: `"`, lines: true}, {open: `'`, close: `'`, raw: true, lines: true}},
			keywords: `if then elif else fi for while until do done case esac in function select time return exit break continue
				local export readonly declare unset shift set trap source alias eval exec`,
		},
		{name: "json", aliases: "jsonc json5 jsonl", extensions: "json jsonl jsonc", scan: scanJSON, line: slashes, block: stars,
			quotes: []quote{double}, keywords: "true false null"},
		{name: "yaml", aliases: "yml", extensions: "yaml yml", scan: scanYAML, keywords: "true false null yes no on off ~"},
		{
			name: "sql", aliases: "sqlite postgres postgresql psql mysql plpgsql", extensions: "sql", line: []string{"--"}, block: stars,
			fold: true, quotes: []quote{{open: "'", close: "'", raw: true, lines: true}, {open: `"`, close: `"`, raw: true}},
			keywords: `add all alter analyze and any as asc begin between by cascade case check collate column commit conflict
				constraint create cross current_date current_timestamp database default delete desc distinct do drop else end
				escape except exists explain false fetch filter first following for foreign from full function grant group having
				if ilike in index inner insert intersect into is join key last lateral left like limit materialized natural not
				nothing null nulls offset on or order outer over partition pragma preceding primary procedure range recursive
				references rename replace returning revoke right rollback row rows select set table temp temporary then to
				transaction trigger true truncate unbounded union unique update using vacuum values view when where window with`,
			types: `bigint bigserial blob boolean bool bytea char character date decimal double float int integer interval json
				jsonb numeric precision real serial smallint text time timestamp timestamptz uuid varchar varying`,
		},
		{name: "html", aliases: "xml svg xhtml vue htm", extensions: "html htm xml svg xhtml vue", scan: scanHTML},
		{name: "css", aliases: "scss less", extensions: "css scss less", scan: scanCSS, block: stars, quotes: []quote{double, single}},
		{name: "diff", aliases: "patch udiff", extensions: "diff patch", scan: scanDiff},
	}
	named := map[string]*language{}
	for _, l := range all {
		l.words = sync.OnceValue(l.classes)
		named[l.name] = l
	}
	named["html"].inner = map[string]*language{"script": named["ts"], "style": named["css"]}
	return all
})
