package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/rowlock/rowlock/internal/race"
)

// The bounds of a bench, which package race holds to as well.
const (
	benchConnectionsMax = 512
	benchSecondsMax     = 300
	benchRepeatsMax     = 99
	benchRateMax        = 1_000_000
)

// benchCommand measures. Timings are of this machine, its disk above all; ratios are within one run.
type benchCommand struct {
	URL []string `help:"Server to run against, without what it is compared with; omitted, servers are started, on temporary files. Repeatable, for servers on one store." placeholder:"URL"`
	Key string   `help:"Organizer's key for --url." env:"ROWLOCK_KEY" placeholder:"KEY"`

	Scenario    []string `help:"Scenario to run, by name; repeatable. Omitted, all, in about four minutes." placeholder:"NAME"`
	List        bool     `help:"List the scenarios and what they do, then exit."`
	Connections int      `help:"Callers at once, each with a connection of its own, at most 512." default:"256"`
	Seconds     float64  `help:"Length of each run, at most 300." default:"1"`
	Repeats     int      `help:"Runs of each arm, at most 99; a figure is the median of them." default:"5"`
	Rows        int      `help:"Rows of 100 seats in the hall, for tests of the bench itself." default:"600" hidden:""`
	Rate        float64  `help:"Cycles a second of all callers together, each measured from when it was due; 0 for as many as are answered." default:"0"`
	CPUProfile  string   `name:"cpuprofile" help:"Directory for a CPU profile of each arm, taken in one more run." placeholder:"DIR"`
	JSON        bool     `help:"Print the report as JSON instead of tables." xor:"form"`
	Markdown    bool     `help:"Print the report as Markdown, as docs/PERFORMANCE.md has it." xor:"form"`
	Report      string   `help:"Write the report as a page of HTML, too." placeholder:"FILE"`
}

// Run implements the verb. The report goes to standard output, progress to standard error. A target that
// is not met is a figure; only a breach is a failure.
func (c *benchCommand) Run(ctx context.Context, s streams) (err error) {
	if c.List {
		for _, one := range race.BenchScenarios() {
			fmt.Fprintf(s.out, "%-18s %s\n", one.Name, one.Claim)
		}
		return nil
	}
	if err := c.check(); err != nil {
		return err
	}
	var page *os.File
	if c.Report != "" {
		// Opened first, as by race: minutes should not end in a path that cannot be written.
		if page, err = os.Create(c.Report); err != nil {
			return badSetting("--report", "%w", err)
		}
		defer page.Close() // what matters of it was closed before
	}
	ctx, s, stop := s.whileRead(ctx)
	defer stop()
	stage, cleanUp, err := c.stage(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanUp()) }()
	report, err := race.Bench(ctx, stage, c.config(), func(p race.Progress) { printProgress(s.err, p) })
	if err != nil {
		return err
	}
	if err := c.write(s.out, page, report); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if !report.Passed {
		return errors.New("promises are broken, or an answer was unexpected: see the report")
	}
	return nil
}

func (c *benchCommand) check() error {
	switch {
	case c.Connections < 1 || c.Connections > benchConnectionsMax:
		return badSetting("--connections", "must be 1 to %d", benchConnectionsMax)
	case math.IsNaN(c.Seconds) || c.Seconds <= 0 || c.Seconds > benchSecondsMax:
		return badSetting("--seconds", "must be more than 0 and at most %d", benchSecondsMax)
	case c.Repeats < 1 || c.Repeats > benchRepeatsMax:
		return badSetting("--repeats", "must be 1 to %d", benchRepeatsMax)
	case math.IsNaN(c.Rate) || c.Rate < 0 || c.Rate > benchRateMax:
		return badSetting("--rate", "must be 0 to %d", benchRateMax)
	}
	known := make(map[string]bool)
	for _, one := range race.BenchScenarios() {
		known[one.Name] = true
	}
	for _, name := range c.Scenario {
		if !known[name] {
			return badSetting("--scenario", "there is no scenario %q; --list lists them", name)
		}
	}
	if c.CPUProfile != "" {
		if err := os.MkdirAll(c.CPUProfile, 0o755); err != nil {
			return badSetting("--cpuprofile", "%w", err)
		}
	}
	return nil
}

func (c *benchCommand) config() race.BenchConfig {
	return race.BenchConfig{
		Scenarios: c.Scenario, Connections: c.Connections, Duration: time.Duration(c.Seconds * float64(time.Second)),
		Repeats: c.Repeats, Rows: c.Rows, Rate: c.Rate, Profiles: c.CPUProfile,
	}
}

// stage opens what is compared: a server by its URL alone, or processes of our own, with a way to be
// rid of what they leave.
func (c *benchCommand) stage(s streams) (race.Stage, func() error, error) {
	if len(c.URL) > 0 {
		target, err := (&targetSettings{URL: c.URL, Key: c.Key}).remote()
		if err != nil {
			return race.Stage{}, nil, err
		}
		nothing := func() error { return nil }
		return race.Stage{Serve: func(_ context.Context, m race.Make) (*race.Arm, error) {
			if m != race.Rowlock {
				return nil, nil
			}
			return &race.Arm{Target: target, Close: nothing}, nil
		}}, nothing, nil
	}
	if c.Key != "" {
		fmt.Fprintln(s.err, "--key is not used without --url")
	}
	dir, err := os.MkdirTemp("", "rowlock-bench-")
	if err != nil {
		return race.Stage{}, nil, fmt.Errorf("temporary databases: %w", err)
	}
	b := &benchStage{dir: dir, rows: c.Rows, s: s}
	return race.Stage{Serve: b.serve, Inside: b.inside}, func() error { return os.RemoveAll(dir) }, nil
}

func (c *benchCommand) write(out io.Writer, page *os.File, report *race.BenchReport) error {
	if page != nil {
		if err := errors.Join(report.WriteHTML(page), page.Close()); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		return report.WriteJSON(out)
	case c.Markdown:
		return report.WriteMarkdown(out)
	}
	return report.WriteText(out)
}
