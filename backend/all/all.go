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
	database := postgres.Driver(postgres.Options{})
	alias := database
	alias.Scheme = "postgresql" // PostgreSQL's own tools know both
	return []backend.Driver{
		codelia.Driver(),
		memory.Driver("memory"),
		database, alias,
		file.Driver(file.Options{}),
	}
}
