// Package all lists the drivers of all backends. Only a program that wants every backend imports it: it links their
// databases too.
package all

import (
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
)

// Drivers returns the drivers in the order in which they are asked. The driver of files claims every folder, so it is last.
func Drivers() []backend.Driver {
	return []backend.Driver{
		codelia.Driver(),
		memory.Driver("memory"),
		postgres.Driver(postgres.Options{}),
		file.Driver(file.Options{}),
	}
}
