package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// A box is a network namespace with nothing but the loopback interface: what runs in it cannot reach another host. It takes
// util-linux and iproute2 of Linux, and the right to make namespaces.

// raise brings the loopback interface up and runs the rest of the command.
const raise = `ip link set lo up && exec "$@"`

// boxes are the ways into a namespace: as root, and as a user who is mapped to root.
var boxes = [][]string{{"unshare", "--net"}, {"unshare", "--map-root-user", "--net"}}

// findBox gives the words that start a command in a network namespace. The error says why that is not possible here.
func findBox(ctx context.Context) (words []string, err error) {
	for _, b := range boxes {
		words = append(b[:len(b):len(b)], "sh", "-c", raise, "sh")
		cmd := exec.CommandContext(ctx, words[0], append(words[1:len(words):len(words)], "true")...)
		out, failed := cmd.CombinedOutput()
		if failed == nil {
			return words, nil
		}
		err = fmt.Errorf("%w %s", failed, strings.TrimSpace(string(out)))
	}
	return nil, err
}

// inBox runs this program again in a box, for the comparison "resume" alone.
func inBox(ctx context.Context, words []string, installed string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append(words[1:len(words):len(words)], self, "-boxed", "-installed", installed, "-only", "resume")
	cmd := exec.CommandContext(ctx, words[0], append(args, os.Args[1:]...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("in a network namespace: %w", err)
	}
	return nil
}
