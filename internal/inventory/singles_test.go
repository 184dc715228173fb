package inventory

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// rowOf is seats 0 to n-1 in one row, with an aisle before each of the seats named.
func rowOf(n int, aisles ...int) *Layout {
	seats := make([]seatmap.Seat, n)
	for i := range seats {
		seats[i] = seatmap.Seat{Label: string(rune('A' + i)), X: float64(i), BreakAfter: slices.Contains(aisles, i+1)}
	}
	return NewLayout(seatmap.NewPlan(&seatmap.Map{Sections: []seatmap.Section{{Key: "S", Rows: []seatmap.Row{{Label: "1", Seats: seats}}}}}))
}

func strictTerms() *Terms {
	terms := testTerms()
	terms.SingleSeats = SinglesStrict
	return terms
}

// claimSeats is a claim of seats, judged by the rule on single seats.
func claimSeats(n int, beside Beside, seats ...Unit) Command {
	c := claimN(n)
	c.Beside = beside
	for _, u := range seats {
		c.Add = append(c.Add, seatWant(u))
	}
	return c
}

// leftBy gives the seats that an outcome warns of, or refuses for.
func leftBy(out Outcome) (warned, refused []Unit) {
	for _, w := range out.Warnings {
		if w.Code == SingleSeatLeft {
			warned = append(warned, w.Unit)
		}
	}
	if out.Refusal != nil && out.Refusal.Code == SingleSeatRefused {
		for _, c := range out.Refusal.Conflicts {
			if c.Reason == ReasonLeftAlone {
				refused = append(refused, c.Unit)
			}
		}
	}
	return warned, refused
}

func TestAWarningNamesTheSeatThatIsLeftAlone(t *testing.T) {
	for name, test := range map[string]struct {
		seats  int
		aisles []int
		gone   []Unit // somebody else's
		take   []Unit
		want   []Unit
	}{
		"at the row's end":            {6, nil, nil, []Unit{1, 2}, []Unit{0}},
		"at an aisle":                 {8, []int{4}, nil, []Unit{5}, []Unit{4}},
		"beside somebody else's":      {6, nil, []Unit{3}, []Unit{0, 1}, []Unit{2}},
		"on both sides":               {6, nil, []Unit{4}, []Unit{1, 2}, []Unit{0, 3}},
		"inside the basket":           {7, nil, nil, []Unit{2, 4}, []Unit{3}},
		"two may stay":                {6, nil, nil, []Unit{2, 3}, nil},
		"all of it":                   {3, nil, nil, []Unit{0, 1, 2}, nil},
		"who was alone before":        {5, nil, []Unit{1}, []Unit{2, 3, 4}, nil},
		"across an aisle is nobody":   {4, []int{2}, nil, []Unit{2}, []Unit{3}},
		"of three, two leave one":     {3, nil, nil, []Unit{0, 1}, []Unit{2}},
		"a seat alone has no company": {1, nil, nil, []Unit{0}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, beside := newSheet(test.seats, 5), rowOf(test.seats, test.aisles...)
			if len(test.gone) > 0 {
				s.judge(t, start, testTerms(), claimSeats(1, nil, test.gone...))
			}
			out := s.judge(t, start, testTerms(), claimSeats(2, beside, test.take...))[0]
			if warned, _ := leftBy(out); out.Hold == nil || !slices.Equal(warned, test.want) {
				t.Errorf("%v, want %v; %v", warned, test.want, out.Refusal)
			}
			s.check(t)
		})
	}
}

