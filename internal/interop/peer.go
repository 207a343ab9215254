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

// peer is a real agent's code in a process of its own: one JSON command per line, one JSON answer per line.
// The scripts beside this file (peer*.mjs, peer_omp.mts) are the other end.
type peer struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	asked int
}

// start runs the program with a home of its own, and without what would tell it of our terminal.
// Variables that name panes would make the agent look for the last session of our terminal, and others lead it to
// folders of who runs this.
func (p program) start(opt options, home string, env ...string) (*peer, error) {
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
	cmd.Env = append(append(cmd.Env, "HOME="+home, "PI_OFFLINE=1"), env...)
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
	// a megabyte: rows of long prompts come on one line
	return &peer{name: p.name, cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}, nil
}

// stop closes the agent's input, which is how its script is told to end.
func (p *peer) stop() {
	p.in.Close()
	_ = p.cmd.Wait() // it has answered everything that was asked
}

// ask has the agent do something. What it answers is decoded into answer.
func (p *peer) ask(command, answer any) error {
	if err := p.send(command); err != nil {
		return err
	}
	return p.receive(answer)
}

// send and receive are apart for questions that are to be answered while we do something.
func (p *peer) send(command any) error {
	p.asked++
	line, err := json.Marshal(command)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%s is gone: %w", p.name, err)
	}
	return nil
}

// An error of the agent is an answer, too: it is given with its name.
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
