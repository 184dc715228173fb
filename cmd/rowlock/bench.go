package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/race"
)

// The bounds of a load run, which package race holds to as well.
const (
	benchConnectionsMax = 512
	benchDurationMax    = 5 * time.Minute
)

// benchCommand runs the load scenarios. Timings are of this machine, its disk above all.
type benchCommand struct {
	targetSettings `embed:""`

	Only        []string      `help:"Scenario to run, by name; repeatable. Omitted, all." placeholder:"NAME"`
	List        bool          `help:"List the scenarios, then exit."`
	Connections int           `help:"Callers at once, each with a connection of its own, at most 512." default:"64"`
	Duration    time.Duration `help:"Length of each scenario, at most 5m." default:"5s"`
	JSON        bool          `help:"Print the report as JSON instead of a table."`
}

// Run implements the verb. The table goes to standard output, progress to standard error.
func (c *benchCommand) Run(ctx context.Context, s streams) error {
	if c.List {
		fmt.Fprintln(s.out, strings.Join(race.Scenarios(), "\n"))
		return nil
	}
	if err := c.check(); err != nil {
		return err
	}
	load := race.LoadConfig{Connections: c.Connections, Duration: c.Duration, Scenarios: c.Only}
	ctx, s, stop := s.whileRead(ctx)
	defer stop()
	return c.with(ctx, s, func(target race.Target) error {
		report, err := race.Load(ctx, target, load, func(p race.Progress) { printProgress(s.err, p) })
		if err != nil {
			return err
		}
		write := report.WriteText
		if c.JSON {
			write = report.WriteJSON
		}
		if err := write(s.out); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		if !report.Passed {
			return errors.New("promises are broken, or an answer was unexpected: see the report")
		}
		return nil
	})
}

func (c *benchCommand) check() error {
	if c.Connections < 1 || c.Connections > benchConnectionsMax {
		return badSetting("--connections", "must be 1 to %d", benchConnectionsMax)
	}
	if c.Duration <= 0 || c.Duration > benchDurationMax {
		return badSetting("--duration", "must be more than nothing and at most %s", benchDurationMax)
	}
	for _, name := range c.Only {
		if !slices.Contains(race.Scenarios(), name) {
			return badSetting("--only", "there is no scenario %q; --list lists them", name)
		}
	}
	return nil
}
