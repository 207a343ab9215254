//go:build !linux

package soaktest

// MemoryFolder is "": there is no folder in memory.
func MemoryFolder() string { return "" }
