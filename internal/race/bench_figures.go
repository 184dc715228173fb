package race

import (
	"fmt"
	"slices"
	"time"
)

// The figures of a run, by the names they have in JSON. Percentiles are of the answers that the
// scenario is about: holds, rejections, orders or boards. Rejections stand apart from what was sold,
// for a server that says no quickly has sold nothing.
const (
	HoldsRate      = "holds_per_second"
	OrdersRate     = "orders_per_second"
	RejectionsRate = "rejections_per_second"
	P50            = "p50_ms"
	P95            = "p95_ms"
	P99            = "p99_ms"
	Longest        = "max_ms"
	ServerCPU      = "server_cpu_us"  // of processor an answer, in the server's process
	CallersCPU     = "callers_cpu_us" // the same in the callers' process
	Seconds        = "seconds"
	Bytes          = "bytes"
	HeapWith       = "heap_with_bytes" // alive in the server's memory with the event
	HeapWithout    = "heap_without_bytes"
)

// Figures are what a run measured; what it did not measure is not there.
type Figures map[string]float64

// figures turns a tally into figures.
func (t *tally) figures(kind int, took time.Duration) Figures {
	f := make(Figures)
	for name, op := range map[string]int{HoldsRate: opHold, OrdersRate: opOrder, RejectionsRate: opRejection} {
		if t.counts[op] > 0 {
			f[name] = float64(t.counts[op]) / took.Seconds()
		}
	}
	if t.counts[kind] > 0 {
		f[P50], f[P95], f[P99], f[Longest] = t.percentiles(kind)
	}
	return f
}

// short is what progress tells of a run.
func (f Figures) short() string {
	for _, c := range []struct{ name, unit string }{
		{OrdersRate, "orders/s"}, {HoldsRate, "holds/s"}, {RejectionsRate, "rejections/s"}, {Seconds, "s"}, {Bytes, "bytes"}, {P50, "ms"},
	} {
		if v, ok := f[c.name]; ok {
			return fmt.Sprintf("%s %s", number(v), c.unit)
		}
	}
	return "nothing"
}

// median is each figure's median over runs. Of an even number it is the mean of the two in the middle.
func median(runs []Figures) Figures {
	all := make(map[string][]float64)
	for _, run := range runs {
		for name, v := range run {
			all[name] = append(all[name], v)
		}
	}
	m := make(Figures)
	for name, values := range all {
		if len(values) == len(runs) { // what some runs did not have has no median of all
			m[name] = middle(values)
		}
	}
	return m
}

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// judgeTargets compares figures with targets: the median of the ratios within a repeat, since what
// runs one after the other has the same machine, or of the differences, or the median of a figure itself. A target whose arm
// or whose other arm was not there is left out.
func judgeTargets(targets []target, arms []ArmFigures) []TargetResult {
	find := func(name string) []Figures {
		for _, a := range arms {
			if a.Name == name {
				return a.Runs
			}
		}
		return nil
	}
	var results []TargetResult
	for _, t := range targets {
		added := t.against == quietArm
		runs, others := find(t.arm), find(t.against)
		var values []float64
		for i, run := range runs {
			v, ok := run[t.figure]
			if t.against != "" && ok {
				var other float64
				if i < len(others) {
					other = others[i][t.figure]
				}
				if v, ok = v/other, other > 0; added && ok {
					v = run[t.figure] - other
				}
			}
			if ok {
				values = append(values, v)
			}
		}
		if len(values) == 0 || len(values) != len(runs) {
			continue
		}
		r := TargetResult{
			Figure: t.figure, Arm: t.arm, Against: t.against, Least: t.least, Most: t.most, Added: added,
			Got: middle(values), Lowest: slices.Min(values), Highest: slices.Max(values),
		}
		r.Met = (t.least == 0 || r.Got >= t.least) && (t.most == 0 || r.Got <= t.most)
		results = append(results, r)
	}
	return results
}
