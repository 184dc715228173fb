package inventory

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bojanz/currency"
)

// The bounds of paperwork. They keep an event's document small enough to be read on every change,
// and its sums far from the end of 64 bits.
const (
	eventsPerListMax  = 50
	nameRunesMax      = 200
	typeNameRunesMax  = 100 // of a ticket type, which stands on every line of a basket
	referenceRunesMax = 100
	metadataMax       = 20 // entries
	metadataKeyMax    = 40 // runes
	metadataValueMax  = 500
	typesMax          = 50
	channelsMax       = 50 // with the public one, without the withheld one
	rulesMax          = 200
	ruleKeysMax       = 20_000 // named by all rules of an event together
	codesMax          = 100    // of one channel
	codeBytesMin      = 4
	codeBytesMax      = 64
	capacityMax       = 1_000_000       // units of one area
	mapChangesMax     = 20              // of one event
	unitsEverMax      = 300_000         // numbers that one event may give, over its life
	classesMax        = 1_000           // ways of being on sale in one event, over its life
	priceMax          = 100_000_000_000 // minor units
	unitsPerHoldMax   = 100
	unitsPerBuyerMax  = 10_000
)

// FaultsMax is how many faults are reported at once; there may be more.
const FaultsMax = 50

// The lifetimes an event may set, and what it gets when it sets none; counts are units.
const (
	holdSecondsTop        = 24 * 60 * 60
	holdLifetimeTop       = 7 * 24 * 60 * 60
	holdSecondsDefault    = 600
	holdLifetimeDefault   = 1800
	unitsPerHoldDefault   = 10
	unitsPerBuyerDefault  = 10
	singleSeatsDefault    = SinglesNudge
	timeZoneDefault       = "UTC"
	publicChannelName     = "Public"
	withheldChannelName   = "Withheld"
	timeZoneCharactersMax = 64
)

// The codes of faults in paperwork. Clients act on them, so none is renamed.
const (
	faultRequired   = "REQUIRED"
	faultInvalid    = "INVALID"
	faultOutOfRange = "OUT_OF_RANGE"
	faultDuplicate  = "DUPLICATE"
	faultUnknown    = "UNKNOWN"
	faultTooMany    = "TOO_MANY"
	faultInThePast  = "IN_THE_PAST"
)

// slug is the form of the ids that organizers choose: short, and safe in a URL and in a style sheet.
var slug = regexp.MustCompile(`^[a-z0-9_-]{1,40}$`)

// faultList gathers what is wrong with a body, so that all of it is answered together. Fields are
// put under at. A fault names places and rules, never what the client sent.
type faultList struct {
	at   string
	list []Fault
}

func (f *faultList) add(field, code, detail string) {
	if len(f.list) < FaultsMax {
		f.list = append(f.list, Fault{Field: f.at + field, Code: code, Detail: detail})
	}
}

func (f *faultList) addf(field, code, format string, args ...any) {
	f.add(field, code, fmt.Sprintf(format, args...))
}

// has reports whether a fault at this field was found already.
func (f *faultList) has(field string) bool {
	for _, fault := range f.list {
		if fault.Field == f.at+field {
			return true
		}
	}
	return false
}

// err is nil, or the refusal of everything that was found.
func (f *faultList) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Refusal{Code: Invalid, Faults: f.list}
}

// first tells of the first fault in one text, for where no pointer can lead to it.
func (f *faultList) first() string { return f.list[0].Field + ": " + f.list[0].Detail }

// required checks that a new event has what it cannot do without.
func (f *faultList) required(given EventFields) {
	if given.StartsAt == nil {
		f.add("/starts_at", faultRequired, "An event has a start.")
	}
	if given.Name == nil {
		f.add("/name", faultRequired, "A name is needed.")
	}
	if given.Map == nil {
		f.add("/map", faultRequired, "An event takes place on a map.")
	}
	if given.Currency == nil {
		f.add("/currency", faultRequired, "A currency is needed.")
	}
}

// name checks a name that people will read.
func (f *faultList) name(field, name string) { f.nameWithin(field, name, nameRunesMax) }

// nameWithin checks a name of at most so many runes.
func (f *faultList) nameWithin(field, name string, runesMax int) {
	switch {
	case strings.TrimSpace(name) == "":
		f.add(field, faultRequired, "A name is needed.")
	case !PlainText(name, runesMax):
		f.addf(field, faultInvalid, "Such a name is one line of at most %d characters.", runesMax)
	}
}

// PlainText reports whether s is one line of valid text of at most so many runes.
func PlainText(s string, runesMax int) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= runesMax &&
		strings.IndexFunc(s, breaksText) < 0
}