func TestStrictRefusesABuyerOnlyWhereItCanBeAvoided(t *testing.T) {
	beside := rowOf(9, 3)
	for name, test := range map[string]struct {
		take  []Unit
		byKey bool
		want  []Unit // refused for
	}{
		"one from the aisle of six":   {[]Unit{4}, false, []Unit{3}},
		"three of six":                {[]Unit{4, 5, 6}, false, []Unit{3}},
		"two of three":                {[]Unit{0, 1}, false, nil},
		"the middle of three":         {[]Unit{1}, false, []Unit{0, 2}},
		"five of six":                 {[]Unit{4, 5, 6, 7, 8}, false, nil},
		"two apart":                   {[]Unit{5, 7}, false, []Unit{6, 8}},
		"an organizer only is warned": {[]Unit{4}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSheet(9, 5)
			c := claimSeats(1, beside, test.take...)
			c.ByKey = test.byKey
			out := s.judge(t, start, strictTerms(), c)[0]
			if _, refused := leftBy(out); !slices.Equal(refused, test.want) || (out.Hold == nil) != (test.want != nil) {
				t.Fatalf("refused for %v, want %v", refused, test.want)
			}
			if out.Hold == nil && (len(s.holds) > 0 || s.allocations[test.take[0]].Held > 0) {
				t.Error("promise 3: the refused claim left something behind")
			}
		})
	}
	s := newSheet(9, 5)
	best := Command{Verb: Claim, Key: keyN(1), Best: true, BestType: -1, Beside: beside, Candidates: [][]Unit{{4, 5}}}
	out := s.judge(t, start, strictTerms(), best)[0]
	if warned, _ := leftBy(out); !slices.Equal(warned, []Unit{3}) {
		t.Errorf("what the server chose: %+v", out)
	}
}

// countingSheet counts the allocations that the judge reads.
type countingSheet struct {
	*sheet
	read int
}

func (s *countingSheet) Allocation(u Unit) (Allocation, bool) {
	s.read++
	return s.sheet.Allocation(u)
}

func TestOffReadsNothingAndTheRuleFourRowsABlock(t *testing.T) {
	for rule, want := range map[SingleSeats]int{SinglesOff: 3, SinglesNudge: 3 + 4, SinglesStrict: 3 + 4, "": 3 + 4} {
		s, terms := &countingSheet{sheet: newSheet(40, 5)}, testTerms()
		terms.SingleSeats = rule
		out, _ := Judge(start, terms, s, []Command{claimSeats(1, rowOf(40), 10, 11, 12)})
		if out[0].Hold == nil || s.read != want {
			t.Errorf("%q reads %d rows, want %d", rule, s.read, want)
		}
	}
	s, terms := newSheet(5, 5), testTerms()
	terms.SingleSeats = SinglesOff
	if out := s.judge(t, start, terms, claimSeats(1, rowOf(5), 1))[0]; out.Hold == nil || out.Warnings != nil {
		t.Errorf("off warns: %+v", out)
	}
}

func TestStrictNeverKeepsABuyerFromLettingGo(t *testing.T) {
	s, beside, terms := newSheet(8, 5), rowOf(8), strictTerms()
	s.judge(t, start, terms, claimSeats(1, beside, 0, 1, 2))
	remove := Command{Verb: Change, Key: keyN(1), Beside: beside, Remove: []Want{seatWant(1)}}
	out := s.judge(t, start, terms, remove)[0]
	if warned, _ := leftBy(out); out.Hold == nil || !slices.Equal(warned, []Unit{1}) {
		t.Fatalf("removing: %+v", out)
	}
	// The seat that is alone already keeps the buyer from nothing else, but each new one counts.
	if out = s.judge(t, start, terms, Command{Verb: Change, Key: keyN(1), Beside: beside, Add: []Want{seatWant(6)}})[0]; out.Hold != nil {
		t.Fatal("a seat was left alone at the row's end")
	}
	if _, refused := leftBy(out); !slices.Equal(refused, []Unit{7}) {
		t.Errorf("refused for %v", refused)
	}
	out = s.judge(t, start, terms, Command{Verb: Change, Key: keyN(1), Beside: beside, Add: []Want{seatWant(3)}})[0]
	if warned, _ := leftBy(out); out.Hold == nil || !slices.Equal(warned, []Unit{1}) {
		t.Errorf("adding elsewhere: %+v", out)
	}
	area := Command{Verb: Change, Key: keyN(1), Beside: beside, Remove: []Want{seatWant(2)}, Add: []Want{{Unit: 8, Type: -1, Quantity: 1}}}
	if out = s.judge(t, start, terms, area)[0]; out.Hold == nil {
		t.Errorf("a change that takes no seat: %v", out.Refusal)
	}
	s.check(t)
}

