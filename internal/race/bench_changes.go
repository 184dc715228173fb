package race

import (
	"context"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// The changes that buyers wait for. They buy seats of the first rows, which no change is about.
const (
	buyersRate       = 200.0 // cycles a second of all buyers together
	buyersMax        = 32
	buyersRows       = 2
	repaintedRowsMax = 100
	deedsARun        = 2 // spread over it
	benchChannel     = "bench"
)

// The arms of the changes.
const (
	quietArm   = "quiet"
	repaintArm = "repaint"
	uploadArm  = "upload"
	mapArm     = "map"
	publishArm = "publish-other"
)

// deed is something an organizer does beside the buyers of a field. It reports how many entries the log
// of their event has of it.
type deed func(ctx context.Context, f *field) (entries int64, err error)

// changesScenario is about what buyers wait for an organizer.
func changesScenario() scenario {
	targets := make([]target, 0, 8)
	for _, figure := range []struct {
		name string
		most float64
	}{{Longest, addedMSMax}, {P99, 0}} {
		for _, arm := range []string{repaintArm, uploadArm, mapArm, publishArm} {
			targets = append(targets, added(figure.name, arm, figure.most))
		}
	}
	return scenario{
		"repaint", "buyers claim other seats, 200 a second, while nothing is changed, while 10,000 seats are repainted, a map of 60,000 is uploaded, " +
			"their event moves to it, and another event of 60,000 is published; s is the longest change",
		targets, openChanges,
	}
}

// added is what an arm's figure may be more than while nothing is changed.
func added(figure, arm string, most float64) target {
	return target{figure: figure, arm: arm, against: quietArm, most: most}
}

// openChanges lets buyers come at a steady pace while an organizer does nothing, or changes what is on
// sale. What they wait is measured from when they are due, so a change that holds everybody up is felt by
// all who would have come meanwhile.
func openChanges(ctx context.Context, b *bench) ([]contender, error) {
	arm, err := b.openArm(ctx, Rowlock)
	if err != nil {
		return nil, err
	}
	f, err := b.openField(ctx, arm.Target, b.config.Rows)
	if err != nil {
		return nil, err
	}
	drawings := make([][]byte, 2) // the hall's, and one on which all but the buyers' rows is new
	maps := []string{f.a.mapID, ""}
	other := BenchHall(b.config.Rows)
	renew(other)
	for i, m := range []*seatmap.Map{BenchHall(b.config.Rows), other} {
		if drawings[i], err = m.Encode(); err != nil {
			return nil, fmt.Errorf("a map: %w", err)
		}
	}
	made, err := f.a.organizer().CreateMap(ctx, f.a.venue, drawings[1])
	if err != nil {
		return nil, fmt.Errorf("a map: %w", err)
	}
	maps[1] = made.ID
	contend := func(name string, d deed, fresh bool) contender {
		return contender{
			name: name, profile: arm.Profile,
			run: func(ctx context.Context) (Figures, []string, error) {
				on := f
				if fresh { // an event moves only so often in its life
					var err error
					if on, err = f.another(ctx); err != nil {
						return nil, nil, err
					}
				}
				return runBeside(ctx, b.config, arm, on, d)
			},
			audit: arm.auditor(),
		}
	}
	return []contender{
		contend(quietArm, nil, false),
		contend(repaintArm, repainting(b.config.Rows), false),
		contend(uploadArm, uploading(drawings[1]), false),
		contend(mapArm, moving(maps), true),
		contend(publishArm, publishing, false),
	}, nil
}

// auditor audits what an arm's runs left behind; nil when nobody can.
func (a *Arm) auditor() func(context.Context) Audit {
	if a.Audit == nil {
		return nil
	}
	return func(ctx context.Context) Audit { return audit(ctx, a.Target) }
}

// renew gives every seat behind the buyers' rows another key.
func renew(m *seatmap.Map) {
	row := 0
	for i := range m.Sections {
		for j := range m.Sections[i].Rows {
			if row++; row <= buyersRows {
				continue
			}
			for k := range m.Sections[i].Rows[j].Seats {
				m.Sections[i].Rows[j].Seats[k].Key += "-NEW"
			}
		}
	}
}

// another is a field with an event of its own on the same map.
func (f *field) another(ctx context.Context) (*field, error) {
	o, err := f.a.open(ctx, f.a.benchEvent())
	if err != nil {
		return nil, err
	}
	next := &field{a: f.a, event: o.event, capacity: f.capacity}
	next.known, err = f.a.organizer().Report(ctx, next.event)
	return next, err
}

// repainting moves 10,000 seats to another channel and back.
func repainting(rows int) deed {
	var where client.AllocationWhere
	i := 0
	for _, section := range BenchHall(rows).Sections {
		for _, row := range section.Rows {
			if i++; i > buyersRows && len(where.Rows) < repaintedRowsMax {
				where.Rows = append(where.Rows, row.Key)
			}
		}
	}
	channels := []string{benchChannel, "public"}
	next := 0
	return func(ctx context.Context, f *field) (int64, error) {
		channel := channels[next%len(channels)]
		next++
		result, err := f.a.organizer().PatchAllocations(ctx, f.event, client.AllocationRule{Where: where, Set: client.AllocationSet{Channel: &channel}})
		if err == nil && result.Changed != len(where.Rows)*hallPerRow {
			err = fmt.Errorf("%d seats were repainted of %d", result.Changed, len(where.Rows)*hallPerRow)
		}
		return 1, err
	}
}

// uploading adds a version to the venue's maps, which no event is on yet.
func uploading(drawing []byte) deed {
	return func(ctx context.Context, f *field) (int64, error) {
		_, err := f.a.organizer().CreateMap(ctx, f.a.venue, drawing)
		return 0, err
	}
}

// moving moves the buyers' event to the other map.
func moving(maps []string) deed {
	return func(ctx context.Context, f *field) (int64, error) {
		f.moves++
		_, err := f.a.organizer().PatchMap(ctx, f.event, client.MapPatch{Map: maps[f.moves%len(maps)]})
		return 1, err
	}
}

// publishing makes another event of the hall and publishes it.
func publishing(ctx context.Context, f *field) (int64, error) {
	draft, err := f.a.organizer().CreateEvent(ctx, f.a.benchEvent())
	if err == nil {
		_, err = f.a.organizer().PublishEvent(ctx, draft.ID)
	}
	return 0, err
}

// runBeside lets buyers come while an organizer makes changes.
func runBeside(ctx context.Context, c BenchConfig, arm *Arm, f *field, d deed) (Figures, []string, error) {
	c.Connections, c.Rate = min(c.Connections, buyersMax), or(c.Rate, buyersRate)
	l := load{kind: opHold, claims: firstRows, cycle: func(c *caller) cycle { return c.claimAndRelease }}
	var longest time.Duration
	if d != nil {
		l.beside = func(ctx context.Context, t *tally) {
			longest = f.doing(ctx, c.Duration, d, t)
		}
	}
	figures, breaches, err := l.run(ctx, c, arm, f, true)
	if err == nil && len(breaches) == 0 && longest > 0 {
		figures[Seconds] = longest.Seconds()
	}
	return figures, breaches, err
}

// doing does a run's deeds, each when it is due or when the one before it is done, and returns how
// long the longest took.
func (f *field) doing(ctx context.Context, length time.Duration, d deed, t *tally) (longest time.Duration) {
	began := time.Now()
	for i := range deedsARun {
		if until(ctx, began.Add(length*time.Duration(2*i+1)/(2*deedsARun))) != nil {
			return longest
		}
		since := time.Now()
		entries, err := d(ctx, f)
		if err != nil {
			t.strange("a change: " + err.Error())
			return longest
		}
		longest = max(longest, time.Since(since))
		for range entries {
			t.count(opChange, since)
		}
	}
	return longest
}

// firstRows are seats of a caller's own among those that no change is about.
func firstRows(f *field, caller, callers int) []client.HoldRequest {
	var own []client.HoldRequest
	for i := caller; i < buyersRows*hallPerRow; i += callers {
		own = append(own, seats(f.a.seat(i)))
	}
	return own
}
