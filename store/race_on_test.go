//go:build race

package store_test

// raceDetector says that everything takes ten times as long.
const raceDetector = true
