package trash

import "github.com/treeline-dev/treeline/blob"

const hashLen = 2 * len(blob.Ref{})

// markHashes marks the hashes that stand in a text, of those that are asked for. A row of more than 64 digits has a hash at
// each place: which of them is meant is not known, and all are kept. Digits are lower case, as blob.Ref spells them.
func markHashes(text []byte, used map[blob.Ref]bool) {
	for end := hashLen; end <= len(text); {
		// Looking at the last byte first passes text that is none in strides.
		i := end - 1
		for i >= end-hashLen && hexDigit[text[i]] {
			i--
		}
		if i >= end-hashLen {
			end = i + 1 + hashLen
			continue
		}
		if ref, err := blob.ParseRef(blob.Prefix + string(text[end-hashLen:end])); err == nil {
			if _, there := used[ref]; there {
				used[ref] = true
			}
		}
		// Another hash may begin one digit later, in a longer row of digits.
		end++
	}
}

var hexDigit = func() (is [256]bool) {
	for _, c := range []byte("0123456789abcdef") {
		is[c] = true
	}
	return is
}()
