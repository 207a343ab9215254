module github.com/treeline-dev/treeline

go 1.26
