// Package all lists the drivers of all backends except plain folders.
package all

import (
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
)

// All gives the drivers in the order in which they are asked.
func All() []backend.Driver {
	return []backend.Driver{
		codelia.Driver(),
	}
}
