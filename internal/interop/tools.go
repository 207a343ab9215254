package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/interop/fakeapi"
	"github.com/treeline-dev/treeline/internal/interop/projected"
	"github.com/treeline-dev/treeline/session"
)

// toolCalls are calls of all tools of "treeline mcp", each with a text that its result must have.
var toolCalls = []struct{ name, arguments, want string }{
	{"list_sessions", `{}`, "the lighthouse keeper"},
	{"search_sessions", `{"query":"lighthouse"}`, "lighthouse"},
	{"read_session", `{"session":"@last","from":"start"}`, "the lighthouse keeper"},
	{"get_context", `{"session":"@last"}`, "the lighthouse keeper"},
	{"recall_prompts", `{"words":"lighthouse"}`, "the lighthouse keeper"},
	{"list_runs", `{}`, `"runs":[]`},
	{"usage", `{"by":"agent"}`, `"by":"agent"`},
	{"read_session", `{"session":"nothing"}`, "no such session"},
}

// callsTools reports whether the agent can be asked to call tools.
func (a agent) callsTools() bool { return a.addTools != nil }

// compareTools makes the comparison "tools": each agent gets the server with the command of the README, and calls all of its tools.
func compareTools(ctx context.Context, opt options) error {
	if !opt.boxed && opt.agent == "" {
		if err := listInPi(ctx, opt); err != nil {
			return fmt.Errorf("pi: %w", err)
		}
	}
	return boxedAgents(ctx, opt, "tools", agent.callsTools, func(a agent, path string) error {
		d, err := newDesk(a, path, filepath.Join(opt.work, a.program.name+"-tools"))
		if err != nil {
			return err
		}
		defer d.close()
		binary, err := d.treeline(ctx, opt.work)
		if err != nil {
			return err
		}
		if err := d.tell(ctx); err != nil {
			return err
		}
		if _, err := d.run(ctx, d.workDir, nil, append(d.addTools[:len(d.addTools):len(d.addTools)], binary, "mcp")); err != nil {
			return err
		}
		said, err := d.run(ctx, d.workDir, nil, []string{"mcp", "list"})
		if err != nil || !strings.Contains(said, binary) {
			return fmt.Errorf("mcp list says %q: %w", said, errors.Join(err, errors.New("the server is not in it")))
		}
		return d.callTools(ctx)
	})
}

// listInPi has pi add the server, connect to it and list its tools. pi offers them to the model through scripts and a search, so that a stand-in
// cannot call them as easily. Its command line runs on bun, since it wants a newer node than most machines have.
func listInPi(ctx context.Context, opt options) error {
	p := pi15
	p.name, p.packages = "pi-cli-1.5.2", append(p.packages[:1:1], "bun@1.4.4")
	dir, err := p.folder(opt)
	if err != nil {
		return err
	}
	modules := filepath.Join(dir, "node_modules")
	bun, err := filepath.Glob(filepath.Join(modules, "@oven", "bun-"+runtime.GOOS+"-*", "bin", "bun"))
	if err != nil || len(bun) == 0 {
		return fmt.Errorf("npm has no bun for this machine, so nothing was compared with %s", p.name)
	}
	home := filepath.Join(opt.work, p.name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	d := desk{agent: agent{env: func(string) []string { return nil }}, api: &fakeapi.Server{}, home: home}
	binary, err := d.treeline(ctx, opt.work)
	if err != nil {
		return err
	}
	said := ""
	for _, words := range [][]string{{"add", "treeline", "--", binary, "mcp"}, {"list"}} {
		cmd := exec.CommandContext(ctx, bun[0], append([]string{filepath.Join(modules, "@earendil-works/pi-coding-agent/dist/bundle/cli.js"), "mcp"}, words...)...)
		cmd.Dir, cmd.Env = home, d.environ()
		out, err := cmd.CombinedOutput()
		if said = string(out); err != nil {
			return fmt.Errorf("mcp %s: %w\n%s", words[0], err, out)
		}
	}
	for _, c := range toolCalls {
		if !strings.Contains(said, c.name) {
			return fmt.Errorf("mcp list has no %s:\n%s", c.name, said)
		}
	}
	fmt.Printf("interop: %s lists the tools of treeline mcp\n", p.name)
	return nil
}

// tell writes a session that the tools find. It is not the agent's own, so that the agent does not change it.
func (d *desk) tell(ctx context.Context) error {
	s, err := d.store()
	if err != nil {
		return err
	}
	defer s.Close()
	pi, err := s.Dialect("pi")
	if err != nil {
		return err
	}
	sess, err := s.Create(ctx, treeline.CreateOptions{CWD: d.workDir, Dialect: pi, Dir: s.Home(pi, d.workDir)})
	if err != nil {
		return err
	}
	_, err = sess.AppendUser(ctx, "Ask the lighthouse keeper for the \"lamp\".\n")
	if err == nil {
		_, err = sess.AppendAssistant(ctx, []session.Part{session.Text{Text: "The lamp is lit."}}, treeline.Answer{Provider: "anthropic", Model: "model"})
	}
	return errors.Join(err, sess.Close())
}

// callTools has the stand-in call each tool, and looks at what the agent sends back.
func (d *desk) callTools(ctx context.Context) error {
	calls := slices.Clone(d.first)
	for _, c := range toolCalls {
		call := d.tool(c.name)
		call.Arguments = json.RawMessage(c.arguments)
		calls = append(calls, call)
	}
	d.api.Take()
	d.api.Use(calls...)
	said, err := d.run(ctx, d.workDir, nil, d.useTools(projected.NextPrompt))
	if err != nil {
		return err
	}
	var last []byte
	for _, r := range d.api.Take() {
		if r.API == d.agent.api && (last == nil || bytes.Contains(r.Body, []byte(fakeapi.CallID(0)))) {
			last = r.Body
		}
	}
	results, err := d.results(last)
	if err != nil {
		return err
	}
	for i, c := range toolCalls {
		result, ok := results[fakeapi.CallID(len(d.first)+i)]
		if !ok {
			return fmt.Errorf("%s was not called; the agent says %.500s", c.name, said)
		}
		if !strings.Contains(result, c.want) {
			return fmt.Errorf("the result of %s %s has no %q:\n%.2000s", c.name, c.arguments, c.want, result)
		}
	}
	fmt.Printf("interop: %s called the tools of treeline mcp %d times, and sends their results to the model\n", d.program.name, len(toolCalls))
	return nil
}

// messageResults returns the results of tools in a request to the Messages API, by the id of their call.
func messageResults(body []byte) (map[string]string, error) {
	var request struct {
		Messages []struct {
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	results := map[string]string{}
	for _, m := range request.Messages {
		var blocks []struct {
			Type    string
			ID      string `json:"tool_use_id"`
			Content json.RawMessage
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue // a text
		}
		for _, b := range blocks {
			if b.Type == "tool_result" {
				results[b.ID] = resultText(b.Content)
			}
		}
	}
	return results, nil
}

// responseResults returns the results of tools in a request to the Responses API.
func responseResults(body []byte) (map[string]string, error) {
	var request struct {
		Input []struct {
			Type   string
			ID     string `json:"call_id"`
			Output json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	results := map[string]string{}
	for _, item := range request.Input {
		if item.Type == "function_call_output" {
			results[item.ID] = resultText(item.Output)
		}
	}
	return results, nil
}

// resultText is the text of a result: a string, or a list of texts.
func resultText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	if json.Unmarshal(content, &parts) != nil {
		return string(content)
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}
