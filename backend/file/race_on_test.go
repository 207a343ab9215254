//go:build race

package file_test

// raceDetector: processes start slowly with it, and killing them is not about races.
const raceDetector = true
