// Package browser drives a real browser (Debian's chromium) in tests: it opens pages, presses keys, waits for the effects, and collects
// violations: of the content policy, uncaught exceptions, and requests to other hosts.
package browser

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// patience bounds the wait for one thing on a page. It is long because a test may share the machine with others.
const patience = 30 * time.Second

// Browser is a browser process. Its tabs share nothing but the process.
type Browser struct{ ctx context.Context }

// shared is the browser of a test binary whose TestMain calls Main.
var shared struct {
	wanted bool
	once   sync.Once
	b      *Browser
	err    error
	end    func()
}

// Main is for the TestMain of a package with several tests of pages. It runs the tests and exits. Start gives them one
// browser, which ends after the last test.
func Main(m *testing.M) {
	shared.wanted = true
	code := soaktest.Main(m)
	if shared.end != nil {
		shared.end()
	}
	os.Exit(code)
}

// Start starts a browser, which ends with the test unless it is that of Main. If there is none, the test is skipped; with TREELINE_CI set
// it fails.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("TREELINE_CI") != "" {
			t.Fatal("chromium is not installed: the pages were not tested in a browser")
		}
		t.Skip("SKIPPED: chromium is not installed: the pages were not tested in a browser")
	}
	var b *Browser
	if shared.wanted {
		shared.once.Do(func() { shared.b, shared.end, shared.err = start(path) })
		b, err = shared.b, shared.err
	} else {
		var end func()
		if b, end, err = start(path); err == nil {
			t.Cleanup(end)
		}
	}
	if err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return b
}

// start starts the program at a path, with a folder of its own. end waits until the process has ended.
func start(path string) (b *Browser, end func(), err error) {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		return nil, nil, err
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(dir),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("force-color-profile", "srgb"),
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeAll := chromedp.NewContext(ctx)
	end = func() {
		_ = chromedp.Cancel(ctx) // waits until the process has ended and its folder is free
		closeAll()
		stop()
		_ = os.RemoveAll(dir) // best effort: it holds nothing that is needed
	}
	if err := chromedp.Do(ctx); err != nil {
		end()
		return nil, nil, err
	}
	return &Browser{ctx: ctx}, end, nil
}

// Look describes the window of a page.
type Look struct {
	// Width and Height are the size of the window; 0 means 1280 × 900.
	Width, Height int64
	Phone, Dark   bool
	// Print: the page as printed on paper.
	Print bool
	// NoScript turns JavaScript off.
	NoScript bool
}

// Tab is a page in a window of its own. A method that fails ends the test.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu     sync.Mutex
	faults []string
	host   string // the only one that may be contacted; "" before the first page
}

// Tab opens an empty page.
func (b *Browser) Tab(t testing.TB, look Look) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	tab := &Tab{t: t, ctx: ctx}
	if look.Width == 0 {
		look.Width, look.Height = 1280, 900
	}
	viewport := chromedp.EmulateViewport(look.Width, look.Height)
	if look.Phone {
		viewport = chromedp.EmulateViewport(look.Width, look.Height, chromedp.EmulateMobile, chromedp.EmulateScale(2))
	}
	tab.must("open a tab", chromedp.Do(ctx, viewport))
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	media := ""
	if look.Print {
		media = "print"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media:    media,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	tab.must("emulate "+scheme, err)
	if look.NoScript {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		tab.must("turn scripts off", err)
	}
	tab.listen()
	return tab
}

// listen collects faults until the tab is closed.
func (tab *Tab) listen() {
	console := chromedp.Console(tab.ctx)
	requests := chromedp.Events(tab.ctx, network.RequestWillBeSent)
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if m.IsException() || m.Type == "error" {
				tab.fault(m.String())
			}
		}
	}()
	go func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			u, err := url.Parse(e.Request.URL)
			tab.mu.Lock()
			host := tab.host
			tab.mu.Unlock()
			if err != nil || u.Host != host && u.Scheme != "data" && u.Scheme != "blob" {
				tab.fault("asked another host: " + e.Request.URL)
			}
		}
	}()
}

func (tab *Tab) fault(s string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.faults = append(tab.faults, s)
}

// Faults returns the violations of the content policy, the uncaught exceptions, the errors on the console, and the requests to other hosts
// so far.
func (tab *Tab) Faults() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.faults)
}

func (tab *Tab) must(what string, err error) {
	tab.t.Helper()
	if err != nil {
		if faults := tab.Faults(); len(faults) > 0 {
			what += fmt.Sprintf(" (%s)", strings.Join(faults, "; "))
		}
		tab.t.Fatalf("%s: %v", what, err)
	}
}

func (tab *Tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	tab.must(what, chromedp.Do(ctx, actions...))
}

// Open goes to an address and waits until the page is loaded. From then on the page may not contact another host.
func (tab *Tab) Open(address string) {
	tab.t.Helper()
	u, err := url.Parse(address)
	tab.must("open "+address, err)
	tab.mu.Lock()
	tab.host = u.Host
	tab.mu.Unlock()
	tab.do("open "+address, chromedp.Navigate(address))
}

// Reload loads the page again.
func (tab *Tab) Reload() { tab.t.Helper(); tab.do("reload", chromedp.Reload()) }

// Click clicks the first element that a CSS selector matches and that is visible.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.do("click "+selector, chromedp.Click(selector, chromedp.NodeVisible))
}

// Press presses the keys of a text, one after the other, in the element that has the focus; "\r" is Enter, "\x1b" Escape. A key whose event
// the page handles itself types nothing.
func (tab *Tab) Press(keys string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	for _, r := range keys {
		press := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: string(r), Text: string(r)}
		switch r {
		case '\r':
			press.Key, press.Code, press.WindowsVirtualKeyCode = "Enter", "Enter", '\r'
		case '\x1b':
			press.Key, press.Code, press.WindowsVirtualKeyCode, press.Text = "Escape", "Escape", '\x1b', ""
		}
		_, err := chromedp.Call(ctx, input.DispatchKeyEvent, press)
		tab.must("press "+press.Key, err)
		press.Type, press.Text = input.DispatchKeyEventTypeKeyUp, ""
		_, err = chromedp.Call(ctx, input.DispatchKeyEvent, press)
		tab.must("release "+press.Key, err)
	}
}

// Wait waits until a JavaScript expression is true, even if the page is left meanwhile.
func (tab *Tab) Wait(expression string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	for {
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && ok {
			return
		}
		select {
		case <-ctx.Done():
			tab.t.Logf("at %s: %s", tab.Address(), tab.Eval("document.body.innerText.slice(0, 2000)"))
			tab.must("wait for "+expression, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Eval returns the value of a JavaScript expression as a string.
func (tab *Tab) Eval(expression string) string {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	s, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String("+expression+")"))
	tab.must("evaluate "+expression, err)
	return s
}

// Address returns the address of the page, with its fragment.
func (tab *Tab) Address() string { tab.t.Helper(); return tab.Eval("location.href") }

// Text returns the visible text of the page.
func (tab *Tab) Text() string { tab.t.Helper(); return tab.Eval("document.body.innerText") }

// Screenshot writes a picture of the window, small enough for a repository.
func (tab *Tab) Screenshot(file string) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	tab.must("take a screenshot", err)
	picture, err = fewColours(picture)
	tab.must("reduce the screenshot", err)
	tab.must("write the screenshot", os.WriteFile(file, picture, 0o644))
}
