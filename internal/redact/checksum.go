package redact

import "hash/crc32"

// checksum returns the check for keys with a prefix; nil if there is none.
func checksum(prefix string) func(key string) bool {
	switch prefix {
	case "ghp_", "gho_", "ghu_", "ghr_", "npm_":
		return endsInCRC
	}
	return nil
}

// endsInCRC reports whether the last six characters are the CRC-32 of the thirty before them, in base 62. GitHub's tokens have had it since
// 2021, and npm's, too.
func endsInCRC(key string) bool {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	body := key[4:]
	if len(body) != 36 {
		return false
	}
	sum := crc32.ChecksumIEEE([]byte(body[:30]))
	for i := 35; i >= 30; i-- {
		if body[i] != digits[sum%62] {
			return false
		}
		sum /= 62
	}
	return true
}
