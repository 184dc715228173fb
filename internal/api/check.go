package api

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/inventory"
)

// Bounds of what is written down as it came; lengths are in characters.
const (
	referenceRunesMax        = 100
	paymentReferenceRunesMax = 100
	metadataEntriesMax       = 20
	metadataKeyRunesMax      = 40
	metadataValueRunesMax    = 500
	buyerNameRunesMax        = 200
	emailBytesMax            = 254 // RFC 5321
	emailLocalBytesMax       = 64
	keyNameRunesMax          = 200
	reasonRunesMax           = 200
	unitsMax                 = 100  // of one request
	faultsMax                = 50   // reported at once
	yearMax                  = 9999 // what RFC 3339 can write
)

// Bounds of a page of a listing, in entries.
const (
	limitDefault = 50
	limitMax     = 200
)

// Codes of faults, as the inventory uses them.
const (
	faultRequired   = "REQUIRED"
	faultInvalid    = "INVALID"
	faultOutOfRange = "OUT_OF_RANGE"
	faultTooMany    = "TOO_MANY"
	faultUnknown    = "UNKNOWN"
	faultNotAllowed = "NOT_ALLOWED" // here
)

// faults gathers what is wrong with a request, so that a client hears all of it at once.
type faults struct{ list []inventory.Fault }

func (f *faults) add(field, code, detail string) {
	if len(f.list) == faultsMax {
		return
	}
	f.list = append(f.list, inventory.Fault{Field: field, Code: code, Detail: detail})
}

// err is the refusal, or nil.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &inventory.Refusal{Code: inventory.Invalid, Faults: f.list}
}

// line checks a text of one line and at most runesMax characters.
func (f *faults) line(field, s string, runesMax int) {
	if utf8.RuneCountInString(s) > runesMax || strings.ContainsFunc(s, unicode.IsControl) {
		f.add(field, faultInvalid, "It must be one line of at most "+strconv.Itoa(runesMax)+" characters.")
	}
}

// reference checks a reference that may be absent, and returns it or nothing.
func (f *faults) reference(field string, s *string, runesMax int) string {
	if s == nil {
		return ""
	}
	if *s == "" {
		f.add(field, faultInvalid, "A reference is not empty; leave it out instead.")
	}
	f.line(field, *s, runesMax)
	return *s
}

// metadata checks what is small and opaque to us.
func (f *faults) metadata(m map[string]string) {
	if len(m) > metadataEntriesMax {
		f.add("/metadata", faultTooMany, "There may be at most "+strconv.Itoa(metadataEntriesMax)+" entries.")
		return
	}
	for k, v := range m {
		if k == "" || utf8.RuneCountInString(k) > metadataKeyRunesMax || utf8.RuneCountInString(v) > metadataValueRunesMax ||
			strings.ContainsRune(k, 0) || strings.ContainsRune(v, 0) {
			f.add("/metadata", faultInvalid, "Keys have 1 to "+strconv.Itoa(metadataKeyRunesMax)+
				" characters and values at most "+strconv.Itoa(metadataValueRunesMax)+", none of them NUL.")
			return
		}
	}
}

// instant converts a time that may be absent. The inventory's zero means none, so the very start of
// 1970 becomes the microsecond after it.
func (f *faults) instant(field string, t *time.Time) *inventory.Instant {
	if t == nil {
		return nil
	}
	if year := t.UTC().Year(); year < 1 || year > yearMax {
		f.add(field, faultInvalid, "It must be an instant that can be written in UTC.")
	}
	i := inventory.Instant(t.UnixMicro())
	if i == 0 {
		i = 1
	}
	return &i
}

// basket bounds the lists of a request before anybody looks at what is in them; that is the
// inventory's to judge.
func (f *faults) basket(at string, seats []string, types map[string]string, areas []client.AreaRequest) {
	const detail = "One request names at most 100 units."
	if len(seats) > unitsMax {
		f.add(at+"/seats", faultTooMany, detail)
	}
	if len(types) > unitsMax {
		f.add(at+"/ticket_types", faultTooMany, detail)
	}
	if len(areas) > unitsMax {
		f.add(at+"/areas", faultTooMany, detail)
	}
}

