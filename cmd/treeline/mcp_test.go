package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/treeline-dev/treeline/internal/world"
)

// TestMCPProcess: a client of the SDK starts the program, calls a tool and reads a resource, and the program ends with the client.
func TestMCPProcess(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".omp", "agent", "sessions", "--desk--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log := world.Log("a1", "/desk", world.Said("00000001", "", "light the lamp"))
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("treeline", "mcp") // the test binary under another name
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"))
	cmd.Dir = home
	var stderr strings.Builder
	cmd.Stderr = &stderr
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if at := c.InitializeResult(); at.ServerInfo.Name != "treeline" || !strings.Contains(at.Instructions, "search_sessions") {
		t.Errorf(`%+v; want at.ServerInfo.Name == "treeline", strings.Contains(at.Instructions, "search_sessions")`, at)
	}
	found, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "search_sessions", Arguments: struct {
		Query string `json:"query"`
	}{"lamp"}})
	if err != nil || found.IsError || !strings.Contains(found.Content[0].(*sdk.TextContent).Text, `"ref":"a1#00000001"`) {
		t.Errorf("search_sessions: %+v %v", found, err)
	}
	read, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "treeline://session/a1/context"})
	if err != nil || !strings.Contains(read.Contents[0].Text, "light the lamp") {
		t.Errorf("resource: %+v %v", read, err)
	}
	if err := c.Close(); err != nil || stderr.String() != "" {
		t.Errorf("the end: %v %s", err, &stderr)
	}
	if cmd.ProcessState == nil || !cmd.ProcessState.Success() {
		t.Errorf("the program ended with %v", cmd.ProcessState)
	}
}
