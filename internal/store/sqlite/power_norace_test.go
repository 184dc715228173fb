//go:build !race

package sqlite_test

// How many times the power is cut.
const (
	powerCuts       = 300
	powerCutsOfTwin = 300
	faultSteps      = 40 // that fail, of each kind
	faultReads      = 40 // that fail, of each kind
	fullDisks       = 30 // that fill up
	histories       = 40 // of what is remembered
	historySteps    = 120
	restarts        = 40 // after a kill
)
