package race

import (
	_ "embed" // for the page
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// BenchReport is what a bench measured, and on what.
type BenchReport struct {
	StartedAt   time.Time     `json:"started_at"`
	Took        float64       `json:"took_seconds"`
	Machine     Machine       `json:"machine"`
	Seats       int           `json:"seats"` // of the hall
	Connections int           `json:"connections"`
	Seconds     float64       `json:"seconds"` // a run
	Repeats     int           `json:"repeats"`
	Rate        float64       `json:"rate,omitzero"` // cycles a second; 0: as fast as they are answered
	Scenarios   []BenchResult `json:"scenarios"`
	Notes       []string      `json:"notes,omitzero"` // scenarios that were not run, and what went wrong in tidying up
	Passed      bool          `json:"passed"`         // no breach; targets are figures, and fail nothing
}

// BenchResult is one scenario. With a breach there are no figures.
type BenchResult struct {
	Name     string         `json:"name"`
	Claim    string         `json:"claim"`
	Arms     []ArmFigures   `json:"arms,omitzero"`
	Targets  []TargetResult `json:"targets,omitzero"`
	Audits   []string       `json:"audits,omitzero"` // arms whose database was audited and has no breach
	Breaches []string       `json:"breaches"`
}

// ArmFigures is what one arm reached: in the median, and in each repeat.
type ArmFigures struct {
	Name   string    `json:"name"`
	Median Figures   `json:"median"`
	Runs   []Figures `json:"runs"`
}

// TargetResult is a figure beside what it should be: when Against names an arm a ratio, or with Added the
// difference, and otherwise the figure itself. Least and Most are 0 for no bound.
type TargetResult struct {
	Figure  string  `json:"figure"`
	Arm     string  `json:"arm"`
	Against string  `json:"against,omitzero"`
	Added   bool    `json:"added,omitzero"`
	Least   float64 `json:"least,omitzero"`
	Most    float64 `json:"most,omitzero"`
	Got     float64 `json:"got"` // the median
	Lowest  float64 `json:"lowest"`
	Highest float64 `json:"highest"`
	Met     bool    `json:"met"`
}

func (r *BenchResult) breach(arm, what string) {
	if len(r.Breaches) < breachesMax {
		r.Breaches = append(r.Breaches, arm+": "+what)
	}
}

func (r *BenchResult) audit(arm string, a Audit) {
	if a.Failure != "" {
		r.breach(arm, "the audit failed: "+a.Failure)
	}
	for _, b := range a.Breaches {
		r.breach(arm, fmt.Sprintf("promise %d: event %s: %s", b.Promise, b.Event, b.What))
	}
	if a.Ran && len(a.Breaches) == 0 {
		r.Audits = append(r.Audits, arm)
	}
}

// WriteJSON writes the report as one indented JSON object.
func (r *BenchReport) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("bench report: %w", err)
	}
	return nil
}

// column is a figure as a table shows it.
type column struct{ title, figure string }

var columns = []column{
	{"holds/s", HoldsRate},
	{"orders/s", OrdersRate},
	{"rejections/s", RejectionsRate},
	{"p50 ms", P50},
	{"p95 ms", P95},
	{"p99 ms", P99},
	{"max ms", Longest},
	{"server µs", ServerCPU},
	{"callers µs", CallersCPU},
	{"s", Seconds},
	{"bytes", Bytes},
	{"heap with", HeapWith},
	{"heap without", HeapWithout},
}

// table has a row an arm under the columns in which some arm has a figure.
func table(scenarios []BenchResult) (titles []string, rows [][]string) {
	for i := range scenarios {
		for _, a := range scenarios[i].Arms {
			rows = append(rows, []string{scenarios[i].Name, a.Name})
		}
	}
	titles = []string{"scenario", "arm"}
	for _, c := range columns {
		var cells []string
		used := false
		for i := range scenarios {
			for _, a := range scenarios[i].Arms {
				cell := ""
				if v, ok := a.Median[c.figure]; ok {
					cell, used = number(v), true
				}
				cells = append(cells, cell)
			}
		}
		if !used {
			continue
		}
		titles = append(titles, c.title)
		for i, cell := range cells {
			rows[i] = append(rows[i], cell)
		}
	}
	return titles, rows
}

