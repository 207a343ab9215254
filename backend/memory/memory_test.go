package memory_test

import (
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/backend/memory"
)

func TestMemory(t *testing.T) {
	backendtest.Run(t, func(*testing.T) backendtest.Place {
		b := memory.New()
		return backendtest.Place{
			Open: func() (backend.Backend, error) { return b.Reopen(), nil },
			Put:  func(name string, content []byte) error { b.Put(name, content); return nil },
		}
	})
}