func TestBasketsOfOneBatchAreJudgedOneAfterTheOther(t *testing.T) {
	beside := rowOf(7)
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		s := newSheet(7, 5)
		// Each alone leaves nobody alone; together they would leave seat 3.
		claims := []Command{claimSeats(1, beside, 2), claimSeats(2, beside, 4)}
		out := s.judge(t, start, strictTerms(), claims[order[0]], claims[order[1]])
		if out[0].Hold == nil || out[1].Hold != nil {
			t.Fatalf("order %v: %+v", order, out)
		}
		if _, refused := leftBy(out[1]); !slices.Equal(refused, []Unit{3}) {
			t.Errorf("order %v: refused for %v", order, refused)
		}
	}
}

func TestLapsedHoldsAndClosedChannelsCountAsTheyWouldForTheCaller(t *testing.T) {
	s, beside, terms := newSheet(6, 5), rowOf(6), testTerms()
	s.judge(t, start, terms, claimSeats(1, nil, 4))
	if warned, _ := leftBy(s.judge(t, start, terms, claimSeats(2, beside, 1, 2))[0]); !slices.Equal(warned, []Unit{0, 3}) {
		t.Fatalf("while it lives: %v", warned)
	}
	s = newSheet(6, 5)
	s.judge(t, start, terms, claimSeats(1, nil, 4))
	if warned, _ := leftBy(s.judge(t, start.Add(10), terms, claimSeats(2, beside, 1, 2))[0]); !slices.Equal(warned, []Unit{0}) {
		t.Errorf("once it has lapsed: %v", warned)
	}
	s = newSheet(6, 5)
	for _, u := range []Unit{4, 5} {
		a := s.allocations[u]
		a.Class = 1 // the sponsors'
		s.allocations[u] = a
	}
	with := claimSeats(2, beside, 2)
	with.Code = &Code{1}
	if warned, _ := leftBy(s.judge(t, start, terms, with)[0]); warned != nil {
		t.Errorf("with the code: %v", warned)
	}
	s.judge(t, start, terms, Command{Verb: Release, Key: keyN(2)})
	if warned, _ := leftBy(s.judge(t, start, terms, claimSeats(3, beside, 2))[0]); !slices.Equal(warned, []Unit{3}) {
		t.Errorf("without: %v", warned)
	}
}

func TestWarningsAreReplayedWithTheAnswer(t *testing.T) {
	s, beside, terms := newSheet(6, 5), rowOf(6), testTerms()
	c := claimSeats(1, beside, 1)
	c.ID = CommandID{7}
	first := s.judge(t, start, terms, c)[0]
	s.judge(t, start, terms, claimSeats(2, beside, 0)) // nobody is alone any more
	again := s.judge(t, start, terms, c)[0]
	if !again.Replayed || !slices.Equal(first.Warnings, []Warning{{SingleSeatLeft, 0}}) || !slices.Equal(again.Warnings, first.Warnings) {
		t.Errorf("first %v, again %v", first.Warnings, again.Warnings)
	}
	if _, warnings, err := DecodeAnswer(EncodeAnswer(first.Hold, nil)); err != nil || warnings != nil {
		t.Errorf("an answer without: %v %v", warnings, err)
	}
}

// cells is a row as the definition sees it: which seats the caller could take if the hold had none of
// them, and which of these the hold has.
type cells struct {
	could, has []bool
	aisles     []int
}

// span is the stretch of seats around i that the caller could take: from, and the one after its last.
func (c *cells) span(i int) (from, to int) {
	for from = i; from > 0 && c.could[from-1] && !slices.Contains(c.aisles, from); from-- {
	}
	for to = i + 1; to < len(c.could) && c.could[to] && !slices.Contains(c.aisles, to); to++ {
	}
	return from, to
}

