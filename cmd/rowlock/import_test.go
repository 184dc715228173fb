package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowlock/rowlock/internal/document"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/seatmap"
)

const carriedCode = "open-sesame"

var madeID = regexp.MustCompile(`(?m)^(venue|map|event) (\w+)$`)

// ids reads what import prints.
func ids(out string) map[string]string {
	made := make(map[string]string)
	for _, m := range madeID.FindAllStringSubmatch(out, -1) {
		made[m[1]] = m[2]
	}
	return made
}

// soldEvent makes a database with an event that has everything an event can have, on sale, repainted
// since, and sold to somebody. It returns the database's URL and the event's id.
func soldEvent(t *testing.T) (db, event string) {
	t.Helper()
	h, path := demoHouse(t)
	ctx := t.Context()
	organizer, err := demoOrganizerID(ctx, h.office)
	if err != nil {
		t.Fatal(err)
	}
	caller := inventory.Caller{Organizer: organizer, Key: "key_test"}
	show := theatreStaging()
	seatMap, err := demoMap(ctx, h.service, caller, show)
	if err != nil {
		t.Fatal(err)
	}
	spec := show.spec(seatMap, time.Now())
	until := *spec.Fields.StartsAt
	spec.Fields.Metadata = &map[string]string{"b": "two", "a": "one", "c": "{\"not\": [json]}"}
	spec.Fields.SaleUntil = &until
	spec.Fields.UnitsPerHold = new(int64(7))
	spec.Channels = []inventory.ChannelSpec{{ID: "sponsors", Name: "Sponsors", Codes: []string{carriedCode}}}
	made, err := h.service.CreateEvents(ctx, caller, []inventory.EventSpec{spec}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	event = made[0].Event.ID
	for _, verb := range []string{"publish", "open"} {
		if _, err := h.service.Transition(ctx, caller, event, verb, nil); err != nil {
			t.Fatal(err)
		}
	}
	repaint := inventory.Rule{Where: inventory.Where{Seats: []string{"STALLS-D-3", "BALCONY-A-1"}}, Channel: "sponsors"}
	if _, err := h.service.Repaint(ctx, caller, event, repaint, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := h.service.Claim(ctx, inventory.ClaimRequest{
		Event: event, Basket: inventory.Basket{Seats: []string{"STALLS-D-4"}}, Reference: "a-buyers-reference",
	}); err != nil {
		t.Fatal(err)
	}
	return "sqlite:" + path, event
}

// file writes a file for a test.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "document.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func emptyDatabase(t *testing.T) string {
	t.Helper()
	db := "sqlite:" + filepath.Join(t.TempDir(), "other.db")
	mustCall(t, "migrate", "--db", db)
	return db
}

func TestAnExportedEventComesBackTheSame(t *testing.T) {
	clean(t)
	db, event := soldEvent(t)
	first := mustCall(t, "export", "--event", event, "--db", db)
	for _, secret := range []string{carriedCode, "access_codes", "a-buyers-reference", "key_test", event} {
		if strings.Contains(first, secret) {
			t.Errorf("the document tells %s", secret)
		}
	}
	for _, want := range []string{
		`{"id":"sponsors","name":"Sponsors"}`, `"single_seats": "nudge"`, `"units_per_hold":7`, `"ends_at":`, `{"a":"one","b":"two","c":"{\"not\": [json]}"}`,
		`"venue": {"reference":"demo-theatre","name":"Demo Theatre"}`, `"time_zone": "Europe/Vienna"`, `{"id":"concession","name":"Concession","price":3000}`,
	} {
		if !strings.Contains(first, want) {
			t.Errorf("the document has no %s:\n%.3000s", want, first)
		}
	}
	other := emptyDatabase(t)
	path := file(t, first)
	if out := mustCall(t, "import", "--check", path); !strings.Contains(out, "an event and its map with 300 seats and 1 areas") {
		t.Errorf("the check says %q", out)
	}
	made := ids(mustCall(t, "import", path, "--organizer", "Another House", "--db", other))
	if second := mustCall(t, "export", "--event", made["event"], "--db", other); second != first {
		t.Errorf("exported as\n%.3000s\nand after an import as\n%.3000s", first, second)
	}
	mapOnly := mustCall(t, "export", "--event", event, "--map-only", "--db", db)
	for _, args := range [][]string{{"--map", made["map"]}, {"--venue", made["venue"]}, {"--event", made["event"], "--map-only"}} {
		if got := mustCall(t, append([]string{"export", "--db", other}, args...)...); got != mapOnly {
			t.Errorf("export %v is another map", args)
		}
	}
	mustCall(t, "audit", "--db", other)
}

// What is sold of the new event is what is sold of the old one, seat by seat.
func TestAnImportedEventSellsWhatTheOldOneDoes(t *testing.T) {
	clean(t)
	db, event := soldEvent(t)
	h, path := demoHouse(t)
	out := mustCall(t, "import", file(t, mustCall(t, "export", "--event", event, "--db", db)), "--organizer", "B", "--db", "sqlite:"+path)
	again := ids(out)["event"]
	o, err := organizerNamed(t.Context(), h.office, "B")
	if err != nil {
		t.Fatal(err)
	}
	caller := inventory.Caller{Organizer: o.ID}
	view, err := h.service.Event(t.Context(), caller, again)
	if err != nil || view.Event.Terms.State != inventory.Draft {
		t.Fatalf("it is made as %+v, %v", view, err)
	}
	for _, verb := range []string{"publish", "open"} {
		if _, err := h.service.Transition(t.Context(), caller, again, verb, nil); err != nil {
			t.Fatal(err)
		}
	}
	for seat, sold := range map[string]bool{
		"STALLS-D-3": false, "BALCONY-A-1": false, "STALLS-H-1": false, "STALLS-D-4": true, "STALLS-D-5": true, "STALLS-A-1": true,
	} {
		_, err := h.service.Claim(t.Context(), inventory.ClaimRequest{Event: again, Basket: inventory.Basket{Seats: []string{seat}}})
		if (err == nil) != sold {
			t.Errorf("%s: claimed with %v", seat, err)
		}
	}
}

func TestAMapIsImportedIntoAVenueAsItsNextVersion(t *testing.T) {
	clean(t)
	db := emptyDatabase(t)
	old, young := file(t, mustCall(t, "generate", "theatre", "--seats", "60")), file(t, mustCall(t, "generate", "arena", "--seats", "60"))
	venue := ids(mustCall(t, "import", old, "--organizer", "A", "--db", db))["venue"]
	made := ids(mustCall(t, "import", young, "--organizer", "A", "--venue", venue, "--db", db))
	if made["venue"] != "" || made["map"] == "" {
		t.Errorf("made %v", made)
	}
	latest := mustCall(t, "export", "--venue", venue, "--db", db)
	if want, err := os.ReadFile(young); err != nil || latest != string(want) {
		t.Errorf("the latest map of the venue is not the arena: %v", err)
	}
	if code, _, errs := call(t, "import", young, "--organizer", "B", "--venue", venue, "--db", db); code != exitSetting || !strings.Contains(errs, "--organizer") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	mustCall(t, "key", "create", "--organizer", "B", "--db", db)
	if code, _, errs := call(t, "import", young, "--organizer", "B", "--venue", venue, "--db", db); code != exitSetting || !strings.Contains(errs, "--venue") {
		t.Errorf("another's venue: exit code %d, %s", code, errs)
	}
	for _, args := range [][]string{{"--map", "map_x"}, {"--venue", "ven_x"}, {"--event", "evt_x"}, {"--map", venue}} {
		if code, _, errs := call(t, append([]string{"export", "--db", db}, args...)...); code != exitSetting || !strings.Contains(errs, args[0]) {
			t.Errorf("export %v: exit code %d, %s", args, code, errs)
		}
	}
}

func TestAnImportGoesThroughAServer(t *testing.T) {
	clean(t)
	db, event := soldEvent(t)
	document := mustCall(t, "export", "--event", event, "--db", db)
	other := emptyDatabase(t)
	key := strings.TrimSpace(mustCall(t, "key", "create", "--organizer", "House", "--db", other))
	s := startServing(t, "--db", other)
	to := []string{"--url", "http://" + s.address, "--key", key}
	made := ids(mustCall(t, append([]string{"import", file(t, document)}, to...)...))
	if second := mustCall(t, "export", "--event", made["event"], "--db", other); second != document {
		t.Error("an event that went through a server is another one")
	}
	code, _, errs := call(t, append([]string{"import", file(t, document)}, to...)...)
	if code != exitSetting || !strings.Contains(errs, "--reference") || !strings.Contains(errs, made["event"]) {
		t.Errorf("a second time: exit code %d, %s", code, errs)
	}
	code, out, errs := call(t, append([]string{"import", file(t, document), "--reference", "second"}, to...)...)
	if code != exitSetting || !strings.Contains(errs, "--venue") || out != "" {
		t.Errorf("with the venue's reference in use: exit code %d, %s%s", code, out, errs)
	}
	mustCall(t, append([]string{"import", file(t, document), "--reference", "", "--venue", made["venue"]}, to...)...)
	if code, _, _ := call(t, "import", file(t, document), "--url", to[1], "--key", "rk_wrong"); code != exitFailure {
		t.Errorf("with a wrong key: exit code %d", code)
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, s.log)
	}
}

