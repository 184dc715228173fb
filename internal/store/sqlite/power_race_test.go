//go:build race

package sqlite_test

// How many times the power is cut under the race detector, which makes everything ten times as slow; the
// tests run once more without it.
const (
	powerCuts       = 60
	powerCutsOfTwin = 30
	faultSteps      = 6 // that fail, of each kind
	faultReads      = 3 // that fail, of each kind
	fullDisks       = 5 // that fill up
	histories       = 5 // of what is remembered
	historySteps    = 120
	restarts        = 6 // after a kill
)
