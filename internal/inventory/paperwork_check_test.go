package inventory

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones do not depend on the machine
)

// noon is the present in these tests.
var noon = InstantOf(time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC))

// codesOf lists what was found as "field code".
func codesOf(f *faultList) []string {
	var out []string
	for _, fault := range f.list {
		out = append(out, fault.Field+" "+fault.Code)
	}
	return out
}

func TestEveryBadFieldIsNamedWithItsCode(t *testing.T) {
	long := strings.Repeat("ä", nameRunesMax+1)
	many := make(map[string]string)
	for i := range metadataMax + 1 {
		many[strings.Repeat("k", i+1)] = ""
	}
	one := func(id, name string, price int64) []TicketType { return []TicketType{{id, name, price}} }
	for name, test := range map[string]struct {
		given EventFields
		want  string
	}{
		"blank name":               {EventFields{Name: new(" \t ")}, "/name REQUIRED"},
		"long name":                {EventFields{Name: &long}, "/name INVALID"},
		"name of two lines":        {EventFields{Name: new("a\nb")}, "/name INVALID"},
		"name with line separator": {EventFields{Name: new("a\u2028b")}, "/name INVALID"},
		"name of broken text":      {EventFields{Name: new("a\xff")}, "/name INVALID"},
		"long reference":           {EventFields{Reference: &long}, "/reference INVALID"},
		"too much metadata":        {EventFields{Metadata: &many}, "/metadata TOO_MANY"},
		"empty metadata key":       {EventFields{Metadata: &map[string]string{"": "x"}}, "/metadata INVALID"},
		"long metadata value":      {EventFields{Metadata: &map[string]string{"k": strings.Repeat("x", metadataValueMax+1)}}, "/metadata INVALID"},
		"no instant":               {EventFields{StartsAt: new(Instant(0))}, "/starts_at INVALID"},
		"machine's zone":           {EventFields{TimeZone: new("Local")}, "/time_zone INVALID"},
		"no zone":                  {EventFields{TimeZone: new("")}, "/time_zone INVALID"},
		"unknown zone":             {EventFields{TimeZone: new("Europe/Atlantis")}, "/time_zone UNKNOWN"},
		"zone up the tree":         {EventFields{TimeZone: new("../../etc/passwd")}, "/time_zone UNKNOWN"},
		"no currency":              {EventFields{Currency: new("")}, "/currency REQUIRED"},
		"lower-case currency":      {EventFields{Currency: new("eur")}, "/currency UNKNOWN"},
		"type without id":          {EventFields{Types: one("", "A", 1)}, "/ticket_types/0/id REQUIRED"},
		"type id in capitals":      {EventFields{Types: one("A", "A", 1)}, "/ticket_types/0/id INVALID"},
		"type without name":        {EventFields{Types: one("a", "", 1)}, "/ticket_types/0/name REQUIRED"},
		"type with a long name":    {EventFields{Types: one("a", strings.Repeat("ä", typeNameRunesMax+1), 1)}, "/ticket_types/0/name INVALID"},
		"negative price":           {EventFields{Types: one("a", "A", -1)}, "/ticket_types/0/price OUT_OF_RANGE"},
		"huge price":               {EventFields{Types: one("a", "A", priceMax+1)}, "/ticket_types/0/price OUT_OF_RANGE"},
		"type twice":               {EventFields{Types: []TicketType{{"a", "A", 1}, {"a", "B", 1}}}, "/ticket_types/1/id DUPLICATE"},
		"too many types":           {EventFields{Types: make([]TicketType, typesMax+1)}, "/ticket_types TOO_MANY"},
		"sale backwards":           {EventFields{SaleFrom: new(noon.Add(9)), SaleUntil: new(noon.Add(9))}, "/sale/ends_at INVALID"},
		"sale over":                {EventFields{SaleUntil: new(noon)}, "/sale/ends_at IN_THE_PAST"},
		"sale before time":         {EventFields{SaleFrom: new(Instant(-1))}, "/sale/starts_at INVALID"},
		"sale ends before time":    {EventFields{SaleUntil: new(Instant(-1))}, "/sale/ends_at INVALID"},
		"bad lifetime, long hold":  {EventFields{HoldSeconds: new(int64(3600)), HoldSecondsMax: new(int64(-1))}, "/limits/hold_seconds_max OUT_OF_RANGE"},
		"hold of no seconds":       {EventFields{HoldSeconds: new(int64(0))}, "/limits/hold_seconds OUT_OF_RANGE"},
		"hold of a day and more":   {EventFields{HoldSeconds: new(int64(86_401))}, "/limits/hold_seconds OUT_OF_RANGE"},
		"lifetime below hold":      {EventFields{HoldSecondsMax: new(int64(599))}, "/limits/hold_seconds_max OUT_OF_RANGE"},
		"lifetime over a week":     {EventFields{HoldSecondsMax: new(int64(604_801))}, "/limits/hold_seconds_max OUT_OF_RANGE"},
		"no units per hold":        {EventFields{UnitsPerHold: new(int64(0))}, "/limits/units_per_hold OUT_OF_RANGE"},
		"many units per hold":      {EventFields{UnitsPerHold: new(int64(101))}, "/limits/units_per_hold OUT_OF_RANGE"},
		"many units per buyer":     {EventFields{UnitsPerBuyer: new(int64(10_001))}, "/limits/units_per_buyer OUT_OF_RANGE"},
	} {
		e := &Event{Terms: Terms{HoldSeconds: 600, HoldMax: 1800, UnitsPerHold: 10, UnitsPerBuyer: 10}}
		found := faultList{}
		found.set(e, test.given, noon)
		if got := codesOf(&found); !slices.Equal(got, []string{test.want}) {
			t.Errorf("%s: got %v, want %s alone", name, got, test.want)
		}
	}
}

