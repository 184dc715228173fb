package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rowlock/rowlock/internal/race"
)

// raceCommand runs the races.
type raceCommand struct {
	targetSettings `embed:""`

	Only   []string `help:"Race to run, by name; repeatable. Omitted, all." placeholder:"NAME"`
	List   bool     `help:"List the races and what they hold the server to, then exit."`
	JSON   bool     `help:"Print the report as JSON instead of a table."`
	Report string   `help:"Write the report as a page of HTML, too." placeholder:"FILE"`
}

// Run implements the verb. The table goes to standard output, progress to standard error.
func (c *raceCommand) Run(ctx context.Context, s streams) error {
	if c.List {
		for _, r := range race.Races() {
			fmt.Fprintf(s.out, "%-28s %s\n", r.Name, r.Claim)
		}
		return nil
	}
	races, err := chosen(race.Races(), c.Only)
	if err != nil {
		return err
	}
	var page *os.File
	if c.Report != "" {
		// Opened first: minutes of racing should not end in a path that cannot be written.
		if page, err = os.Create(c.Report); err != nil {
			return badSetting("--report", "%w", err)
		}
	}
	ctx, s, stop := s.whileRead(ctx)
	defer stop()
	return c.with(ctx, s, func(target race.Target) error {
		report, err := race.RunOnly(ctx, target, races, func(p race.Progress) { printProgress(s.err, p) })
		if err != nil {
			return err
		}
		if err := c.write(s.out, page, report); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		if !report.Passed {
			return errors.New("promises are broken, or could not be tried: see the report")
		}
		return nil
	})
}

func (c *raceCommand) write(out io.Writer, page *os.File, report *race.Report) error {
	if page != nil {
		if err := errors.Join(report.WriteHTML(page), page.Close()); err != nil {
			return err
		}
	}
	if c.JSON {
		return report.WriteJSON(out)
	}
	return report.WriteText(out)
}

// chosen picks races by name, in the order in which they are run.
func chosen(all []race.Race, names []string) ([]race.Race, error) {
	if len(names) == 0 {
		return all, nil
	}
	wanted := make(map[string]bool)
	for _, name := range names {
		wanted[name] = true
	}
	var picked []race.Race
	for _, r := range all {
		if wanted[r.Name] {
			picked = append(picked, r)
			delete(wanted, r.Name)
		}
	}
	for name := range wanted {
		return nil, badSetting("--only", "there is no race %q; --list lists them", name)
	}
	return picked, nil
}

// printProgress writes a line a race.
func printProgress(w io.Writer, p race.Progress) {
	switch {
	case p.Result != nil && p.Result.Passed():
		fmt.Fprintf(w, "  kept    %5.1f s\n", p.Result.Seconds)
	case p.Result != nil && p.Result.Failure != "":
		fmt.Fprintf(w, "  FAILED  %s\n", p.Result.Failure)
	case p.Result != nil:
		fmt.Fprintf(w, "  BROKEN  %s\n", p.Result.Breaches[0]) // the report has the others
	case p.Race != "":
		fmt.Fprintf(w, "[%d/%d] %s\n", p.Number, p.Races, p.Race)
	default:
		fmt.Fprintln(w, p.Message)
	}
}
