package seatmap

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// roundingMax is what two coordinates that are rounded to a tenth can take from a distance.
const roundingMax = 0.15

var (
	generatedKey   = regexp.MustCompile(`^(STALLS|CIRCLE|BALCONY|[1-9][0-9]{2})-([A-HJ-NP-Z]{1,3}|[1-9][0-9]{0,2})-[1-9][0-9]{0,3}$`)
	generatedLabel = regexp.MustCompile(`^Row ([A-HJ-NP-Z]{1,3}|[1-9][0-9]{0,2}) Seat [1-9][0-9]{0,3}$`)
)

// fataler is what testing.TB and rapid.T have in common here.
type fataler interface {
	failer
	Fatalf(format string, args ...any)
}

// checkVenue holds what is promised of every generated venue.
func checkVenue(t fataler, kind Kind, seats int) {
	t.Helper()
	m, err := Generate(kind, seats)
	if err != nil {
		t.Fatal(err)
	}
	data, err := m.Encode()
	if err != nil {
		t.Fatalf("%s of %d: %v", kind, seats, err)
	}
	read, err := Parse(data)
	if err != nil {
		t.Fatalf("%s of %d: %v", kind, seats, err)
	}
	again, err := Generate(kind, seats)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := again.Encode(); err != nil || !bytes.Equal(second, data) {
		t.Fatalf("%s of %d is drawn in two ways", kind, seats)
	}
	p := NewPlan(read)
	if len(p.Seats) != seats {
		t.Fatalf("%s has %d of %d seats", kind, len(p.Seats), seats)
	}
	if standing := len(p.Areas) > 0; standing != (kind == KindArena) {
		t.Fatalf("%s has the areas %v", kind, p.Areas)
	}
	checkPlan(t, p)
	checkRows(t, read, p)
	checkSpacing(t, p)
	checkAccess(t, kind, p)
}

// checkRows holds that aisles are marked where rows are apart and nowhere else, that seats between
// them are a pitch apart, and that the texts are those of a house.
func checkRows(t fataler, m *Map, p *Plan) {
	t.Helper()
	breaks, rows := 0, 0
	for _, section := range m.Sections {
		for _, row := range section.Rows {
			rows++
			for k := range len(row.Seats) - 1 {
				switch apart := gap(row.Seats, k); {
				case row.Seats[k].BreakAfter && apart >= generatedAisle-roundingMax:
					breaks++
				case !row.Seats[k].BreakAfter && math.Abs(apart-generatedPitch) < roundingMax:
				default:
					t.Fatalf("%s is %.1f from its neighbour, aisle: %v", row.Seats[k].Key, apart, row.Seats[k].BreakAfter)
				}
			}
			if row.Seats[len(row.Seats)-1].BreakAfter {
				t.Fatalf("row %s ends with an aisle inside it", row.Key)
			}
		}
	}
	if len(p.Runs()) != rows+breaks {
		t.Fatalf("%d rows with %d aisles are %d runs", rows, breaks, len(p.Runs()))
	}
	for i := range p.Seats {
		if s := &p.Seats[i]; !generatedKey.MatchString(s.Key) || !generatedLabel.MatchString(s.Label) {
			t.Fatalf("seat %q is called %q", s.Key, s.Label)
		}
	}
}

// checkSpacing holds that no seat stands in another: a pitch apart in a row, a row's step otherwise,
// and that everybody is some way from what is looked at.
func checkSpacing(t fataler, p *Plan) {
	t.Helper()
	type cell struct{ x, y int }
	cells := make(map[cell][]int)
	at := func(i int) cell {
		return cell{int(math.Floor(p.Seats[i].X / generatedRowStep)), int(math.Floor(p.Seats[i].Y / generatedRowStep))}
	}
	for i := range p.Seats {
		if d := p.FocalDistance(i); d < 150 {
			t.Fatalf("%s is %.1f from what it looks at", p.Seats[i].Key, d)
		}
		c := at(i)
		for x := c.x - 1; x <= c.x+1; x++ {
			for y := c.y - 1; y <= c.y+1; y++ {
				for _, j := range cells[cell{x, y}] {
					least := generatedRowStep
					if p.Seats[i].Row == p.Seats[j].Row {
						least = generatedPitch
					}
					if d := math.Hypot(p.Seats[i].X-p.Seats[j].X, p.Seats[i].Y-p.Seats[j].Y); d < least-roundingMax {
						t.Fatalf("%s and %s are %.1f apart, and not %.1f", p.Seats[i].Key, p.Seats[j].Key, d, least)
					}
				}
			}
		}
		cells[c] = append(cells[c], i)
	}
}

