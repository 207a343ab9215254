package main

import (
	"fmt"
	"strings"
)

// formula returns the recipe of Homebrew: it downloads the archive for the machine and installs its files.
func (b *builder) formula(sums map[target]string) file {
	var f strings.Builder
	fmt.Fprintf(&f, `class Treeline < Formula
  desc "Session store for coding agents"
  homepage "https://github.com/treeline-dev/treeline"
  version "%s"
  license "Apache-2.0"
`, b.version)
	for _, system := range []struct{ os, brew string }{{"darwin", "macos"}, {"linux", "linux"}} {
		fmt.Fprintf(&f, "\n  on_%s do\n", system.brew)
		for _, cpu := range []struct{ arch, brew string }{{"arm64", "arm"}, {"amd64", "intel"}} {
			fmt.Fprintf(&f, "    on_%s do\n      url \"https://github.com/treeline-dev/treeline/releases/download/v%s/treeline-%s-%s-%s.tar.gz\"\n      sha256 \"%s\"\n    end\n",
				cpu.brew, b.version, b.version, system.os, cpu.arch, sums[target{system.os, cpu.arch}])
		}
		f.WriteString("  end\n")
	}
	f.WriteString(`
  def install
    bin.install "treeline"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/treeline.bash" => "treeline"
    zsh_completion.install "completions/_treeline"
    fish_completion.install "completions/treeline.fish"
    (share/"pwsh/completions").install "completions/treeline.ps1"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/treeline version")
  end
end
`)
	return file{"treeline.rb", 0o644, []byte(f.String())}
}
