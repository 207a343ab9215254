// Package all lists the drivers of indexes that lie beside the logs of an archive. Only a program that wants every one imports it:
// it links their databases too.
package all

import (
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
)

// Drivers returns the drivers, one for each scheme.
func Drivers() []index.Driver {
	return []index.Driver{postgres.Driver(postgres.Options{})}
}