func TestFieldsAtTheirBoundsAreTaken(t *testing.T) {
	name := strings.Repeat("ä", nameRunesMax)
	given := EventFields{
		Name: &name, StartsAt: new(noon.Add(1)), TimeZone: new("Europe/Vienna"), Currency: new("JPY"), Reference: new(""),
		SaleFrom: new(Instant(0)), SaleUntil: new(noon.Add(1)), Metadata: &map[string]string{strings.Repeat("k", 40): strings.Repeat("v", 500)},
		Types:       []TicketType{{strings.Repeat("a", 40), strings.Repeat("ä", typeNameRunesMax), 0}, {"b_-9", "B", priceMax}},
		HoldSeconds: new(int64(86_400)), HoldSecondsMax: new(int64(604_800)), UnitsPerHold: new(int64(100)), UnitsPerBuyer: new(int64(10_000)),
	}
	var e Event
	var found faultList
	found.required(EventFields{Name: &name, StartsAt: given.StartsAt, Map: new("map_1"), Currency: given.Currency})
	found.set(&e, given, noon)
	if len(found.list) > 0 {
		t.Fatalf("refused: %v", codesOf(&found))
	}
	if e.Name != name || e.Terms.HoldMax != 604_800 || e.Terms.HoldSeconds != 86_400 || len(e.Terms.Types) != 2 || e.Terms.SaleUntil != noon.Add(1) {
		t.Errorf("not taken over: %+v", e)
	}
}