// lonely counts, of a stretch of n seats of which some are taken, those left with no neighbour.
func lonely(n int, taken func(int) bool) (alone []int) {
	for i := range n {
		if !taken(i) && (i == 0 || taken(i-1)) && (i == n-1 || taken(i+1)) && n > 1 {
			alone = append(alone, i)
		}
	}
	return alone
}

// singles is the rule by its words: look at every stretch, and try every block as large as what is taken.
func (c *cells) singles() (found []single) {
	for i := 0; i < len(c.could); i++ {
		if !c.could[i] {
			continue
		}
		from, to := c.span(i)
		n, size := to-from, 0
		for k := from; k < to; k++ {
			if c.has[k] {
				size++
			}
		}
		avoidable := false
		for at := 0; at+size <= n; at++ {
			avoidable = avoidable || len(lonely(n, func(k int) bool { return k >= at && k < at+size })) == 0
		}
		if size > 0 {
			for _, k := range lonely(n, func(k int) bool { return c.has[from+k] }) {
				found = append(found, single{Unit(from + k), avoidable})
			}
		}
		i = to
	}
	return found
}

// cellsOf reads the row from a sheet, for who has a code and, of the seats, these.
func (s *sheet) cellsOf(n int, aisles []int, terms *Terms, now Instant, code *Code, own HoldKey, has []Unit) *cells {
	c := &cells{could: make([]bool, n), has: make([]bool, n), aisles: aisles}
	for i := range n {
		a, ok := s.allocations[Unit(i)]
		c.has[i] = slices.Contains(has, Unit(i))
		c.could[i] = ok && a.Reserved == 0 && (c.has[i] || terms.Opens(terms.Classes[a.Class].Channel, code))
		for k, h := range s.holds {
			if h.Deadline > now && k != own && quantityOf(h.Lines, Unit(i)) > 0 {
				c.could[i] = false
			}
		}
	}
	return c
}

func unitsHeld(h *Hold) (units []Unit) {
	if h != nil {
		for _, l := range h.Lines {
			units = append(units, l.Unit)
		}
	}
	return units
}

// intended is what a hold would have after a command, if it were allowed.
func intended(c *Command, had []Unit) []Unit {
	after := slices.Clone(had)
	for _, w := range c.Add {
		if !slices.Contains(after, w.Unit) {
			after = append(after, w.Unit)
		}
	}
	return slices.DeleteFunc(after, func(u Unit) bool {
		return slices.ContainsFunc(c.Remove, func(w Want) bool { return w.Unit == u })
	})
}

// checkSingles judges one command and compares the rule's part of the outcome with its definition.
func (s *sheet) checkSingles(t *rapid.T, n int, aisles []int, terms *Terms, now Instant, c Command) {
	var had []Unit
	if h := s.holds[c.Key]; h != nil && h.Deadline > now {
		had = unitsHeld(h)
	}
	before := s.cellsOf(n, aisles, terms, now, c.Code, c.Key, had).singles()
	after := s.cellsOf(n, aisles, terms, now, c.Code, c.Key, intended(&c, had)).singles()
	takes := slices.ContainsFunc(c.Add, func(w Want) bool { return int(w.Unit) < n && !slices.Contains(had, w.Unit) })
	var want []Unit
	for _, f := range after {
		old := slices.ContainsFunc(before, func(b single) bool { return b.seat == f.seat })
		if terms.SingleSeats == SinglesStrict && !c.ByKey && takes && f.avoidable && !old {
			want = append(want, f.seat)
		}
	}
	out := s.judge(t, now, terms, c)[0]
	warned, refused := leftBy(out)
	switch {
	case out.Refusal != nil && out.Refusal.Code != SingleSeatRefused:
	case out.Hold != nil && !out.Replayed && want == nil:
		var all []Unit
		for _, f := range after {
			all = append(all, f.seat)
		}
		if !slices.Equal(warned, all) {
			t.Fatalf("%+v with %v warns of %v, want %v", c, had, warned, all)
		}
	case out.Refusal != nil && !slices.Equal(refused, want), out.Hold != nil && !out.Replayed:
		t.Fatalf("%+v with %v: refused for %v, want %v", c, had, refused, want)
	}
}

