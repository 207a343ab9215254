package main

// promise is a figure that this program or its documents promise. rows is an expression for the names of the rows that measure it; "" if no
// row does. elsewhere is then the command that measures it.
type promise struct{ what, rows, elsewhere string }

// promises are all promises, so that a report cannot leave one out silently.
var promises = []promise{
	{"`treeline version` takes at most 6 ms of CPU", `^treeline version, CPU$`, ""},
	{"the program has at most 25 MB without symbols", `^the program without symbols$`, ""},
	{"initialisation grows by at most 2 ms with the viewer", "", "`.ci/run`, step *start*; docs/dependencies.md has the cost of each module"},
	{"a program that only embeds sessions has at most 8 MB", "", "`.ci/run`, step *size of an embedder*"},
	{"twice the labels, equal ids, branches, orphans, compactions, blank lines, cycles or summaries take at most about twice the time", `^doubled: `, ""},
	{"Ctrl-C ends every command within 200 ms", "", "`go test ./cmd/treeline -run Interrupt`"},
	{"a rewrite beside a program that appends loses nothing, 1,000 rounds", "", "`make soak`"},
	{"acknowledged entries survive kill -9, 500 rounds", "", "`make soak`"},
	{"other families are scanned at 0.7 of the rate of pi's or faster", `^scan envelopes: `, ""},
	{"a fork of Codex reads no more of its base than it needs", `^open a fork of Codex`, ""},
	{"conversions between all pairs keep what the model sees, 20 and 1,000 random sessions a pair", "", "`.ci/run` and `make soak`"},
	{"contexts of recorded sessions are what the programs sent, 95 % of unseen cases", "", "`TREELINE_CORPUS=… go test ./... -run Corpus`, `make interop`"},
	{"200 readers on 1,000 sessions for 60 s: no error, no growth, p99 ≤ 10 × p50", "", "`TREELINE_SOAK=1 go test ./server -run Soak -v`"},
	{"the page of 100,000 entries takes ≤ 150 ms of CPU, then ≤ 20 ms, and ≤ 300 KB", "", "`TREELINE_SOAK=1 go test ./server -run Soak -v`"},
	{"an idle server with 10,000 sessions uses ≤ 0.1 % of a core", "", "`TREELINE_SOAK=1 go test ./server -run Soak -v`"},
	{"an entry appended to 100 MB reaches a page for ≤ 20 ms of CPU", "", "`TREELINE_SOAK=1 go test ./server -run Soak -v`"},
	{"a search after an append to 100 MB takes ≤ 50 ms above a start", `^a search that finds the line just appended`, ""},
	{"an export takes ≤ 2 s of CPU for 10 MB with redaction", `^export as `, ""},
	{"secrets are looked for at ≥ 20 MB/s", `^find secrets in texts$`, ""},
	{"of 40 made-up keys none is missed, of 40 look-alikes one at most is a false alarm", "", "`go test ./internal/redact`"},
	{"script and style sheet of the viewer have ≤ 40 KB", "", "`go test ./page`"},
	{"appends to PostgreSQL reach 0.7 of a bare loop, alone and with 64 sessions", `^postgres \(elapsed\): append, `, ""},
	{"a session of 20,000 entries is read from PostgreSQL at 0.5 of a bare SELECT", `^postgres \(elapsed\): read `, ""},
	{"a push reaches 0.5 of a COPY, over https 0.3, and 2 % of that time when nothing changed", `: push of `, ""},
	{"a search of 10,000 sessions in PostgreSQL takes ≤ 3 × the local one", `^archive.*10000 sessions`, "`make bench-postgres`, docs/scale.md"},
	{"lists and searches of a million sessions in an archive stay flat", `^archive.*1000000 sessions`, "`make bench-postgres`, docs/scale.md"},
	{"no acknowledged entry is lost or doubled over 50 restarts and 10 promotions of PostgreSQL", "", "`.ci/run`, `make soak`"},
	{"a frame of 100,000 entries on the terminal takes ≤ 5 ms of CPU", `^terminal: `, ""},
	{"the terminal program opens 10,000 known sessions for ≤ 1.5 × `ls`", `known sessions on a terminal: opened`, ""},
	{"the idle terminal program uses ≤ 0.1 % of a core", `known sessions on a terminal: idle`, ""},
	{"a session of rows is read at 0.5 of a bare SELECT", `^a session of .*rows`, ""},
	{"a changed row in a database of 1 GB costs ≤ 50 ms of CPU", `^  after a row changed`, ""},
	{"a list of 10,000 sessions of rows reads no message", `^list of \d+ sessions of .*rows`, ""},
	{"pi's session manager: open 10 and 100 MB, context of 1,000 to 100,000, append, list, memory", `with all messages|^append \d+ messages$|without an index`, ""},
	{"searches beside rg", `, start included$`, ""},
	{"100,000 sessions: list and search ≤ 2 × a stat pass and ≤ 100 MB, a cold index ≤ 150 MB and 0.15 of the source, one append ≤ 1.2 × nothing changed", `^growth: \d+ sessions`, "`go run ./internal/bench -run growth -large`"},
	{"one session of 1 GB: open and context ≤ 0.6 s of CPU", `^growth: context of one session`, "`go run ./internal/bench -run growth -large`"},
	{"a clean build takes ≤ 130 s of CPU, all tests then ≤ 90 s", "", "`time go build ./cmd/treeline`, `time go test ./...` with an empty cache"},
	{"the packages that must not lose data have 90 % of their statements covered", "", "`make cover`"},
}
