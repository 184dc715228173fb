package race

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
)

// The targets of the benches: ratios within one run, and sizes and times that a viewer waits for.
const (
	combinedLeast     = 10    // × a transaction a request, inside the process
	bareHoldsLeast    = 0.6   // of a bare handler's cycles
	bareRejectsLeast  = 0.75  // of a bare handler's rejections
	largeHouseLeast   = 0.65  // of a small house's holds
	aloneMost         = 1.3   // × the median of a statement a request
	publishSecondsMax = 2.0   // 60,000 allocations
	boardMSMax        = 1.0   // 60,000 seats
	boardBytesMax     = 16000 // the same on the wire, head included
	addedMSMax        = 100.0 // that a buyer waits for an organizer
)

// scenarios lists the benches. Arms stand in the order in which they take turns.
func scenarios() []scenario {
	own, each, bare := string(Rowlock), string(OneEach), string(Bare)
	alone := seatsLoad
	alone.callers = 1
	return []scenario{
		{
			"inside-area", "inside the process, every caller claims one unit of one area and lets it go",
			[]target{{HoldsRate, own, each, combinedLeast, 0}},
			areaLoad.inside,
		},
		{
			"inside-seats", "inside the process, every caller claims seats of its own, spread over the house, one at a time",
			[]target{{HoldsRate, own, each, 0, 0}},
			seatsLoad.inside,
		},
		{
			"inside-rejections", "inside the process, every caller claims one seat that is held",
			[]target{{RejectionsRate, own, each, 0, 0}},
			rejectionsLoad.inside,
		},
		{
			"http-area", "over HTTP, every caller claims one unit of one area and lets it go",
			[]target{{HoldsRate, own, bare, bareHoldsLeast, 0}, {HoldsRate, own, each, 0, 0}},
			areaLoad.against(Bare, OneEach),
		},
		{
			"http-seats", "over HTTP, every caller claims seats of its own, spread over the house, one at a time",
			[]target{{HoldsRate, own, bare, bareHoldsLeast, 0}, {HoldsRate, own, each, 0, 0}},
			seatsLoad.against(Bare, OneEach),
		},
		{
			"http-rejections", "over HTTP, every caller claims one seat that is held",
			[]target{{RejectionsRate, own, bare, bareRejectsLeast, 0}, {RejectionsRate, own, each, 0, 0}},
			rejectionsLoad.against(Bare, OneEach),
		},
		{
			"http-orders", "over HTTP, every caller claims a unit of one area and buys it",
			[]target{{OrdersRate, own, each, 0, 0}},
			purchaseLoad.against(OneEach),
		},
		{
			"alone", "over HTTP, one caller alone claims seats and lets them go",
			[]target{{P50, own, string(StatementEach), 0, aloneMost}},
			alone.against(StatementEach),
		},
		{
			"size", "inside the process, the same callers in a house of 60,000 seats and in one of 600",
			[]target{{HoldsRate, largeArm, smallArm, largeHouseLeast, 0}},
			bySize,
		},
		{
			"publish", "an event of 60,000 seats is published, over HTTP",
			[]target{{Seconds, own, "", 0, publishSecondsMax}},
			openPublishing,
		},
		{
			"board", "the board of 60,000 seats is read after every change, by one viewer",
			[]target{{P50, boardInside, "", 0, boardMSMax}, {P50, boardHTTP, "", 0, boardMSMax}, {Bytes, boardHTTP, "", 0, boardBytesMax}},
			openBoards,
		},
		changesScenario(),
		{
			"memory", "what one more event of 60,000 seats weighs that is on sale, has been looked at, and is left alone",
			nil, openMemory,
		},
	}
}

// profileHere writes a CPU profile of this process.
func profileHere(_ context.Context, file string) (stop func() error, err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("profile: %w", err)
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
