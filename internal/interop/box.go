package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A box is a network namespace with nothing but the loopback interface: what runs in it cannot reach another host. It takes
// util-linux and iproute2 of Linux, and the right to make namespaces.

// raise brings the loopback interface up and runs the rest of the command.
const raise = `ip link set lo up && exec "$@"`

// boxes are the ways into a namespace: as root, and as a user who is mapped to root.
var boxes = [][]string{{"unshare", "--net"}, {"unshare", "--map-root-user", "--net"}}

// findBox returns the words that start a command in a network namespace. The error says why that is not possible here.
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

// boxedAgents installs the agents that can be compared and calls compare with each and the path of its binary, in a box if there can be one. The packages are
// installed before the network is left.
func boxedAgents(ctx context.Context, opt options, only string, can func(agent) bool, compare func(a agent, path string) error) error {
	paths, missing := make([]string, len(agents)), []error(nil)
	for i, a := range agents {
		if !strings.HasPrefix(a.program.name, opt.agent) || !can(a) {
			continue
		}
		path, err := a.find(opt)
		if err != nil {
			fmt.Printf("interop: %s was not run: %v\n", a.program.name, err)
			missing = append(missing, err)
		}
		paths[i] = path
	}
	if !opt.boxed {
		words, err := findBox(ctx)
		if err == nil {
			installed := opt.installed
			if installed == "" {
				installed = filepath.Join(opt.work, "npm")
			}
			return errors.Join(append(missing, inBox(ctx, words, installed, only))...)
		}
		fmt.Printf("interop: no network namespace can be made here, so the agents are not kept from other hosts: %v\n", err)
	}
	for i, a := range agents {
		if paths[i] == "" {
			continue
		}
		if err := compare(a, paths[i]); err != nil {
			missing = append(missing, fmt.Errorf("%s: %w", a.program.name, err))
		}
	}
	return errors.Join(missing...)
}

// inBox runs this program again in a box, for one comparison alone.
func inBox(ctx context.Context, words []string, installed, only string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append(words[1:len(words):len(words)], self, "-boxed", "-installed", installed, "-only", only)
	cmd := exec.CommandContext(ctx, words[0], append(args, os.Args[1:]...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("in a network namespace: %w", err)
	}
	return nil
}
