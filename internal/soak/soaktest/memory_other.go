//go:build !linux

package soaktest

// MemoryFolder returns "": the system has no folder in memory.
func MemoryFolder() string { return "" }