// breaksText tells runes that would break a line or hide what follows them: controls, and the two
// separators that Unicode counts among the spaces.
func breaksText(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// reference checks the organizer's own name of a thing. The empty one takes a reference away.
func (f *faultList) reference(reference string) {
	if !PlainText(reference, referenceRunesMax) {
		f.addf("/reference", faultInvalid, "A reference is one line of at most %d characters.", referenceRunesMax)
	}
}

// metadata checks an organizer's own notes. Keys are the client's, so faults name no entry.
func (f *faultList) metadata(m map[string]string) {
	if len(m) > metadataMax {
		f.addf("/metadata", faultTooMany, "There may be at most %d entries.", metadataMax)
		return
	}
	for key, value := range m {
		if key == "" || !PlainText(key, metadataKeyMax) ||
			!utf8.ValidString(value) || utf8.RuneCountInString(value) > metadataValueMax {
			f.addf("/metadata", faultInvalid, "Keys have 1 to %d characters and values at most %d.", metadataKeyMax, metadataValueMax)
			return
		}
	}
}

// within checks a number against inclusive bounds and returns it if it keeps them, else what was there.
func (f *faultList) within(field string, value *int64, present, low, high int64) int64 {
	if value == nil {
		return present
	}
	if *value < low || *value > high {
		f.addf(field, faultOutOfRange, "It must be from %d to %d.", low, high)
		return present
	}
	return *value
}

// timeZone checks an IANA name. The zone of the machine that happens to serve is nobody's.
func (f *faultList) timeZone(name string) {
	if name == "" || name == "Local" || len(name) > timeZoneCharactersMax {
		f.add("/time_zone", faultInvalid, "It must be an IANA time zone such as Europe/Vienna.")
		return
	}
	if _, err := time.LoadLocation(name); err != nil {
		f.add("/time_zone", faultUnknown, "There is no such IANA time zone.")
	}
}

// currency checks an ISO 4217 code.
func (f *faultList) currency(code string) {
	switch {
	case code == "":
		f.add("/currency", faultRequired, "A currency is needed.")
	case !currency.IsValid(code):
		f.add("/currency", faultUnknown, "It must be a currency of ISO 4217, in capital letters.")
	}
}

// ticketTypes checks what units shall be sold as.
func (f *faultList) ticketTypes(types []TicketType) {
	if len(types) > typesMax {
		f.addf("/ticket_types", faultTooMany, "There may be at most %d ticket types.", typesMax)
		return
	}
	seen := make(map[string]bool, len(types))
	for i, t := range types {
		at := "/ticket_types/" + strconv.Itoa(i)
		f.slug(at+"/id", t.ID, seen)
		f.nameWithin(at+"/name", t.Name, typeNameRunesMax)
		if t.Price < 0 || t.Price > priceMax {
			f.addf(at+"/price", faultOutOfRange, "A price is from 0 to %d minor units.", int64(priceMax))
		}
	}
}

// slug checks an id that an organizer chose, and that it is chosen once.
func (f *faultList) slug(field, id string, seen map[string]bool) {
	switch {
	case id == "":
		f.add(field, faultRequired, "An id is needed.")
	case !slug.MatchString(id):
		f.add(field, faultInvalid, "An id has 1 to 40 of the characters a-z, 0-9, _ and -.")
	case seen[id]:
		f.add(field, faultDuplicate, "Another one has this id.")
	}
	seen[id] = true
}

// channelSpecs checks the channels of an event to be made.
func (f *faultList) channelSpecs(specs []ChannelSpec) {
	others := len(specs)
	if slices.ContainsFunc(specs, func(s ChannelSpec) bool { return s.ID == WithheldChannel }) {
		others--
	}
	if others > channelsMax-1 {
		f.addf("/channels", faultTooMany, "There may be at most %d channels beside the public one.", channelsMax-1)
		return
	}
	seen := make(map[string]bool, len(specs))
	for i, spec := range specs {
		at := "/channels/" + strconv.Itoa(i)
		f.slug(at+"/id", spec.ID, seen)
		if spec.ID == PublicChannel {
			f.add(at+"/id", faultInvalid, "The public channel is always there and has no codes.")
		}
		f.channel(at, spec)
		f.withheld(at, spec)
	}
}

// roomFor reports whether an event may have another channel. There is always room to withhold.
func (t *Terms) roomFor(id string) bool {
	n := len(t.Channels)
	if _, has := t.ChannelIndex(WithheldChannel); has {
		n--
	}
	return id == WithheldChannel || n < channelsMax
}

// withheld keeps the withheld channel shut.
func (f *faultList) withheld(at string, spec ChannelSpec) {
	if spec.ID == WithheldChannel && len(spec.Codes) > 0 {
		f.add(at+"/access_codes", faultInvalid, "Nobody can open the withheld channel.")
	}
}

// channel checks a channel's name and codes. A code travels in a header and is read out at counters,
// so it has no space that could be lost or doubled on the way.
func (f *faultList) channel(at string, spec ChannelSpec) {
	if spec.Name != "" {
		f.name(at+"/name", spec.Name)
	}
	if len(spec.Codes) > codesMax {
		f.addf(at+"/access_codes", faultTooMany, "A channel has at most %d codes.", codesMax)
		return
	}
	seen := make(map[string]bool, len(spec.Codes))
	for i, code := range spec.Codes {
		field := at + "/access_codes/" + strconv.Itoa(i)
		printable := strings.IndexFunc(code, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
		switch {
		case len(code) < codeBytesMin || len(code) > codeBytesMax || !printable:
			f.addf(field, faultInvalid, "A code has %d to %d printable ASCII characters and no spaces.", codeBytesMin, codeBytesMax)
		case seen[code]:
			f.add(field, faultDuplicate, "The channel has this code already.")
		}
		seen[code] = true
	}
}

// set checks the fields that are given and takes them over into e, all but the map, which has to be
// looked up. An instant that has passed is refused where it is new: what began as planned may be
// edited with its start repeated.
func (f *faultList) set(e *Event, given EventFields, now Instant) {
	if given.Name != nil {
		e.Name = *given.Name
		f.name("/name", e.Name)
	}
	if given.Reference != nil {
		e.Reference = *given.Reference
		f.reference(e.Reference)
	}
	if given.Metadata != nil {
		e.Metadata = *given.Metadata
		f.metadata(e.Metadata)
	}
	if given.StartsAt != nil {
		before := e.StartsAt
		e.StartsAt = *given.StartsAt
		switch {
		case e.StartsAt <= 0:
			f.add("/starts_at", faultInvalid, "It must be an instant after 1970.")
		case e.StartsAt != before && e.StartsAt <= now:
			f.add("/starts_at", faultInThePast, "The event would have begun already.")
		}
	}
	if given.TimeZone != nil {
		e.TimeZone = *given.TimeZone
		f.timeZone(e.TimeZone)
	}
	if given.Currency != nil {
		e.Terms.Currency = *given.Currency
		f.currency(e.Terms.Currency)
	}
	if given.Types != nil {
		e.Terms.Types = given.Types
		f.ticketTypes(e.Terms.Types)
	}
	if given.SingleSeats != nil {
		e.Terms.SingleSeats = SingleSeats(*given.SingleSeats)
		f.singleSeats(e.Terms.SingleSeats)
	}
	f.setSale(&e.Terms, given, now)
	f.setLimits(&e.Terms, given)
}

func (f *faultList) singleSeats(rule SingleSeats) {
	switch rule {
	case SinglesOff, SinglesNudge, SinglesStrict:
	default:
		f.add("/single_seats", faultInvalid, "The rule on single seats is off, nudge or strict.")
	}
}

// setSale takes over the sale window. An end that has passed would make an event that nobody can
// buy from, which is never meant: pausing and closing are there for it.
func (f *faultList) setSale(t *Terms, given EventFields, now Instant) {
	before := t.SaleUntil
	if given.SaleFrom != nil {
		t.SaleFrom = *given.SaleFrom
	}
	if given.SaleUntil != nil {
		t.SaleUntil = *given.SaleUntil
	}
	if given.SaleFrom == nil && given.SaleUntil == nil {
		return
	}
	if t.SaleFrom < 0 {
		f.add("/sale/starts_at", faultInvalid, "It must be an instant after 1970.")
	}
	switch {
	case t.SaleUntil < 0:
		f.add("/sale/ends_at", faultInvalid, "It must be an instant after 1970.")
	case t.SaleUntil != 0 && t.SaleFrom >= t.SaleUntil:
		f.add("/sale/ends_at", faultInvalid, "The sale must end after it starts.")
	case t.SaleUntil != before && t.SaleUntil != 0 && t.SaleUntil <= now:
		f.add("/sale/ends_at", faultInThePast, "The sale would be over already.")
	}
}

// setLimits takes over the limits; seconds and units.
func (f *faultList) setLimits(t *Terms, given EventFields) {
	t.HoldSeconds = f.within("/limits/hold_seconds", given.HoldSeconds, t.HoldSeconds, 1, holdSecondsTop)
	t.HoldMax = f.within("/limits/hold_seconds_max", given.HoldSecondsMax, t.HoldMax, 1, holdLifetimeTop)
	t.UnitsPerHold = f.within("/limits/units_per_hold", given.UnitsPerHold, t.UnitsPerHold, 1, unitsPerHoldMax)
	t.UnitsPerBuyer = f.within("/limits/units_per_buyer", given.UnitsPerBuyer, t.UnitsPerBuyer, 1, unitsPerBuyerMax)
	if t.HoldMax < t.HoldSeconds && !f.has("/limits/hold_seconds") && !f.has("/limits/hold_seconds_max") {
		f.add("/limits/hold_seconds_max", faultOutOfRange, "It must not be less than hold_seconds.")
	}
}