// number shows a figure to the precision that a reader needs.
func number(v float64) string {
	switch {
	case v >= 100:
		digits := strconv.FormatFloat(v, 'f', 0, 64)
		for i := len(digits) - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// String is a target in one line: what was reached, the spread over the repeats, and what is wanted.
func (t TargetResult) String() string {
	title := t.Figure
	for _, c := range columns {
		if c.figure == t.Figure {
			title = c.title
		}
	}
	text := fmt.Sprintf("%s of %s: %s", title, t.Arm, number(t.Got))
	switch {
	case t.Added:
		text = fmt.Sprintf("%s, %s more than %s: %s", title, t.Arm, t.Against, number(t.Got))
	case t.Against != "":
		text = fmt.Sprintf("%s, %s against %s: %s×", title, t.Arm, t.Against, number(t.Got))
	}
	text += fmt.Sprintf(" (%s to %s)", number(t.Lowest), number(t.Highest))
	wanted := ""
	switch {
	case t.Least > 0:
		wanted = "at least " + number(t.Least)
	case t.Most > 0:
		wanted = "at most " + number(t.Most)
	default:
		return text
	}
	if t.Met {
		return text + ", wanted " + wanted + ": met"
	}
	return text + ", wanted " + wanted + ": NOT met"
}

// arrangement says in one line how it was measured.
func (r *BenchReport) arrangement() string {
	text := fmt.Sprintf("%s seats, %d connections, runs of %s, medians of %d interleaved repeats", number(float64(r.Seats)), r.Connections, seconds(r.Seconds), r.Repeats)
	if r.Rate > 0 {
		text += fmt.Sprintf(", %s cycles a second, measured from when each was due", number(r.Rate))
	}
	return text
}

// WriteText writes the table for a terminal, and below it what the figures are measured by.
func (r *BenchReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	titles, rows := table(r.Scenarios)
	for _, row := range append([][]string{titles}, rows...) {
		fmt.Fprintf(t, "%s\t\n", strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("bench report: %w", err)
	}
	var rest strings.Builder
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for _, target := range s.Targets {
			fmt.Fprintf(&rest, "%s: %s\n", s.Name, target)
		}
		for _, b := range s.Breaches {
			fmt.Fprintf(&rest, "breach: %s has no figures: %s\n", s.Name, b)
		}
		if len(s.Audits) == 0 && len(s.Breaches) == 0 {
			fmt.Fprintf(&rest, "%s: the database was not audited: only the server's URL is known\n", s.Name)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&rest, "note: %s\n", note)
	}
	fmt.Fprintf(&rest, "%s\n%s; all in %s: %s\n", r.Machine, r.arrangement(), seconds(r.Took), r.verdict())
	if _, err := io.WriteString(w, rest.String()); err != nil {
		return fmt.Errorf("bench report: %w", err)
	}
	return nil
}

func (r *BenchReport) verdict() string {
	if r.Passed {
		return "every answer is in its event's log, and no breach was found"
	}
	return "what was measured canNOT be believed"
}

// WriteMarkdown writes the same for docs/PERFORMANCE.md: the machine, then the command, the table and
// the targets of each scenario.
func (r *BenchReport) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s: %s.\nOn %s.\n", r.StartedAt.Format(time.DateOnly), r.arrangement(), r.Machine)
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		fmt.Fprintf(&b, "\n### `rowlock bench --scenario %s`\n\n%s.\n\n", s.Name, s.sentence())
		titles, rows := table(r.Scenarios[i : i+1])
		if len(rows) > 0 {
			fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(titles[1:], " | "), strings.Repeat("--:|", len(titles)-2))
		}
		for _, row := range rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row[1:], " | "))
		}
		if len(s.Targets)+len(s.Breaches) > 0 && len(rows) > 0 {
			b.WriteString("\n")
		}
		for _, t := range s.Targets {
			fmt.Fprintf(&b, "- %s\n", t)
		}
		for _, what := range s.Breaches {
			fmt.Fprintf(&b, "- no figures: %s\n", what)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("bench report: %w", err)
	}
	return nil
}

// sentence is the claim as it begins a line.
func (r *BenchResult) sentence() string { return strings.ToUpper(r.Claim[:1]) + r.Claim[1:] }

//go:embed bench.html.tmpl
var benchPage string

// WriteHTML writes the report as one page that needs nothing else: no script, no style sheet, no network.
func (r *BenchReport) WriteHTML(w io.Writer) error {
	page, err := template.New("bench").Funcs(template.FuncMap{
		"stamp":   func(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") },
		"titles":  func(s BenchResult) []string { titles, _ := table([]BenchResult{s}); return titles[1:] },
		"rows":    func(s BenchResult) [][]string { _, rows := table([]BenchResult{s}); return rows },
		"verdict": r.verdict, "arrangement": r.arrangement,
		"sentence": func(s BenchResult) string { return s.sentence() },
	}).Parse(benchPage)
	if err != nil {
		return fmt.Errorf("bench report: %w", err)
	}
	if err := page.Execute(w, r); err != nil {
		return fmt.Errorf("bench report: %w", err)
	}
	return nil
}