func TestAnEventThatIsPastIsImportedWithAnotherStart(t *testing.T) {
	clean(t)
	document := strings.Replace(smallEvent(t), "2099-05-01T17:30:00Z", "2001-05-01T17:30:00Z", 1)
	document = strings.Replace(document, `"currency"`, `"sale": {"starts_at":"2001-04-01T00:00:00Z","ends_at":"2001-05-01T17:00:00Z"}, "currency"`, 1)
	path := file(t, document)
	code, _, errs := call(t, "import", "--check", path)
	if code != exitFailure || !strings.Contains(errs, "/event/starts_at IN_THE_PAST") || !strings.Contains(errs, "/event/sale/ends_at IN_THE_PAST") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	db := emptyDatabase(t)
	made := ids(mustCall(t, "import", path, "--starts-at", "2098-05-01T18:30:00+01:00", "--organizer", "A", "--db", db))
	out := mustCall(t, "export", "--event", made["event"], "--db", db)
	for _, want := range []string{`"starts_at": "2098-05-01T17:30:00Z"`, `{"starts_at":"2098-04-01T00:00:00Z","ends_at":"2098-05-01T17:00:00Z"}`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// smallEvent is a document by hand; the tests of faults know its lines.
func smallEvent(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../internal/document/testdata/event.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFaultsAreToldWithTheirPointerAndTheirLine(t *testing.T) {
	clean(t)
	if out := mustCall(t, "import", "--check", file(t, smallEvent(t))); !strings.Contains(out, "2 seats") {
		t.Fatalf("the sound one is told as %q", out)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"EUR"`, `"XYZ"`, ":5: /event/currency UNKNOWN"},
		{`"currency": "EUR",`, ``, "4: /event/currency REQUIRED"},
		{`, "price": 4500`, ``, ":7: /event/ticket_types/0/price REQUIRED"},
		{`["S"]`, `["T"]`, ":10: /event/allocations/0/where/sections/0 UNKNOWN"},
		{`["standard"]`, `["premium"]`, ":10: /event/allocations/0/set/ticket_types/0 UNKNOWN"},
		{`"x": 10`, `"x": 0`, ":18: /map/sections/0/rows/0/seats/1 OVERLAP"},
		{`"label": "2"`, `"label": "1"`, ":18: /map/sections/0/rows/0/seats/1/key DUPLICATE"},
		{`"label": "2"`, `"lable": "2"`, ":18: /map/sections/0/rows/0/seats/1/lable UNKNOWN_FIELD"},
		{`"y": 10},`, `"y": 10},,`, ":17: "},
		{"\"rows\": [\n", "\"rows\": [\n\n\n\xff", ":18: "},
		{`"map": {`, `"event": {`, ":13: /event DUPLICATE_KEY"},
		{`rowlock-event/1`, `rowlock-event/2`, ":2: /format UNSUPPORTED_FORMAT"},
		{`"rowlock-event/1"`, `null`, ":2: /format UNSUPPORTED_FORMAT"},
		{`{"name": "Example House"}`, `{}`, ":3: /venue/name REQUIRED"},
		{`{"name": "Example House"}`, `{"name": null}`, ":3: /venue/name REQUIRED"},
		{`"currency"`, `"map": "map_1", "currency"`, ":5: /event/map UNKNOWN_FIELD"},
		{`"currency"`, `"copy": "evt_1", "currency"`, ":5: /event/copy UNKNOWN_FIELD"},
		{`"currency"`, "\"\x1b[31m\\u001b[2J\": 1, \"currency\"", ":5: "},
		{`"currency"`, "\"\\u001b[2J\": 1, \"currency\"", ":5: \"/event/\\x1b[2J\" UNKNOWN_FIELD"},
	} {
		path := file(t, strings.Replace(smallEvent(t), tt.old, tt.new, 1))
		code, out, errs := call(t, "import", "--check", path)
		if code != exitFailure || !strings.Contains(errs, tt.want) || out != "" || !strings.Contains(errs, "nothing was made") {
			t.Errorf("%q for %q: exit code %d, want %s in %s%s", tt.new, tt.old, code, tt.want, errs, out)
		}
		if strings.Contains(errs, "\x1b") {
			t.Errorf("%q steers the terminal: %q", tt.new, errs)
		}
	}
}

func TestAFaultyFileMakesNothing(t *testing.T) {
	clean(t)
	db := emptyDatabase(t)
	code, out, _ := call(t, "import", file(t, strings.Replace(smallEvent(t), `["S"]`, `["T"]`, 1)), "--organizer", "A", "--db", db)
	if code != exitFailure || out != "" {
		t.Errorf("exit code %d, %s", code, out)
	}
	if keys := mustCall(t, "key", "list", "--db", db); strings.Contains(keys, "A") && strings.Contains(keys, "key_") {
		t.Errorf("there is an organizer: %s", keys)
	}
	if code, _, errs := call(t, "key", "list", "--organizer", "A", "--db", db); code != exitSetting {
		t.Errorf("the organizer was made: %s", errs)
	}
}

func TestHostileFilesAreRefused(t *testing.T) {
	clean(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.Symlink(at("link.json"), at("link.json")), os.Symlink("/dev/zero", at("device.json")), syscall.Mkfifo(at("pipe.json"), 0o600), os.Mkdir(at("dir.json"), 0o700),
		os.WriteFile(at("large.json"), nil, 0o600), os.Truncate(at("large.json"), document.BytesMax+1),
		os.WriteFile(at("empty.json"), nil, 0o600),
		os.WriteFile(at("deep.json"), []byte(strings.Repeat("[", 1<<20)), 0o600),
		os.WriteFile(at("zeros.json"), make([]byte, 1<<20), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{
		"link.json": exitSetting, "device.json": exitSetting, "pipe.json": exitSetting, "dir.json": exitSetting, "large.json": exitSetting, "absent.json": exitSetting,
		"empty.json": exitFailure, "deep.json": exitFailure, "zeros.json": exitFailure,
	} {
		code, out, errs := call(t, "import", "--check", at(name))
		if code != want || out != "" || len(errs) > 2_000 {
			t.Errorf("%s: exit code %d, want %d: %.300s%s", name, code, want, errs, out)
		}
	}
}

func TestALinkIsTheFileItLeadsTo(t *testing.T) {
	clean(t)
	path := filepath.Join(t.TempDir(), "link.json")
	if err := os.Symlink(file(t, smallEvent(t)), path); err != nil {
		t.Fatal(err)
	}
	mustCall(t, "import", "--check", path)
}

func TestWhatIsPipedInIsImported(t *testing.T) {
	clean(t)
	for text, want := range map[string]int{smallEvent(t): exitOK, "": exitFailure, strings.Repeat(" ", document.BytesMax+1): exitSetting} {
		var out, errs strings.Builder
		code := run(t.Context(), []string{"import", "--check", "-"}, streams{in: strings.NewReader(text), out: &out, err: &errs})
		if code != want {
			t.Errorf("%d bytes: exit code %d, want %d: %s%s", len(text), code, want, errs.String(), out.String())
		}
	}
}

func TestManyFaultsAreNotCountedAsAll(t *testing.T) {
	clean(t)
	seats := strings.Repeat(`{"label":""},`, 99) + `{"label":""}`
	text := `{"format":"rowlock-map/1","name":"x","sections":[{"key":"S","name":"S","rows":[{"label":"A","seats":[` + seats + `]}]}]}`
	code, _, errs := call(t, "import", "--check", file(t, text))
	if code != exitFailure || !strings.Contains(errs, fmt.Sprintf("%d faults, and perhaps more", inventory.FaultsMax)) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// Every seat gets a combination of ticket types of its own, which is more than the rules of a draft can say.
func TestAnExportThatCannotBeImportedSaysSo(t *testing.T) {
	clean(t)
	h, path := demoHouse(t)
	ctx := t.Context()
	organizer, err := demoOrganizerID(ctx, h.office)
	if err != nil {
		t.Fatal(err)
	}
	caller := inventory.Caller{Organizer: organizer, Key: "key_test"}
	show := theatreStaging()
	seatMap, err := demoMap(ctx, h.service, caller, show)
	if err != nil {
		t.Fatal(err)
	}
	spec := show.spec(seatMap, time.Now())
	const types = 8
	spec.Fields.Types = nil
	var all []string
	for i := range types {
		id := fmt.Sprintf("t%d", i)
		all = append(all, id)
		spec.Fields.Types = append(spec.Fields.Types, inventory.TicketType{ID: id, Name: id, Price: 100})
	}
	spec.Rules = []inventory.Rule{{Where: inventory.Where{All: true}, Types: all}}
	made, err := h.service.CreateEvents(ctx, caller, []inventory.EventSpec{spec}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	event := made[0].Event.ID
	if _, err := h.service.Transition(ctx, caller, event, "publish", nil); err != nil {
		t.Fatal(err)
	}
	_, drawing, err := h.service.EventMap(ctx, caller, event)
	if err != nil {
		t.Fatal(err)
	}
	m, err := seatmap.Parse(drawing)
	if err != nil {
		t.Fatal(err)
	}
	for i, seat := range seatmap.NewPlan(m).Seats[:201] {
		var some []string
		for bit, id := range all {
			if (i+1)>>bit&1 == 1 {
				some = append(some, id)
			}
		}
		if _, err := h.service.Repaint(ctx, caller, event, inventory.Rule{Where: inventory.Where{Seats: []string{seat.Key}}, Types: some}, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := call(t, "export", "--event", event, "--db", "sqlite:"+path)
	if code != exitFailure || !strings.Contains(errs, "/event/allocations TOO_MANY") || !strings.Contains(out, `"allocations"`) {
		t.Errorf("exit code %d: %s%.300s", code, errs, out)
	}
}

func TestAnExportOverwritesNothing(t *testing.T) {
	clean(t)
	path := file(t, "kept")
	code, _, errs := call(t, "generate", "theatre", "--seats", "20", "--to", path)
	if data, err := os.ReadFile(path); code != exitSetting || !strings.Contains(errs, "--to") || err != nil || string(data) != "kept" {
		t.Errorf("exit code %d, %s: %q, %v", code, errs, data, err)
	}
}

func BenchmarkImport60000(b *testing.B) {
	m, err := seatmap.Generate(seatmap.KindBowl, 60_000)
	if err != nil {
		b.Fatal(err)
	}
	data, err := m.Encode()
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "bowl.json")
	if err := os.WriteFile(path, document.LayOut(data), 0o600); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		db := "sqlite:" + filepath.Join(b.TempDir(), fmt.Sprintf("%d.db", i))
		for _, args := range [][]string{{"migrate", "--db", db}, {"import", path, "--organizer", "A", "--db", db}} {
			if code := run(context.Background(), args, streams{out: new(strings.Builder), err: new(strings.Builder)}); code != exitOK {
				b.Fatalf("%v: exit code %d", args, code)
			}
		}
	}
}
