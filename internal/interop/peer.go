package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// peer is a process with the code of a real agent: one JSON command per line, one JSON answer per line. It runs peer.mjs,
// peer_pi.mjs or peer_omp.mts.
type peer struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	asked int
}

// start runs the program with a home of its own, without variables that name our terminal or our folders.
func (p program) start(opt options, home string) (*peer, error) {
	cmd, err := p.install(opt)
	if err != nil {
		return nil, err
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "HOME", "TMUX_PANE", "ZELLIJ_PANE_ID", "CMUX_SURFACE_ID", "KITTY_WINDOW_ID", "WEZTERM_PANE", "TERM_SESSION_ID", "WT_SESSION":
		case "PI_CODING_AGENT_DIR", "PI_CONFIG_DIR", "PI_CODING_AGENT_SESSION_DIR":
		default:
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "PI_OFFLINE=1")
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
		return nil, fmt.Errorf("%s cannot be run, so nothing was compared: %w", p.name, err)
	}
	return &peer{name: p.name, cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// stop closes the agent's input, which ends its script.
func (p *peer) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait() // all its answers have been read
}

// ask sends a command to the agent and decodes the answer.
func (p *peer) ask(command, answer any) error {
	if err := p.send(command); err != nil {
		return err
	}
	return p.receive(answer)
}

// send sends a command without waiting for the answer.
func (p *peer) send(command any) error {
	p.asked++
	if err := json.NewEncoder(p.in).Encode(command); err != nil {
		return fmt.Errorf("%s is gone: %w", p.name, err)
	}
	return nil
}

// receive waits for the answer to send. An answer may be an error of the agent.
func (p *peer) receive(answer any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s is gone: %w", p.name, err)
	}
	var a struct {
		Error  string
		Answer json.RawMessage
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return err
	}
	if a.Error != "" {
		return errors.New(p.name + ": " + a.Error)
	}
	return json.Unmarshal(a.Answer, answer)
}
