package main

import "testing"

// The table keeps up with the program: every mutant changes an existing place, and tests judge it.
func TestTable(t *testing.T) {
	for _, m := range mutants {
		if _, err := m.changed("../.."); err != nil {
			t.Errorf("%s: %v", m, err)
		}
		if len(m.judges()) == 0 {
			t.Errorf("%s: no tests judge this folder", m)
		}
	}
}
