//go:build !race

package sim

const (
	seedsDefault   = 2000
	mutantSeeds    = 100
	stopAtTheFirst = false
)
