// Package all lists the drivers of all backends. Only a program that wants every backend imports it: it links their
// databases too.
package all

import (
	"os"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/backend/rows/crush"
	"github.com/treeline-dev/treeline/backend/rows/goose"
	"github.com/treeline-dev/treeline/backend/rows/opencode"
)

// Options say where drivers find what is not in a URL.
type Options struct {
	// Getenv is the environment; nil is that of the process.
	Getenv func(string) string
	// Tokens is the file with the tokens of servers; see remote.Tokens. "" means none.
	Tokens string
}

// ErrToken is wrapped by the error for a missing or refused token of a server.
var ErrToken = remote.ErrToken

// Hosts lists the hosts in a file of tokens; see remote.Tokens.
func Hosts(tokens string) ([]string, error) { return remote.Hosts(tokens) }

// Drivers returns all drivers with the default options.
func Drivers() []backend.Driver { return With(Options{}) }

// With returns the drivers in the order in which they are asked. The driver of files claims every folder, so it is last.
func With(opt Options) []backend.Driver {
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	servers := remote.Drivers(remote.Options{Token: remote.Tokens(opt.Getenv, opt.Tokens)})
	database := postgres.Driver(postgres.Options{})
	alias := database
	alias.Scheme = "postgresql" // PostgreSQL's own tools know both
	return append(servers, []backend.Driver{
		codelia.Driver(),
		opencode.Driver(),
		opencode.StorageDriver(),
		goose.Driver(),
		crush.Driver(),
		memory.Driver("memory"),
		database, alias,
		file.Driver(file.Options{}),
	}...)
}
