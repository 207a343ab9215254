package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// PrefixedCallID is CallNamer.CallID for ids that consist of a prefix followed by letters, digits, "_" and "-". Providers accept up to
// 64 characters.
func PrefixedCallID(prefix, id string) string {
	const most = 64
	rest, ok := strings.CutPrefix(id, prefix)
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	if ok && rest != "" && len(id) <= most && strings.IndexFunc(rest, odd) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return prefix + hex.EncodeToString(sum[:12])
}
