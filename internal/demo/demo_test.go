package demo

import (
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	clock := func() time.Time { return time.Date(2026, 3, 24, 10, 30, 0, 0, time.UTC) }
	if err := Write(t.Context(), dir, clock, all.Drivers()...); err != nil {
		t.Fatal(err)
	}
	s, err := treeline.New(Machine(dir, clock, all.Drivers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.Catalogue(t.Context(), treeline.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		t.Logf("%+v", r)
	}
}