// checkAccess holds that there are wheelchair places for one seat in a hundred, each beside a seat
// for a companion that belongs to no other.
func checkAccess(t fataler, kind Kind, p *Plan) {
	t.Helper()
	accessible, companions := 0, 0
	for i := range p.Seats {
		if p.Seats[i].Companion {
			companions++
		}
		if !p.Seats[i].Accessible {
			continue
		}
		accessible++
		run := p.RunOf(i)
		left := i > run.From && p.Seats[i-1].Companion
		right := i+1 < run.From+run.Count && p.Seats[i+1].Companion
		if !left && !right {
			t.Fatalf("%s has no companion's seat beside it", p.Seats[i].Key)
		}
	}
	// A house for ten may be drawn as single seats all around, which have no neighbours.
	wanted := (len(p.Seats) + accessibleOneIn - 1) / accessibleOneIn
	if companions != accessible || accessible > wanted || accessible < wanted && len(p.Seats) >= 20 && len(p.Seats) <= 60_000 {
		t.Fatalf("%s of %d: %d wheelchair places with %d companions, and not %d", kind, len(p.Seats), accessible, companions, wanted)
	}
}

func TestGeneratedVenuesAreHousesOfExactlySoManySeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(Kinds()).Draw(t, "kind")
		seats := rapid.OneOf(rapid.IntRange(GenerateSeatsMin, 200), rapid.IntRange(200, 2_000)).Draw(t, "seats")
		checkVenue(t, kind, seats)
	})
}

func TestLargeVenuesAreHousesOfExactlySoManySeats(t *testing.T) {
	for _, kind := range Kinds() {
		checkVenue(t, kind, 30_001)
	}
}

// A venue of any size can be sent to a server, whose bound for a map is 16 MiB. The theatre has the
// longest keys, and the houses of blocks have the most rows.
func TestTheLargestVenuesKeepTheBoundsOfAMap(t *testing.T) {
	for _, kind := range Kinds() {
		m, err := Generate(kind, GenerateSeatsMax)
		if err != nil {
			t.Fatal(err)
		}
		rows, seats := 0, 0
		for _, s := range m.Sections {
			rows += len(s.Rows)
			for _, r := range s.Rows {
				seats += len(r.Seats)
			}
		}
		if len(m.Sections) > sectionsMax || rows > rowsMax || seats != GenerateSeatsMax {
			t.Errorf("%s: %d sections, %d rows, %d seats", kind, len(m.Sections), rows, seats)
		}
		if kind != KindTheatre {
			continue
		}
		if data, err := m.Encode(); err != nil || len(data) > 16<<20 {
			t.Errorf("%s: %d bytes, %v", kind, len(data), err)
		}
	}
}

func TestEverySmallVenueCanBeDrawn(t *testing.T) {
	for _, kind := range Kinds() {
		for seats := GenerateSeatsMin; seats < 150; seats++ {
			checkVenue(t, kind, seats)
		}
	}
}

func TestGenerateRefusesWhatIsNoVenue(t *testing.T) {
	for _, tt := range []struct {
		kind  Kind
		seats int
	}{{KindTheatre, 9}, {KindBowl, GenerateSeatsMax + 1}, {KindArena, -1}, {"circus", 100}, {"", 100}} {
		if m, err := Generate(tt.kind, tt.seats); err == nil {
			t.Errorf("a %q of %d is drawn as %q", tt.kind, tt.seats, m.Name)
		}
	}
}

