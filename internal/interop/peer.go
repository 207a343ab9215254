package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// peer is the real agent's session manager in a process of its own.
type peer struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	asked int
}

// view is what somebody sees of a session.
type view struct {
	Leaf    *string
	Entries []any
	Context struct {
		Messages      []any
		ThinkingLevel any
		Model         any
	}
	Name   string
	Labels map[string]string
	Error  string
}

// step is something that the agent is asked to do.
type step struct {
	Do      string          `json:"do"`
	Target  int             `json:"target"`
	Text    string          `json:"text"`
	More    string          `json:"more"`
	Message json.RawMessage `json:"message,omitempty"`
}

func startPeer(installed, work string) (*peer, error) {
	// The script stands beside node_modules, where the package is looked for.
	script := filepath.Join(installed, "treeline-peer.mjs")
	if err := os.WriteFile(script, peerScript, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("node", script)
	cmd.Dir = installed
	cmd.Env = append(os.Environ(), "HOME="+work, "PI_CODING_AGENT_DIR="+filepath.Join(work, "agent"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the real agent cannot be run, so nothing was compared: %w", err)
	}
	return &peer{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}, nil
}

func (p *peer) stop() {
	p.in.Close()
	_ = p.cmd.Wait()
}

// ask has the agent open a session, do the steps, and tell what it sees.
func (p *peer) ask(path string, steps []step) (view, error) {
	p.asked++
	command := struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Steps []step `json:"steps"`
	}{"read", path, steps}
	if steps != nil {
		command.Op = "write"
	}
	line, err := json.Marshal(command)
	if err != nil {
		return view{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return view{}, fmt.Errorf("the agent is gone: %w", err)
	}
	answer, err := p.out.ReadBytes('\n')
	if err != nil {
		return view{}, fmt.Errorf("the agent is gone: %w", err)
	}
	var v view
	if err := json.Unmarshal(answer, &v); err != nil {
		return view{}, err
	}
	if v.Error != "" {
		return view{}, errors.New("the agent failed: " + v.Error)
	}
	return v, nil
}
