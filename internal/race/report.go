package race

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Report is what came of a run: every race, and the audit of the database behind it.
type Report struct {
	StartedAt time.Time `json:"started_at"`
	Seconds   float64   `json:"seconds"`
	Servers   int       `json:"servers"`
	Races     []Result  `json:"races"`
	Audit     Audit     `json:"audit"`
	Notes     []string  `json:"notes,omitzero"` // what went wrong in tidying up; no promise depends on it
	Passed    bool      `json:"passed"`
}

// Audit is what the data itself says. Without access to the database it did not run, and without a
// Failure that is no breach.
type Audit struct {
	Ran      bool               `json:"ran"`
	Breaches []inventory.Breach `json:"breaches"`
	Failure  string             `json:"failure,omitzero"`
}

// text says in a few words how the audit ended.
func (a *Audit) text() string {
	switch {
	case a.Failure != "":
		return "failed: " + a.Failure
	case !a.Ran:
		return "not run: only the server's URL is known, not its database"
	case len(a.Breaches) == 0:
		return "no breach"
	}
	return fmt.Sprintf("%d breaches", len(a.Breaches))
}

// Breached reports whether any promise was found broken, by a race or by the audit.
func (r *Report) Breached() bool {
	for i := range r.Races {
		if len(r.Races[i].Breaches) > 0 {
			return true
		}
	}
	return len(r.Audit.Breaches) > 0
}

func (r *Report) passed() bool {
	for i := range r.Races {
		if !r.Races[i].Passed() {
			return false
		}
	}
	return len(r.Races) > 0 && r.Audit.Failure == "" && len(r.Audit.Breaches) == 0
}

// WriteJSON writes the report as one indented JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("race report: %w", err)
	}
	return nil
}

// WriteText writes the table for a terminal: each race with the distribution of its answers beside
// what was promised, and the audit.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "RACE\tANSWER\tCOUNT\tPROMISED\t")
	for i := range r.Races {
		race := &r.Races[i]
		fmt.Fprintf(t, "%s\t\t\t\t%s in %s\n", race.Name, outcome(race), seconds(race.Seconds))
		for _, p := range race.Phases {
			fmt.Fprintf(t, "  %s\t\t\t\t\n", p.title())
			for _, c := range p.Answers {
				mark := ""
				if !c.Kept {
					mark = "BREACH"
				}
				fmt.Fprintf(t, "\t%s\t%d\t%s\t%s\n", c.Answer, c.Count, c.Promised, mark)
			}
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("race report: %w", err)
	}
	var b strings.Builder
	for i := range r.Races {
		for _, s := range r.Races[i].Breaches {
			fmt.Fprintf(&b, "breach: %s: %s\n", r.Races[i].Name, s)
		}
		if f := r.Races[i].Failure; f != "" {
			fmt.Fprintf(&b, "failed: %s: %s\n", r.Races[i].Name, f)
		}
	}
	fmt.Fprintf(&b, "audit of the database: %s\n", r.Audit.text())
	for _, s := range r.Audit.Breaches {
		fmt.Fprintf(&b, "breach: promise %d: event %s: %s\n", s.Promise, s.Event, s.What)
	}
	for _, s := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", s)
	}
	verdict := "every promise was kept"
	if !r.Passed {
		verdict = "NOT every promise was kept"
	}
	fmt.Fprintf(&b, "%d races against %s in %s: %s\n", len(r.Races), servers(r.Servers), seconds(r.Seconds), verdict)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("race report: %w", err)
	}
	return nil
}

// title names a phase and how often it was repeated.
func (p Phase) title() string {
	if p.Rounds > 1 {
		return fmt.Sprintf("%s, %d rounds", p.Name, p.Rounds)
	}
	return p.Name
}

func outcome(r *Result) string {
	switch {
	case r.Failure != "":
		return "FAILED"
	case len(r.Breaches) > 0:
		return "BREACH"
	}
	return "kept"
}

func servers(n int) string {
	if n == 1 {
		return "one server"
	}
	return strconv.Itoa(n) + " servers on one store"
}

// seconds shows a duration to the precision that a reader needs.
func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond).String()
}

//go:embed report.html.tmpl
var reportPage string

// WriteHTML writes the report as one page that needs nothing else: no script, no style sheet, no network.
func (r *Report) WriteHTML(w io.Writer) error {
	page, err := template.New("report").Funcs(template.FuncMap{
		"seconds": seconds, "outcome": outcome, "servers": servers,
		"title": Phase.title,
		"race":  func(i int) *Result { return &r.Races[i] },
		"audit": func() string { return r.Audit.text() },
		"stamp": func(t time.Time) string { return t.Format("2006-01-02 15:04:05 UTC") },
	}).Parse(reportPage)
	if err != nil {
		return fmt.Errorf("race report: %w", err)
	}
	if err := page.Execute(w, r); err != nil {
		return fmt.Errorf("race report: %w", err)
	}
	return nil
}