// The keys of a venue are printed on tickets, so the same call must draw the same house for ever: small
// ones to the millimetre, larger ones with the same rows and aisles.
func TestVenuesAreDrawnAsTheyAlwaysWere(t *testing.T) {
	for kind, seats := range map[Kind]int{KindTheatre: 240, KindArena: 60, KindBowl: 80} {
		m, err := Generate(kind, seats)
		if err != nil {
			t.Fatal(err)
		}
		data, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, string(kind), strings.ReplaceAll(string(data), `{"key"`, "\n"+`{"key"`)+"\n")
		if m, err = Generate(kind, 5_000); err != nil {
			t.Fatal(err)
		}
		golden(t, string(kind)+"-rows", rowsInWords(m))
	}
}

// rowsInWords has a line a row, such as "STALLS-C 8+8".
func rowsInWords(m *Map) string {
	var b strings.Builder
	p := NewPlan(m)
	for i, run := range p.Runs() {
		row := p.Seats[run.From].Row
		if i > 0 && p.Seats[run.From-1].Row == row {
			fmt.Fprintf(&b, "+%d", run.Count)
		} else {
			fmt.Fprintf(&b, "\n%s %d", row, run.Count)
		}
	}
	return b.String() + "\n"
}

func golden(t *testing.T, name, drawn string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if drawn != string(want) {
		t.Errorf("another house than in %s is drawn; -update writes it anew", path)
	}
}

// Theatres look to the stage in curves, as Theatre does: both halves mirror each other but for what
// was left over.
func TestAGeneratedTheatreBendsTowardsItsStage(t *testing.T) {
	m, err := Generate(KindTheatre, 1_200)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, s := range m.Sections {
		keys = append(keys, s.Key)
		for _, r := range s.Rows {
			middle, end := r.Seats[len(r.Seats)/2], r.Seats[0]
			if middle.Y <= end.Y {
				t.Errorf("%s bends away from the stage", r.Key)
			}
		}
	}
	if got := strings.Join(keys, " "); got != "STALLS CIRCLE BALCONY" {
		t.Errorf("its levels are %s", got)
	}
	if row := m.Sections[1].Rows[0].Seats; row[0].Label == "1" || !row[0].RestrictedView || row[len(row)/2].RestrictedView {
		t.Errorf("the circle's first row begins with %+v", row[0])
	}
}

// A stadium surrounds its pitch, and tunnels lead into its blocks.
func TestAGeneratedBowlSurroundsItsPitch(t *testing.T) {
	m, err := Generate(KindBowl, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	quarters, mouths := make(map[[2]bool]int), 0
	for _, s := range m.Sections {
		for _, r := range s.Rows {
			for k := range r.Seats {
				quarters[[2]bool{r.Seats[k].X > 0, r.Seats[k].Y > 0}]++
				if r.Seats[k].BreakAfter {
					mouths++
				}
			}
		}
	}
	for q, n := range quarters {
		if n < 4_500 || n > 5_500 {
			t.Errorf("%d seats stand in the quarter %v", n, q)
		}
	}
	if len(quarters) != 4 || mouths < len(m.Sections)/2 || m.FocalName != "Pitch" {
		t.Errorf("%d quarters, %d rows with a tunnel in %d blocks, around %q", len(quarters), mouths, len(m.Sections), m.FocalName)
	}
}

func TestRowLettersLeaveOutWhatReadsAsANumber(t *testing.T) {
	for n, want := range map[int]string{0: "A", 7: "H", 8: "J", 13: "P", 23: "Z", 24: "AA", 47: "AZ", 48: "BA", 24 + 24*24: "AAA"} {
		if got := rowLetter(n); got != want {
			t.Errorf("row %d is %s, want %s", n, got, want)
		}
	}
}

func BenchmarkGenerate60000(b *testing.B) {
	for _, kind := range Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			for b.Loop() {
				if _, err := Generate(kind, 60_000); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
