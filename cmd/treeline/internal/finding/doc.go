// Package finding has the commands below "Find:" in the help: ls, search, history, stats, pick, sources.
package finding
