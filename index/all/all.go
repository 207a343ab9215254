// Package all lists the drivers of indexes that lie beside the logs of an archive. Only a program that wants every one imports it:
// it links their databases too.
package all

import (
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/index/remote"
)

// Drivers returns the drivers, one for each scheme. The indexes of servers are reached over the connections of the backends.
func Drivers(backends []backend.Driver) []index.Driver {
	return append(remote.Drivers(backends), postgres.Driver())
}
