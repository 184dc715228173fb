package race

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteJSON writes the report as one indented JSON object.
func (r *LoadReport) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("load report: %w", err)
	}
	return nil
}

// WriteText writes the table for a terminal: rates and percentiles of each kind of answer, and the audit.
func (r *LoadReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tanswers\tcount\tper second\tp50 ms\tp90 ms\tp99 ms\tp99.9 ms\tmax ms\t")
	var rest strings.Builder
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, op := range s.Operations {
			fmt.Fprintf(t, "%s\t%s\t%d\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n",
				s.Name, op.Name, op.Count, op.PerSecond, op.P50, op.P90, op.P99, op.P999, op.Max)
		}
		if s.Exhausted {
			fmt.Fprintf(&rest, "%s: everything was taken after %s\n", s.Name, seconds(s.Seconds))
		}
		for _, label := range slices.Sorted(maps.Keys(s.Unexpected)) {
			fmt.Fprintf(&rest, "unexpected: %s: %d × %s\n", s.Name, s.Unexpected[label], label)
		}
		for _, b := range s.Breaches {
			fmt.Fprintf(&rest, "breach: %s: %s\n", s.Name, b)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("load report: %w", err)
	}
	fmt.Fprintf(&rest, "audit of the database: %s\n", r.Audit.text())
	for _, b := range r.Audit.Breaches {
		fmt.Fprintf(&rest, "breach: promise %d: event %s: %s\n", b.Promise, b.Event, b.What)
	}
	for _, s := range r.Notes {
		fmt.Fprintf(&rest, "note: %s\n", s)
	}
	fmt.Fprintf(&rest, "%d connections against %s\n", r.Connections, servers(r.Servers))
	if _, err := io.WriteString(w, rest.String()); err != nil {
		return fmt.Errorf("load report: %w", err)
	}
	return nil
}