func drawRowCommand(t *rapid.T, n int, beside Beside) Command {
	c := Command{
		Verb: rapid.SampledFrom([]Verb{Claim, Claim, Change, Change, Release}).Draw(t, "verb"),
		Key:  keyN(rapid.IntRange(1, 5).Draw(t, "hold")), By: "buyer", BestType: -1, Beside: beside,
		ByKey: rapid.IntRange(0, 5).Draw(t, "key") == 0,
	}
	if rapid.Bool().Draw(t, "code") {
		c.Code = &Code{1}
	}
	wants := func(least int) *rapid.Generator[[]int] {
		return rapid.SliceOfNDistinct(rapid.IntRange(0, n), least, 4, rapid.ID[int])
	}
	least := 0
	if c.Verb == Claim {
		least = 1
	}
	for _, u := range wants(least).Draw(t, "add") {
		c.Add = append(c.Add, seatWant(Unit(u)))
	}
	if c.Verb == Change {
		for _, u := range wants(0).Draw(t, "remove") {
			if !slices.ContainsFunc(c.Add, func(w Want) bool { return w.Unit == Unit(u) }) {
				c.Remove = append(c.Remove, seatWant(Unit(u)))
			}
		}
	}
	return c
}

// drawRow is a row with aisles, gaps in what is on sale, and seats of another channel.
func drawRow(t *rapid.T, n int) (*sheet, []int, *Layout) {
	s := newSheet(n, 3)
	var aisles []int
	for i := range n {
		switch rapid.IntRange(0, 9).Draw(t, "seat") {
		case 0:
			delete(s.allocations, Unit(i))
		case 1:
			a := s.allocations[Unit(i)]
			a.Class = 1
			s.allocations[Unit(i)] = a
		case 2:
			aisles = append(aisles, i)
		}
	}
	return s, aisles, rowOf(n, aisles...)
}

func TestTheRuleOnSingleSeatsIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "seats")
		s, aisles, beside := drawRow(t, n)
		terms, now := testTerms(), start
		for range rapid.IntRange(1, 12).Draw(t, "commands") {
			terms.SingleSeats = rapid.SampledFrom([]SingleSeats{SinglesNudge, SinglesStrict, SinglesStrict}).Draw(t, "rule")
			now = now.Add(int64(rapid.IntRange(0, 4).Draw(t, "step")))
			s.checkSingles(t, n, aisles, terms, now, drawRowCommand(t, n, beside))
			s.check(t)
		}
	})
}

func TestABatchUnderTheStrictRuleIsItsCommandsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 10).Draw(t, "seats")
		s, _, beside := drawRow(t, n)
		terms := strictTerms()
		batch := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Command { return drawRowCommand(t, n, beside) }), 1, 10).Draw(t, "batch")
		alone := *s
		alone.allocations, alone.holds = maps.Clone(s.allocations), maps.Clone(s.holds)
		together := s.judge(t, start, terms, batch...)
		for i, c := range batch {
			if one := alone.judge(t, start, terms, c)[0]; !reflect.DeepEqual(one, together[i]) {
				t.Fatalf("command %d: %+v alone, %+v in the batch", i, one, together[i])
			}
		}
	})
}

func TestOldEventsAreNudged(t *testing.T) {
	e, err := DecodeEvent([]byte(`{"ID":"evt_1","Terms":{"HoldSeconds":600}}`))
	if err != nil || e.Terms.SingleSeats != SinglesNudge {
		t.Fatalf("%+v, %v", e, err)
	}
	e.Terms.SingleSeats = SinglesStrict
	doc, err := EncodeEvent(e)
	if err != nil {
		t.Fatal(err)
	}
	if e, err = DecodeEvent(doc); err != nil || e.Terms.SingleSeats != SinglesStrict {
		t.Errorf("%+v, %v", e, err)
	}
}
