//go:build race

package sim

// The race detector makes a seed ten times as long.
const (
	seedsDefault   = 200
	mutantSeeds    = 200
	stopAtTheFirst = true // that catches a mutant
)
