package trash

import "github.com/treeline-dev/treeline/blob"

const hashLen = 2 * len(blob.Ref{})

// markHashes marks the hashes that occur in a text, of those in used. More than 64 hex digits in a row hold a hash at each
// position, and all of them count. Digits are lower case, as blob.Ref spells them.
func markHashes(text []byte, used map[blob.Ref]bool) {
	for end := hashLen; end <= len(text); {
		// Checking from the last byte on skips other text in strides of up to 64 bytes.
		i := end - 1
		for i >= end-hashLen && hexDigit[text[i]] {
			i--
		}
		if i >= end-hashLen {
			end = i + 1 + hashLen
			continue
		}
		if ref, err := blob.ParseRef(blob.Prefix + string(text[end-hashLen:end])); err == nil {
			if _, known := used[ref]; known {
				used[ref] = true
			}
		}
		end++
	}
}

var hexDigit = func() (is [256]bool) {
	for _, c := range []byte("0123456789abcdef") {
		is[c] = true
	}
	return is
}()
