package api

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowlock/rowlock/client"
)

// text is JSON that is written member by member: for the answers that a sale consists of, a hold and a
// problem, which the library, finding its way through their types, takes several times as long to write.
// The types of package client remain the definition: what stands here is, byte by byte, what the library
// would have written, and the tests fail for a member that has been forgotten. Not safe for concurrent use.
type text struct {
	out    []byte
	failed bool // there was something that JSON cannot say; the library knows what to say of it
}

// by writes v when it is of one of these types, and reports whether it did.
func (w *text) by(v any) bool {
	switch v := v.(type) {
	case *client.Hold:
		w.hold(v)
	case *client.Problem:
		w.problem(v)
	default:
		return false
	}
	return !w.failed
}

func (w *text) hold(h *client.Hold) {
	w.open('{')
	w.string("id", h.ID)
	w.stringIf("token", h.Token)
	w.string("event", h.Event)
	w.string("state", h.State)
	w.time("expires_at", h.ExpiresAt)
	w.int("expires_in", h.ExpiresIn)
	w.time("extend_until", h.ExtendUntil)
	w.stringOrNull("order", h.Order)
	w.stringOrNull("reference", h.Reference)
	w.name("metadata")
	w.strings(h.Metadata)
	w.list("lines")
	for i := range h.Lines {
		w.line(&h.Lines[i])
	}
	w.close(']')
	w.string("currency", h.Currency)
	w.int("total", h.Total)
	w.list("warnings")
	for _, warning := range h.Warnings {
		w.open('{')
		w.string("code", warning.Code)
		w.stringIf("seat", warning.Seat)
		w.close('}')
	}
	w.close(']')
	w.close('}')
}

func (w *text) line(l *client.Line) {
	w.open('{')
	w.stringIf("seat", l.Seat)
	w.stringIf("area", l.Area)
	w.string("label", l.Label)
	w.stringIf("section", l.Section)
	w.string("ticket_type", l.TicketType)
	w.int("quantity", l.Quantity)
	w.int("price", l.Price)
	w.int("amount", l.Amount)
	w.close('}')
}

func (w *text) problem(p *client.Problem) {
	w.open('{')
	w.string("type", p.Type)
	w.string("title", p.Title)
	w.int("status", int64(p.Status))
	w.string("code", p.Code)
	w.string("request_id", p.RequestID)
	w.stringIf("detail", p.Detail)
	if p.Conflicts != nil {
		w.list("conflicts")
		for i := range p.Conflicts {
			w.conflict(&p.Conflicts[i])
		}
		w.close(']')
	}
	if p.Alternatives != nil {
		w.list("alternatives")
		for i := range p.Alternatives {
			w.alternative(&p.Alternatives[i])
		}
		w.close(']')
	}
	if p.ConflictsTotal != 0 {
		w.int("conflicts_total", int64(p.ConflictsTotal))
	}
	if p.Errors != nil {
		w.list("errors")
		for i := range p.Errors {
			w.open('{')
			w.string("field", p.Errors[i].Field)
			w.string("code", p.Errors[i].Code)
			w.stringIf("detail", p.Errors[i].Detail)
			w.close('}')
		}
		w.close(']')
	}
	w.close('}')
}

func (w *text) conflict(c *client.Conflict) {
	w.open('{')
	w.stringIf("seat", c.Seat)
	w.stringIf("area", c.Area)
	w.stringIf("label", c.Label)
	w.string("reason", c.Reason)
	w.intIf("requested", c.Requested)
	w.intIf("free", c.Free)
	w.intIf("held", c.Held)
	w.intIf("reserved", c.Reserved)
	w.close('}')
}

func (w *text) alternative(a *client.Alternative) {
	w.open('{')
	w.list("seats")
	for _, seat := range a.Seats {
		w.comma()
		w.quoted(seat)
	}
	w.close(']')
	if a.TicketTypes != nil {
		w.name("ticket_types")
		w.strings(a.TicketTypes)
	}
	w.close('}')
}

// open begins an object or a list, with the comma before it.
func (w *text) open(bracket byte) {
	w.comma()
	w.out = append(w.out, bracket)
}

func (w *text) close(bracket byte) { w.out = append(w.out, bracket) }

// comma parts a value or a name from what stands before it on the same level.
func (w *text) comma() {
	if n := len(w.out); n > 0 {
		if last := w.out[n-1]; last != '{' && last != '[' && last != ':' {
			w.out = append(w.out, ',')
		}
	}
}

// name begins a member. Names here have nothing to escape.
func (w *text) name(name string) {
	w.comma()
	w.out = append(w.out, '"')
	w.out = append(w.out, name...)
	w.out = append(w.out, `":`...)
}

// list begins a member that is a list.
func (w *text) list(name string) {
	w.name(name)
	w.open('[')
}

func (w *text) string(name, s string) {
	w.name(name)
	w.quoted(s)
}

// stringIf writes a member that is left out when it is empty.
func (w *text) stringIf(name, s string) {
	if s != "" {
		w.string(name, s)
	}
}

func (w *text) stringOrNull(name string, s *string) {
	w.name(name)
	if s == nil {
		w.out = append(w.out, "null"...)
		return
	}
	w.quoted(*s)
}

func (w *text) int(name string, n int64) {
	w.name(name)
	w.out = strconv.AppendInt(w.out, n, 10)
}

// intIf writes a member that is left out when there is none.
func (w *text) intIf(name string, n *int64) {
	if n != nil {
		w.int(name, *n)
	}
}

func (w *text) time(name string, t time.Time) {
	w.name(name)
	w.out = append(w.out, '"')
	out, err := t.AppendText(w.out)
	if w.out = append(out, '"'); err != nil {
		w.failed = true // a year that RFC 3339 cannot write
	}
}

// strings writes an object of texts, always in the same order.
func (w *text) strings(m map[string]string) {
	w.open('{')
	if len(m) > 0 {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			w.comma()
			w.quoted(name)
			w.out = append(w.out, ':')
			w.quoted(m[name])
		}
	}
	w.close('}')
}

// quoted writes a text. Most have nothing to escape and are nothing but ASCII.
func (w *text) quoted(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			out, err := jsontext.AppendQuote(w.out, s)
			if w.out = out; err != nil {
				w.failed = true // not UTF-8
			}
			return
		}
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, s...)
	w.out = append(w.out, '"')
}