func (f *faults) hold(in *client.HoldRequest) {
	f.basket("", in.Seats, in.TicketTypes, in.Areas)
	f.reference("/reference", in.Reference, referenceRunesMax)
	f.metadata(in.Metadata)
}

func (f *faults) order(in *client.OrderRequest) {
	if in.Hold == "" {
		f.add("/hold", faultRequired, "")
	} else if _, ok := inventory.ParseHoldID(in.Hold); !ok {
		f.add("/hold", faultInvalid, "It must be a hold's id.")
	}
	f.reference("/reference", in.Reference, referenceRunesMax)
	f.metadata(in.Metadata)
	if b := in.Buyer; b != nil {
		if b.Name == "" && b.Email == "" {
			f.add("/buyer", faultRequired, "A buyer has an e-mail address or, in an order by key, at least a name.")
		}
		f.line("/buyer/name", b.Name, buyerNameRunesMax)
		if b.Email != "" && !plausibleEmail(b.Email) {
			f.add("/buyer/email", faultInvalid, "It must be an e-mail address.")
		}
	}
	if p := in.Payment; p != nil {
		switch p.Method {
		case "":
			f.add("/payment/method", faultRequired, "")
		case inventory.PaymentNone, inventory.PaymentExternal:
		default:
			f.add("/payment/method", faultUnknown, "")
		}
		f.reference("/payment/reference", p.Reference, paymentReferenceRunesMax)
		if p.Method == inventory.PaymentNone && p.Reference != nil {
			f.add("/payment/reference", faultInvalid, "Only a payment that was taken has one.")
		}
	}
}

// plausibleEmail refuses what cannot be an address. Whether mail arrives there only mail can tell.
func plausibleEmail(s string) bool {
	if len(s) > emailBytesMax {
		return false
	}
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > emailLocalBytesMax {
		return false
	}
	domain := s[at+1:]
	if domain == "" || domain[0] == '.' || domain[0] == '-' || strings.HasSuffix(domain, ".") || strings.Contains(domain, "..") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>()[],;:\"`, r)
	}) && !strings.Contains(s[:at], "@")
}

// page reads the query of a listing whose cursors have the given form: a cursor of anything else
// would be answered with an empty page, as if that were the end of the list. A fault of the query is
// named by the parameter, "?limit".
func page(r *http.Request, cursor func(string) bool) (inventory.Page, error) {
	p := inventory.Page{Limit: limitDefault}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return p, invalid("?", faultInvalid, "The query cannot be read.")
	}
	var f faults
	if query.Has("limit") {
		p.Limit, err = strconv.Atoi(query.Get("limit"))
		if err != nil || p.Limit < 1 || p.Limit > limitMax {
			f.add("?limit", faultOutOfRange, "It is 1 to 200.")
		}
	}
	p.After, p.Reference = query.Get("after"), query.Get("reference")
	if p.After != "" && !cursor(p.After) {
		f.add("?after", faultInvalid, "It must be what a page before it answered as next.")
	}
	if query.Has("reference") {
		switch {
		case p.Reference == "":
			f.add("?reference", faultInvalid, "A reference is not empty; leave it out instead.")
		case !utf8.ValidString(p.Reference):
			f.add("?reference", faultInvalid, "It is not valid text in UTF-8.")
		default:
			f.line("?reference", p.Reference, referenceRunesMax)
		}
	}
	return p, f.err()
}

// idsOf is the form of cursors that are ids with a prefix.
func idsOf(prefix string) func(string) bool {
	return func(s string) bool { return inventory.IsID(prefix, s) }
}

// isHoldID is the form of cursors that are holds' ids.
func isHoldID(s string) bool {
	_, ok := inventory.ParseHoldID(s)
	return ok
}

// isLogNumber is the form of cursors that are numbers of a log's entries.
func isLogNumber(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil && s[0] >= '0' && s[0] <= '9'
}

// after reads the position that a reader has.
func after(r *http.Request) (string, error) {
	position := r.URL.Query().Get("after")
	if position == "" {
		return "", invalid("?after", faultRequired, "It is the position of a board, or of the changes read last.")
	}
	if _, ok := inventory.ParsePosition(position); !ok {
		return "", invalid("?after", faultInvalid, "It is the position of a board, or of the changes read last.")
	}
	return position, nil
}
