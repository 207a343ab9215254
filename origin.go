package treeline

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Origin is the identity of this machine in archives: the name of the host and eight hex digits, as in "laptop-3f9a2c1b". It
// is made once and kept in the file "origin" of a folder, which is DataDir. The host may get another name later, the identity
// stays. Processes that make it at the same time agree on one.
func Origin(dir string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "" // the digits are enough
	}
	return makeOrigin(dir, host, rand.Reader)
}

func makeOrigin(dir, host string, random io.Reader) (string, error) {
	origin, err := readOrigin(dir)
	if err != nil || origin != "" {
		return origin, err
	}
	var digits [4]byte
	if _, err := io.ReadFull(random, digits[:]); err != nil {
		return "", err
	}
	content := hostName(host) + "-" + hex.EncodeToString(digits[:]) + "\n"
	if err = durable.MkdirAll(durable.OS{}, dir, 0o700); err == nil {
		_, err = durable.Create(durable.OS{}, filepath.Join(dir, "origin"), 0o600, strings.NewReader(content))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process may have been first
		return "", fmt.Errorf("the identity of this machine cannot be kept: %w", err)
	}
	return readOrigin(dir)
}

// readOrigin reads the identity; "" if there is none yet.
func readOrigin(dir string) (string, error) {
	path := filepath.Join(dir, "origin")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("the identity of this machine: %w", err)
	}
	origin := strings.TrimSpace(string(content))
	if !regexp.MustCompile(`^[a-z0-9-]{1,63}-[0-9a-f]{8}$`).MatchString(origin) {
		return "", fmt.Errorf("%s: %.80q is not the identity of a machine, such as laptop-3f9a2c1b; restore the file, or remove it for a new identity", path, origin)
	}
	return origin, nil
}

// hostName makes the name of a host fit into a path: its first part, in lower case.
func hostName(host string) string {
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	host = regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(host, "-")
	host = strings.Trim(host[:min(len(host), 40)], "-")
	if host == "" {
		return "machine"
	}
	return host
}
