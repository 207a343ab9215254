package treeline

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/place"
)

// Origin is the identity of this machine in archives: the name of the host and eight hex digits, as in "laptop-3f9a2c1b". It
// is made once and kept in the file "origin" of a folder, which is DataDir. It stays the same even if the host is renamed.
// Processes that make it at the same time agree on one.
func Origin(dir string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "" // the digits alone make the identity
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

// ErrUnknownOrigin is wrapped by the error for an origin that is not in the archive, or that is ambiguous.
var ErrUnknownOrigin = errors.New("no such origin")

// findOrigin returns the origin in an archive that the user named, in full or by its beginning, such as the name of the host.
func findOrigin(ctx context.Context, drivers []backend.Driver, root, name string) (string, error) {
	origins, err := place.Origins(ctx, drivers, root)
	if err != nil || slices.Contains(origins, name) {
		return name, err
	}
	fits := slices.DeleteFunc(slices.Clone(origins), func(o string) bool { return !place.HasPrefixFold(o, name) })
	const some = 20
	switch {
	case len(fits) == 1:
		return fits[0], nil
	case len(fits) > 1:
		return "", fmt.Errorf("%q: %w: it may be %s", name, ErrUnknownOrigin, strings.Join(fits[:min(some, len(fits))], ", "))
	case len(origins) == 0:
		return "", fmt.Errorf("%q: %w: the archive is empty", name, ErrUnknownOrigin)
	}
	return "", fmt.Errorf("%q: %w: there are %s", name, ErrUnknownOrigin, strings.Join(origins[:min(some, len(origins))], ", "))
}