func TestANewEventNamesAllThatIsMissing(t *testing.T) {
	var found faultList
	found.required(EventFields{})
	want := []string{"/starts_at REQUIRED", "/name REQUIRED", "/map REQUIRED", "/currency REQUIRED"}
	if got := codesOf(&found); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAStartThatHasPassedIsRefusedWhereItIsNew(t *testing.T) {
	for name, test := range map[string]struct{ before, given Instant }{
		"a new event that begins now":         {0, noon},
		"an event to come, put into the past": {noon.Add(9), noon.Add(-9)},
		"a past event, put elsewhere in it":   {noon.Add(-9), noon.Add(-8)},
	} {
		found := faultList{at: "/3"}
		e := &Event{StartsAt: test.before, Terms: Terms{HoldSeconds: 1, HoldMax: 1}}
		found.set(e, EventFields{StartsAt: &test.given}, noon)
		if got := codesOf(&found); !slices.Equal(got, []string{"/3/starts_at IN_THE_PAST"}) {
			t.Errorf("%s: got %v", name, got)
		}
	}
	var found faultList
	e := &Event{StartsAt: noon.Add(-9), Terms: Terms{HoldSeconds: 1, HoldMax: 1}}
	found.set(e, EventFields{StartsAt: new(noon.Add(-9))}, noon)
	if len(found.list) > 0 {
		t.Errorf("a start that does not change is refused: %v", codesOf(&found))
	}
}

func TestASaleThatEndedStaysAsItIs(t *testing.T) {
	e := &Event{Terms: Terms{SaleUntil: noon.Add(-9), HoldSeconds: 1, HoldMax: 1}}
	var found faultList
	found.set(e, EventFields{SaleFrom: new(noon.Add(-99)), SaleUntil: new(noon.Add(-9))}, noon)
	if len(found.list) > 0 {
		t.Errorf("an end that does not change is refused: %v", codesOf(&found))
	}
}

func TestChannelsAndCodesAreChecked(t *testing.T) {
	var found faultList
	found.channelSpecs([]ChannelSpec{
		{ID: "public"},
		{ID: "press", Name: "a\nb", Codes: []string{"abc", "abcd", "abcd", "spaced ", "line\nfeed", "grüße", strings.Repeat("x", 65), "with space"}},
		{ID: "press"},
		{ID: "Press"},
		{ID: "many", Codes: make([]string, codesMax+1)},
	})
	want := []string{
		"/channels/0/id INVALID", "/channels/1/name INVALID",
		"/channels/1/access_codes/0 INVALID", "/channels/1/access_codes/2 DUPLICATE", "/channels/1/access_codes/3 INVALID",
		"/channels/1/access_codes/4 INVALID", "/channels/1/access_codes/5 INVALID", "/channels/1/access_codes/6 INVALID", "/channels/1/access_codes/7 INVALID",
		"/channels/2/id DUPLICATE", "/channels/3/id INVALID", "/channels/4/access_codes TOO_MANY",
	}
	if got := codesOf(&found); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	found = faultList{}
	found.channelSpecs(make([]ChannelSpec, channelsMax))
	if got := codesOf(&found); !slices.Equal(got, []string{"/channels TOO_MANY"}) {
		t.Errorf("too many: got %v", got)
	}
}

func TestNoFaultRepeatsWhatTheClientSent(t *testing.T) {
	const secret = "<b>secret</b>"
	var found faultList
	found.set(&Event{}, EventFields{
		Name: new(secret + "\n"), TimeZone: new(secret), Currency: new(secret), Reference: new(secret + "\n"),
		Types: []TicketType{{secret, secret + "\n", -1}}, Metadata: &map[string]string{secret + strings.Repeat("k", 40): ""},
	}, noon)
	found.channelSpecs([]ChannelSpec{{ID: secret, Codes: []string{secret + "\n"}}})
	if len(found.list) < 8 {
		t.Fatalf("only %v", codesOf(&found))
	}
	for _, fault := range found.list {
		if strings.Contains(fault.Field+fault.Detail, "secret") {
			t.Errorf("%+v repeats the client's value", fault)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	var found faultList
	found.channelSpecs([]ChannelSpec{{ID: "a", Codes: slices.Repeat([]string{"x"}, codesMax)}})
	refusal, ok := errors.AsType[*Refusal](found.err())
	if !ok || refusal.Code != Invalid || len(refusal.Faults) != FaultsMax {
		t.Errorf("got %v with %d faults", refusal, len(found.list))
	}
}
