package race

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

// pretending answers changes of one kind as made, and makes none.
type pretending struct {
	*sqlite.Store

	kind inventory.LogKind
}

func (p pretending) Alter(ctx context.Context, event string, a inventory.Alteration) (inventory.AlterResult, error) {
	if a.Kind == p.kind {
		return inventory.AlterResult{}, nil
	}
	return p.Store.Alter(ctx, event, a)
}

func TestAChangeThatWasNotMadeHasNoFigures(t *testing.T) {
	for _, kind := range []inventory.LogKind{inventory.LogRepainted, inventory.LogRemapped} {
		config := quick
		config.Scenarios = []string{"repaint"}
		report, err := Bench(t.Context(), stageOf(t, func(s *sqlite.Store) inventory.Store { return pretending{s, kind} }), config, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := "promise 9: the log has"
		if kind == inventory.LogRepainted { // back in the first channel nothing is left to be repainted
			want = "seats were repainted of 1000"
		}
		mustHaveNoFigures(t, report, want)
	}
}

// A refusal is no change, and of buyers who waited for none nothing is measured.
func TestAChangeThatIsRefusedHasNoFigures(t *testing.T) {
	b := &bench{stage: stageOf(t, nil), config: quick}
	arm, err := b.openArm(t.Context(), Rowlock)
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.openField(t.Context(), arm.Target, rowsMin)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(ctx context.Context, f *field) (int64, error) {
		_, err := f.a.organizer().PatchMap(ctx, f.event, client.MapPatch{Map: "map_of_nobody"})
		return 1, err
	}
	figures, breaches, err := runBeside(t.Context(), quick, arm, f, refused)
	if err != nil || figures != nil || len(breaches) != 1 || !strings.Contains(breaches[0], "a change: ") {
		t.Errorf("%v, %v, %v", figures, breaches, err)
	}
	if err := b.close(); err != nil {
		t.Error(err)
	}
}

// The buyers' seats are on both maps, and nothing else of the halls is.
func TestTheOtherHallHasTheBuyersSeatsAndNewOnes(t *testing.T) {
	was, is := BenchHall(rowsMin), BenchHall(rowsMin)
	renew(is)
	for r, row := range is.Sections[0].Rows {
		for s, seat := range row.Seats {
			if same := seat.Key == was.Sections[0].Rows[r].Seats[s].Key; same != (r < buyersRows) {
				t.Fatalf("row %d, seat %s: the same is %v", r, seat.Key, same)
			}
		}
	}
}

func TestChangesAreSpreadOverARunAndTheLongestIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, organizer, n := new(field), new(tally), 0
		began := time.Now()
		longest := f.doing(t.Context(), 40*time.Millisecond, func(context.Context, *field) (int64, error) {
			n++
			time.Sleep(time.Duration(n) * time.Millisecond)
			return 1, nil
		}, organizer)
		if took := time.Since(began); organizer.counts[opChange] != deedsARun || longest != 2*time.Millisecond || took != 32*time.Millisecond {
			t.Errorf("%d deeds of which the longest took %s, in %s", organizer.counts[opChange], longest, took)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if f.doing(ctx, time.Minute, nil, organizer) != 0 {
			t.Error("a run that was stopped has deeds")
		}
	})
}

func TestWhatIsAddedToTheQuietArmIsADifference(t *testing.T) {
	got := judgeTargets([]target{added(Longest, "busy", 5), added(Longest, "busy", 20)}, []ArmFigures{
		{Name: quietArm, Runs: []Figures{{Longest: 10}, {Longest: 1}, {Longest: 4}}},
		{Name: "busy", Runs: []Figures{{Longest: 12}, {Longest: 31}, {Longest: 10.5}}},
	})
	if len(got) != 2 || got[0].Got != 6.5 || got[0].Lowest != 2 || got[0].Highest != 30 || got[0].Met || !got[1].Met || !got[1].Added {
		t.Fatalf("%+v", got)
	}
	if s := got[1].String(); s != "max ms, busy more than quiet: 6.50 (2.00 to 30.0), wanted at most 20.0: met" {
		t.Error(s)
	}
}
