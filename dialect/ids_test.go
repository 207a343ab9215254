package dialect

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/session"
)

// The code checks ids without regular expressions, which would be compiled at every start of a program. Here they state the rules.
func TestIDs(t *testing.T) {
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	anyUUID := regexp.MustCompile(`(?i)` + uuid.String())
	file := regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	v4, err := NewUUID(bytes.NewReader(make([]byte, 16)))
	if err != nil {
		t.Fatal(err)
	}
	v7, err := UUIDv7(time.UnixMilli(1), bytes.NewReader(make([]byte, 16)))
	if err != nil {
		t.Fatal(err)
	}
	if want := "00000000-0000-4000-8000-000000000000"; v4 != want {
		t.Errorf("NewUUID: %s, want %s", v4, want)
	}
	if want := "00000000-0001-7000-8000-000000000000"; string(v7) != want {
		t.Errorf("UUIDv7: %s, want %s", v7, want)
	}
	base := "0123abcd-4567-89ef-abcd-ef0123456789"
	ids := []string{"", "a", ".", "a.b", "-a", "a-", "_", "a_b", "ä", strings.Repeat("a", 128), strings.Repeat("a", 129), base, strings.ToUpper(base), base[:35], base + "0"}
	for i := range base {
		for _, c := range "0afgAFGz.-_/@`{[\x00\xff" {
			ids = append(ids, base[:i]+string(c)+base[i+1:])
		}
	}
	for _, id := range ids {
		if got, want := IsUUID(id), uuid.MatchString(id); got != want {
			t.Errorf("IsUUID(%q) is %v", id, got)
		}
		if got, want := IsAnyUUID(id), anyUUID.MatchString(id); got != want {
			t.Errorf("IsAnyUUID(%q) is %v", id, got)
		}
		if got, want := CheckFileID(session.ID(id)) == nil, file.MatchString(id) && len(id) <= 128; got != want {
			t.Errorf("CheckFileID(%q) accepts it: %v", id, got)
		}
	}
}

func TestPlaceID(t *testing.T) {
	for position := range 1 << 16 {
		got := PlaceID(position)
		if want := fmt.Sprintf("%08x", uint32(position+1)*2654435769); string(got[:]) != want {
			t.Fatalf("PlaceID(%d) = %s, want %s", position, got[:], want)
		}
	}
}
