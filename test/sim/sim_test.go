package sim

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "the one seed to run, and to show the history of")
	shardFlag = flag.String("shard", "", "for the test's own use: which of how many processes this is, and where its results go")
)

func replay(seed uint64) string {
	return fmt.Sprintf("go test ./test/sim -run ^TestSimulation$ -v -seed=%d", seed)
}

// seedCount is how many seeds are run: SIMSEEDS, or what is set for this kind of run.
func seedCount(t *testing.T) uint64 {
	t.Helper()
	given := os.Getenv("SIMSEEDS")
	if given == "" {
		return seedsDefault
	}
	n, err := strconv.ParseUint(given, 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("SIMSEEDS=%s: want a number of seeds", given)
	}
	return n
}

// sometimes is what must have happened in some seed, or the simulation does not reach what it is for.
func sometimes() []string {
	return []string{
		"HOLD_EXPIRED on confirm", "batch of more than one", "batch of more than one sale", "client gone in mid-request",
		"clock step back with live holds", "crash with a command in flight", "delay past a batch's deadline",
		"duplicate confirm while the first is in flight", "duplicate delivery",
		"event cancelled", "event not on sale",
		"move refused for what is held or sold", "moved back to a map", "moved to another map", "repaint beside live holds", "seat that is on another map", "idempotent replay", "lapsed hold swept", "late delivery", "lost answer then found",
		"no_block", "order", "rejected claim", "restart with resync", "retried batch finds its own effect", "seats apart",
		"takeover of a lapsed hold", "ticket given back", "wrong token refused",
	}
}

func TestSimulation(t *testing.T) {
	if *seedFlag > 0 {
		r := simulate(t, newTemplate(t), *seedFlag, mutant{})
		for _, s := range r.history {
			t.Logf("%14v %6d  %s", s.at, s.actor, s.text)
		}
		r.report(t)
		return
	}
	seeds := seedCount(t)
	tally := make(map[string]int)
	for _, r := range overSeeds(t, seeds, func(house *template, seed uint64) *result { return simulate(t, house, seed, mutant{}) }) {
		r.report(t)
		for what, n := range r.Tally {
			tally[what] += n
		}
	}
	if *shardFlag != "" {
		return
	}
	for _, what := range sometimes() {
		t.Logf("%8d  %s", tally[what], what)
		if tally[what] == 0 && seeds >= seedsEnough {
			t.Errorf("in none of %d seeds: %s", seeds, what)
		}
	}
}

func TestTheSameSeedGivesTheSameHistory(t *testing.T) {
	for _, r := range overSeeds(t, seedCount(t)/20+1, func(house *template, seed uint64) *result {
		first, second := simulate(t, house, seed, mutant{}), simulate(t, house, seed, mutant{})
		differs := &result{Seed: seed}
		if first.digest() != second.digest() {
			differs.Breaches = append(differs.Breaches, "two runs differ: "+difference(first.history, second.history))
		}
		return differs
	}) {
		r.report(t)
	}
}

// difference shows where two histories part.
func difference(a, b []said) string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d is %v in one, and in the other %v", i, a[i], b[min(i, len(b)-1)])
		}
	}
	return "after the end of one"
}

func TestEveryMutantDiesInTheSimulation(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			caught, first := 0, ""
			results := overSeeds(t, mutantSeeds, func(house *template, seed uint64) *result {
				r := simulate(t, house, seed, m)
				r.enough = stopAtTheFirst && len(r.Breaches) > 0
				return r
			})
			for _, r := range results {
				if len(r.Breaches) > 0 {
					if caught++; caught == 1 {
						first = r.Breaches[0]
					}
				}
			}
			if *shardFlag != "" {
				return
			}
			t.Logf("caught in %d of %d seeds, the first time by %s", caught, len(results), first)
			if caught == 0 {
				t.Errorf("no seed of %d catches it", len(results))
			}
		})
	}
}

func (r *result) report(t *testing.T) {
	t.Helper()
	if len(r.Breaches) == 0 || *shardFlag != "" {
		return
	}
	for _, b := range r.Breaches {
		t.Errorf("seed %d: %s", r.Seed, b)
	}
	t.Errorf("again, with its history: %s", replay(r.Seed))
}

const (
	shardsMax   = 16
	shardSeeds  = 10  // fewer are not worth a process
	seedsEnough = 200 // for everything to have happened
)

// overSeeds runs seeds 1 to n, each alone in its process, since randomness is a process's: the test
// runs itself again, once a core, and collects what they found.
func overSeeds(t *testing.T, n uint64, run func(*template, uint64) *result) []*result {
	t.Helper()
	shards := min(uint64(runtime.GOMAXPROCS(0)), shardsMax, max(1, n/shardSeeds))
	if *shardFlag == "" && shards > 1 {
		return spread(t, shards)
	}
	mine, of, into := shardOf(t)
	house := newTemplate(t)
	var results []*result
	for seed := mine + 1; seed <= n; seed += of {
		r := run(house, seed)
		results = append(results, r)
		if r.enough {
			break
		}
	}
	if into != "" {
		data, err := json.Marshal(results)
		if err == nil {
			err = os.WriteFile(into, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return results
}

// shardOf reads the flag: which process this is, of how many, and the file for its results.
func shardOf(t *testing.T) (mine, of uint64, into string) {
	t.Helper()
	if *shardFlag == "" {
		return 0, 1, ""
	}
	parts := strings.SplitN(*shardFlag, "/", 3)
	if _, err := fmt.Sscanf(strings.Join(parts[:2], "/"), "%d/%d", &mine, &of); err != nil || len(parts) != 3 {
		t.Fatalf("-shard=%s: %v", *shardFlag, err)
	}
	return mine, of, parts[2]
}

// spread runs this test in processes of its own.
func spread(t *testing.T, shards uint64) []*result {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	limit := time.Hour
	if deadline, ok := t.Deadline(); ok {
		limit = time.Until(deadline)
	}
	dir := t.TempDir()
	outputs, errs := make([][]byte, shards), make([]error, shards)
	var wg sync.WaitGroup
	for i := range shards {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), self,
				"-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", fmt.Sprintf("-test.timeout=%v", limit),
				fmt.Sprintf("-shard=%d/%d/%s", i, shards, filepath.Join(dir, fmt.Sprint(i))))
			outputs[i], errs[i] = cmd.CombinedOutput()
		})
	}
	wg.Wait()
	var all []*result
	for i := range shards {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)))
		if errors.Is(err, fs.ErrNotExist) || errs[i] != nil {
			t.Fatalf("a process of this test: %v\n%s", errs[i], outputs[i])
		}
		var found []*result
		if err == nil {
			err = json.Unmarshal(data, &found)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}
