package sim

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
)

func TestPromise5AClockThatStepsBackBeforeTheFirstSweepIsNoticed(t *testing.T) {
	useClocks()
	house := newTemplate(t)
	synctest.Test(t, func(t *testing.T) {
		c := &clock{began: time.Now(), steps: []step{{offset: time.Hour}}}
		path := filepath.Join(house.dir, "clock.db")
		if err := copyFile(house.path, path); err != nil {
			t.Fatal(err)
		}
		clocks.of.Store(path, c)
		store, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		service := inventory.New(inventory.Config{Store: store, Catalogue: records.New(store)})
		hold, err := service.Claim(t.Context(), inventory.ClaimRequest{Event: house.event, Basket: inventory.Basket{Seats: seats()[:1]}})
		if err != nil {
			t.Fatal(err)
		}
		c.step(-time.Hour)
		if _, err := store.Sweep(t.Context(), sweepMax); err != nil {
			t.Fatal(err)
		}
		v, err := service.Look(t.Context(), inventory.HoldRef{Event: house.event, Token: hold.Token})
		if err != nil {
			t.Fatal(err)
		}
		if left := v.Hold.Deadline.Time().Sub(v.Now.Time()); left != holdTTL {
			t.Errorf("the hold lives for %v more, not %v", left, holdTTL)
		}
	})
}

func TestAClockOfTheSimulationSaysWhatItIsTold(t *testing.T) {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	s := time.Second
	c := &clock{began: began, steps: []step{{}, {10 * s, 5 * s}, {20 * s, -10 * s}}} // on by 5 at 10, back by 15 at 20
	for at, want := range map[time.Duration]time.Duration{9 * s: 9 * s, 10 * s: 15 * s, 19 * s: 24 * s, 20 * s: 10 * s} {
		if got := c.at(at).Sub(began); got != want {
			t.Errorf("at %v it says %v, not %v", at, got, want)
		}
	}
	for instant, want := range map[time.Duration]time.Duration{8 * s: 8 * s, 12 * s: 22 * s, 24 * s: 34 * s} {
		if got := c.lastBefore(began.Add(instant)); got != want {
			t.Errorf("it is last before %v at %v, not %v", instant, got, want)
		}
	}
	if got := c.latest(8*s, 30*s).Sub(began); got != 25*s {
		t.Errorf("it gets as far as %v", got)
	}
	for from, want := range map[time.Duration]time.Duration{s: 5 * s, 8 * s: 10 * s, 9 * s: 10 * s, 12 * s: 16 * s, 19 * s: 23 * s} {
		if got := c.after(from, 4*s); got != want {
			t.Errorf("four seconds from %v are not over before %v, not %v", from, got, want)
		}
	}
	if got := c.after(7*s, 10*s); got != 12*s {
		t.Errorf("ten seconds from 7s are not over before %v", got)
	}
	if got := c.back(); got != 15*s {
		t.Errorf("it has stepped back by %v", got)
	}
}
