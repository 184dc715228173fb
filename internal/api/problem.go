package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

// Codes that only HTTP knows. The others are the inventory's.
const (
	codeUnauthorized         inventory.RefusalCode = "UNAUTHORIZED"
	codeMethodNotAllowed     inventory.RefusalCode = "METHOD_NOT_ALLOWED"
	codeRequestTimeout       inventory.RefusalCode = "REQUEST_TIMEOUT"
	codeBodyTooLarge         inventory.RefusalCode = "BODY_TOO_LARGE"
	codeUnsupportedMediaType inventory.RefusalCode = "UNSUPPORTED_MEDIA_TYPE"
	codeRateLimited          inventory.RefusalCode = "RATE_LIMITED"
	codeInternal             inventory.RefusalCode = "INTERNAL"
)

// statusDropped is what the log and the metrics call a request whose connection was dropped. It is never sent.
const statusDropped = 499

// answer is how a code looks to a client.
type answer struct {
	status     int
	title      string
	retryAfter int // seconds; 0: the header is not sent
}

// shown is an answer with the address of its code's page.
type shown struct {
	answer
	page string
}

// answers is the one table from code to status.
func answers() map[inventory.RefusalCode]answer {
	return map[inventory.RefusalCode]answer{
		inventory.Malformed:             {400, "Malformed", 0},
		codeUnauthorized:                {401, "Unauthorized", 0},
		inventory.Forbidden:             {403, "Forbidden", 0},
		inventory.NotFound:              {404, "Not found", 0},
		codeMethodNotAllowed:            {405, "Method not allowed", 0},
		inventory.AllocationUnavailable: {409, "Not available", 0},
		inventory.EventNotOnSale:        {409, "Event not on sale", 0},
		inventory.HoldSold:              {409, "Hold already sold", 0},
		inventory.HoldLifetimeReached:   {409, "Hold lifetime reached", 0},
		inventory.BuyerLimitExceeded:    {409, "Buyer limit exceeded", 0},
		inventory.StateConflict:         {409, "Event state conflict", 0},
		inventory.ReferenceTaken:        {409, "Reference taken", 0},
		inventory.ChangeUnsafe:          {409, "Change unsafe", 0},
		inventory.HoldExpired:           {410, "Hold expired", 0},
		codeRequestTimeout:              {408, "Request timeout", 0},
		codeBodyTooLarge:                {413, "Body too large", 0},
		codeUnsupportedMediaType:        {415, "Unsupported media type", 0},
		inventory.Invalid:               {422, "Invalid", 0},
		inventory.SingleSeatRefused:     {422, "Single seat left", 0},
		inventory.HoldLimitExceeded:     {422, "Hold limit exceeded", 0},
		inventory.KeyReused:             {422, "Idempotency key reused", 0},
		codeRateLimited:                 {429, "Too many requests", 1},
		codeInternal:                    {500, "Internal error", 0},
		inventory.Overloaded:            {503, "Overloaded", 1},
		inventory.Unavailable:           {503, "Unavailable", 2},
		inventory.Contended:             {503, "Contended", 1},
	}
}

// problemTable is answers, made once; nobody writes to it.
var problemTable = func() map[inventory.RefusalCode]shown {
	table := make(map[inventory.RefusalCode]shown)
	for code, a := range answers() {
		table[code] = shown{a, problemType(code)}
	}
	return table
}()

// refuse is a refusal of HTTP's own.
func refuse(code inventory.RefusalCode) error { return &inventory.Refusal{Code: code} }

// invalid is a refusal of one fault.
func invalid(field, code, detail string) error {
	return &inventory.Refusal{Code: inventory.Invalid, Faults: []inventory.Fault{{Field: field, Code: code, Detail: detail}}}
}

// refusalOf finds what an error says to a client. The Service's other errors are faults of the store,
// which pass; a panic or an answer that cannot be rendered is a fault of ours. Neither says more.
func refusalOf(err error) *inventory.Refusal {
	if r, ok := errors.AsType[*inventory.Refusal](err); ok {
		if _, known := problemTable[r.Code]; known {
			return r
		}
		return &inventory.Refusal{Code: codeInternal}
	}
	code := inventory.Unavailable
	switch _, panicked := errors.AsType[*panicError](err); {
	case panicked:
		code = codeInternal
	case errors.Is(err, office.ErrUnknownKey):
		code = codeUnauthorized
	case errors.Is(err, inventory.ErrNotFound):
		code = inventory.NotFound
	}
	return &inventory.Refusal{Code: code}
}

// fail answers an error, or nothing when nobody is there to read it or an answer has begun already.
func (x *exchange) fail(r *http.Request, err error) {
	x.err = err
	refusal := refusalOf(err)
	x.code = refusal.Code
	if x.status != 0 {
		return
	}
	if x.route.body != bodyNone && x.buffer == nil {
		// Before it answers, net/http waits for a body that nobody has read; not for long.
		if err := http.NewResponseController(x.ResponseWriter).SetReadDeadline(time.Now().Add(unreadBodyTime)); err != nil {
			x.Header().Set("Connection", "close")
		}
	}
	a := problemTable[refusal.Code]
	header := x.Header()
	header["Content-Type"] = headerProblem
	header["Cache-Control"] = headerNoStore
	header["X-Content-Type-Options"] = headerNoSniff
	if a.retryAfter > 0 && header.Get("Retry-After") == "" {
		header.Set("Retry-After", strconv.Itoa(a.retryAfter))
	}
	if a.status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	x.writeJSON(a.status, problemOf(refusal, a, x.id[0]))
}

func problemOf(r *inventory.Refusal, a shown, id string) *client.Problem {
	p := &client.Problem{
		Type: a.page, Title: a.title, Status: a.status, Code: string(r.Code),
		RequestID: id, Detail: r.Detail, ConflictsTotal: r.Total,
	}
	for _, c := range r.Conflicts {
		p.Conflicts = append(p.Conflicts, conflictOf(c))
	}
	for _, a := range r.Alternatives {
		p.Alternatives = append(p.Alternatives, client.Alternative{Seats: a.Seats, TicketTypes: a.Types})
	}
	for _, f := range r.Faults {
		p.Errors = append(p.Errors, client.Fault{Field: f.Field, Code: f.Code, Detail: f.Detail})
	}
	return p
}

func conflictOf(c inventory.Conflict) client.Conflict {
	out := client.Conflict{Seat: c.Seat, Area: c.Area, Label: c.Label, Reason: string(c.Reason)}
	if c.Area != "" {
		requested, free := c.Requested, c.Free
		out.Requested, out.Free = &requested, &free
		if c.Held+c.Reserved > 0 {
			held, reserved := c.Held, c.Reserved
			out.Held, out.Reserved = &held, &reserved
		}
	}
	return out
}

// problemType is the address of a code's page.
func problemType(code inventory.RefusalCode) string {
	return "/problems/" + strings.ReplaceAll(strings.ToLower(string(code)), "_", "-")
}
