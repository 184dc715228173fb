package race

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowlock/rowlock/client"
)

// breachesMax bounds the sentences of one race; a broken server breaks every round in the same way.
const breachesMax = 20

// answer is what one caller was answered.
type answer struct {
	op         string
	status     int // 0: no answer
	code       string
	conflicts  []client.Conflict
	retryAfter int64
	fault      string // why there was no answer
	asked      *client.HoldRequest
	patch      *client.HoldPatch
	hold       *client.Hold
	order      *client.Order
	sent, got  time.Time // by the local clock
}

// label is the answer as distributions count it: status, code, and the reasons of the conflicts.
func (a *answer) label() string {
	if a.status == 0 {
		return noAnswer
	}
	label := strconv.Itoa(a.status)
	if a.code != "" {
		label += " " + a.code
	}
	var reasons []string
	for _, c := range a.conflicts {
		if !slices.Contains(reasons, c.Reason) {
			reasons = append(reasons, c.Reason)
		}
	}
	if len(reasons) > 0 {
		slices.Sort(reasons)
		label += " (" + strings.Join(reasons, ", ") + ")"
	}
	return label
}

// won reports whether a claim, a change or an extension got what it asked for.
func (a *answer) won() bool { return a.status >= 200 && a.status <= 299 && a.hold != nil }

// The answers that the races count on.
const (
	noAnswer  = "no answer"
	created   = "201"
	done      = "200"
	letGo     = "204"
	lostHeld  = "409 ALLOCATION_UNAVAILABLE (held)"
	soldOut   = "409 ALLOCATION_UNAVAILABLE (sold_out)"
	leftAlone = "422 SINGLE_SEAT_LEFT (left_alone)"
	noBlock   = "409 ALLOCATION_UNAVAILABLE (no_block)"
	closed    = "409 ALLOCATION_UNAVAILABLE (not_on_sale)"
	gone      = "410 HOLD_EXPIRED"
	sold      = "409 HOLD_SOLD"
	inFlight  = "409 IDEMPOTENCY_IN_FLIGHT"
	reused    = "422 IDEMPOTENCY_KEY_REUSED"
)

// volleys is one phase of a race: its rounds, and in each round everybody's answer.
type volleys struct {
	name   string
	rounds [][]answer
}

// observation is all that a judge may look at.
type observation struct {
	event    string
	capacity int64 // units with an allocation
	phases   []volleys
	before   []client.Hold  // holds as they were before the fight
	sales    []client.Order // orders made before or between the volleys
	gaps     []gap          // a round, where baskets are not to leave a seat alone

	report *client.Report
	board  map[string]int // state by seat key
	holds  []client.Hold  // live at the end, as the organizer lists them
	orders []client.Order // as the organizer lists them
	log    map[string]int // entries by kind
}

// add appends a phase of one round.
func (o *observation) add(name string, answers []answer) {
	o.phases = append(o.phases, volleys{name: name, rounds: [][]answer{answers}})
}

// phase finds a phase by its name; a race that forgets one is caught by its own tests.
func (o *observation) phase(name string) volleys {
	for _, p := range o.phases {
		if p.name == name {
			return p
		}
	}
	return volleys{name: name}
}

// all lists the answers of every round.
func (v volleys) all() []answer { return slices.Concat(v.rounds...) }

// winners lists the holds that a phase made.
func (v volleys) winners() []*client.Hold {
	var won []*client.Hold
	for _, a := range v.all() {
		if a.won() {
			won = append(won, a.hold)
		}
	}
	return won
}

// The states of a seat on a board.
const (
	seatFree = 0
	seatHeld = 1
	seatSold = 2
)

// verdict gathers what a judge finds.
type verdict struct {
	phases   []Phase
	breaches []string
	dropped  int
}

func (v *verdict) breach(promise int, format string, args ...any) {
	if len(v.breaches) >= breachesMax {
		v.dropped++
		v.breaches[breachesMax-1] = fmt.Sprintf("… and %d more", v.dropped+1)
		return
	}
	v.breaches = append(v.breaches, fmt.Sprintf("promise %d: ", promise)+fmt.Sprintf(format, args...))
}

// want promises that an answer is given between least and most times a round.
type want struct {
	answer      string
	least, most int
}

// exactly promises n such answers a round.
func exactly(n int, label string) want { return want{label, n, n} }

// between promises least to most such answers a round.
func between(least, most int, label string) want { return want{label, least, most} }

func (w want) text(rounds int) string {
	least, most := w.least*rounds, w.most*rounds
	if least == most {
		return strconv.Itoa(least)
	}
	return fmt.Sprintf("%d–%d", least, most)
}

// distribution holds every round of a phase against what was promised of each answer, and records the
// sum for the report. An answer that nobody promised is a breach, a 5xx or a missing one of promise 11.
func (v *verdict) distribution(promise int, p volleys, wants ...want) {
	if len(p.rounds) == 0 {
		v.breach(promise, "%s: nothing was observed", p.name)
		return
	}
	total := make(map[string]int)
	broken := make(map[string]int) // in how many rounds, by answer
	var slowest time.Duration
	for i, round := range p.rounds {
		counts := make(map[string]int)
		for j := range round {
			counts[round[j].label()]++
			slowest = max(slowest, round[j].got.Sub(round[j].sent))
			v.consistent(p.name, &round[j])
		}
		v.round(promise, p, i, counts, wants, broken)
		for label, n := range counts {
			total[label] += n
		}
	}
	for _, label := range slices.Sorted(maps.Keys(broken)) {
		if n := broken[label]; n > 1 {
			v.breach(promise, "%s: the count of %s was wrong in %d of %d rounds", p.name, label, n, len(p.rounds))
		}
	}
	phase := Phase{Name: p.name, Rounds: len(p.rounds), SlowestSeconds: slowest.Seconds()}
	for _, w := range wants {
		phase.Answers = append(phase.Answers, Count{
			Answer: w.answer, Count: total[w.answer], Promised: w.text(len(p.rounds)), Kept: broken[w.answer] == 0,
		})
		delete(total, w.answer)
	}
	for _, label := range slices.Sorted(maps.Keys(total)) {
		phase.Answers = append(phase.Answers, Count{Answer: label, Count: total[label], Promised: "0"})
	}
	v.phases = append(v.phases, phase)
}

// round judges one round. broken counts the rounds in which an answer came too rarely, too often, or
// without a promise; only the first is told of in full, for the rest are mostly the same.
func (v *verdict) round(promise int, p volleys, i int, counts map[string]int, wants []want, broken map[string]int) {
	where := p.name
	if len(p.rounds) > 1 {
		where = fmt.Sprintf("%s, round %d", p.name, i+1)
	}
	tell := func(promise int, label, format string, args ...any) {
		if broken[label]++; broken[label] == 1 {
			v.breach(promise, "%s: %d × %s"+format, append([]any{where, counts[label], label}, args...)...)
		}
	}
	promised := make(map[string]bool)
	for _, w := range wants {
		promised[w.answer] = true
		if n := counts[w.answer]; n < w.least || n > w.most {
			tell(promise, w.answer, " instead of %s", w.text(1))
		}
	}
	for _, label := range slices.Sorted(maps.Keys(counts)) {
		switch {
		case promised[label]:
		case label == noAnswer || strings.HasPrefix(label, "5"):
			tell(11, label, "; load is refused, not suffered")
		default:
			tell(promise, label, ", which was not promised")
		}
	}
}

// consistent checks an answer against its own question: a winner has exactly what it asked for, and a
// loser is told what it lost, which is something it asked for.
func (v *verdict) consistent(where string, a *answer) {
	if a.op == "claim" && a.won() && a.asked != nil {
		v.granted(where, a)
	}
	if a.code != "ALLOCATION_UNAVAILABLE" {
		return
	}
	if len(a.conflicts) == 0 {
		v.breach(2, "%s: a loser is not told what it lost", where)
	}
	for _, c := range a.conflicts {
		if !a.askedFor(c) {
			v.breach(2, "%s: a loser is told of %s%s, which it did not ask for", where, c.Seat, c.Area)
		}
	}
}

func (v *verdict) granted(where string, a *answer) {
	var got []string
	var areas, areasAsked int64
	for _, l := range a.hold.Lines {
		if l.Seat != "" {
			got = append(got, l.Seat)
		} else {
			areas += l.Quantity
		}
	}
	for _, w := range a.asked.Areas {
		areasAsked += w.Quantity
	}
	switch {
	case a.asked.BestAvailable != nil:
		if int64(len(got)) != a.asked.BestAvailable.Quantity || areas != 0 {
			v.breach(3, "%s: %d seats were given of %d asked for", where, len(got), a.asked.BestAvailable.Quantity)
		}
	case !slices.Equal(got, a.asked.Seats), areas != areasAsked:
		v.breach(3, "%s: a basket of %v and %d units came back as %v and %d units", where, a.asked.Seats, areasAsked, got, areas)
	}
	if a.hold.Token == "" || a.hold.ID == "" {
		v.breach(4, "%s: a hold was made without a token or an id", where)
	}
}

// askedFor reports whether a conflict is about something in the question.
func (a *answer) askedFor(c client.Conflict) bool {
	var keys, areas []string
	best := false
	if a.asked != nil {
		keys, best = a.asked.Seats, a.asked.BestAvailable != nil
		for _, w := range a.asked.Areas {
			areas = append(areas, w.Area)
		}
	}
	if a.patch != nil && a.patch.Add != nil {
		keys = a.patch.Add.Seats
		for _, w := range a.patch.Add.Areas {
			areas = append(areas, w.Area)
		}
	}
	switch {
	case c.Seat != "":
		return slices.Contains(keys, c.Seat)
	case c.Area != "":
		return slices.Contains(areas, c.Area)
	}
	return best && c.Reason == "no_block"
}

// oneOwner checks that no seat is in two of these holds.
func (v *verdict) oneOwner(holds []*client.Hold) {
	owner := make(map[string]string)
	for _, h := range holds {
		for _, l := range h.Lines {
			if l.Seat == "" {
				continue
			}
			if other, taken := owner[l.Seat]; taken && other != h.ID {
				v.breach(1, "seat %s was given to two callers", l.Seat)
			}
			owner[l.Seat] = h.ID
		}
	}
}

// conserved checks the event's own sums: what is held, sold and free is all there is, what is held and
// sold is what the answers said, and the tickets and the money agree with it.
func (v *verdict) conserved(o *observation, held, reserved int64) {
	r := o.report
	if r == nil {
		v.breach(1, "there is no report of the event")
		return
	}
	if r.Held+r.Reserved+r.Free != r.Capacity || r.Held < 0 || r.Reserved < 0 || r.Free < 0 {
		v.breach(1, "units are not conserved: %d held + %d sold + %d free is not %d", r.Held, r.Reserved, r.Free, r.Capacity)
	}
	if r.Capacity != o.capacity {
		v.breach(1, "the event has %d units instead of %d", r.Capacity, o.capacity)
	}
	if held != any64 && r.Held != held {
		v.breach(2, "%d units are held; the answers say %d", r.Held, held)
	}
	if reserved != any64 && r.Reserved != reserved {
		v.breach(6, "%d units are sold; the answers say %d", r.Reserved, reserved)
	}
	if r.Tickets != r.Reserved {
		v.breach(1, "%d units are sold with %d valid tickets", r.Reserved, r.Tickets)
	}
	if r.Total != r.Tickets*standardPrice {
		v.breach(8, "%d tickets at %d add up to %d", r.Tickets, standardPrice, r.Total)
	}
	var parts client.ReportUnits
	for _, s := range r.Sections {
		parts.Capacity += s.Capacity
		parts.Held += s.Held
		parts.Reserved += s.Reserved
		if s.Held+s.Reserved > s.Capacity {
			v.breach(1, "%s is oversold: %d held + %d sold of %d", s.Key, s.Held, s.Reserved, s.Capacity)
		}
	}
	if parts.Capacity != r.Capacity || parts.Held != r.Held || parts.Reserved != r.Reserved {
		v.breach(1, "the sections do not add up to the event")
	}
}

// any64 stands for a sum that is not promised.
const any64 = math.MinInt64

// part finds the counts of a section or an area.
func (o *observation) part(key string) client.ReportUnits {
	if o.report != nil {
		for _, s := range o.report.Sections {
			if s.Key == key {
				return s
			}
		}
	}
	return client.ReportUnits{Key: key, Held: -1, Reserved: -1}
}

// onlyHolds checks that the live holds at the end are those that won, so that losers left none.
func (v *verdict) onlyHolds(o *observation, winners ...*client.Hold) {
	listed := make(map[string]bool)
	for i := range o.holds {
		listed[o.holds[i].ID] = true
	}
	ids := make(map[string]bool)
	for _, w := range winners {
		ids[w.ID] = true
		if !listed[w.ID] {
			v.breach(4, "a hold that was won is not alive at the end")
		}
	}
	if len(o.holds) > len(ids) {
		v.breach(2, "%d holds are alive at the end and %d were won: losers left something behind", len(o.holds), len(ids))
	}
}

// onlySeats checks that exactly these seats are in a state on the board.
func (v *verdict) onlySeats(o *observation, state int, seats []string) {
	wanted := make(map[string]bool)
	for _, s := range seats {
		wanted[s] = true
		if o.board[s] != state {
			v.breach(9, "seat %s is %s on the board instead of %s", s, stateName(o.board[s]), stateName(state))
		}
	}
	for _, s := range slices.Sorted(maps.Keys(o.board)) {
		if o.board[s] == state && !wanted[s] {
			v.breach(3, "seat %s is %s and belongs to nobody who won", s, stateName(state))
		}
	}
}

func stateName(state int) string {
	if state < 0 || state > 3 {
		return "in no known state"
	}
	return [...]string{"free", "held", "sold", "not for sale"}[state]
}

// seatsOf lists the seats of holds, sorted.
func seatsOf(holds []*client.Hold) []string {
	var keys []string
	for _, h := range holds {
		for _, l := range h.Lines {
			if l.Seat != "" {
				keys = append(keys, l.Seat)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// unitsOf adds up what holds hold.
func unitsOf(holds []*client.Hold) int64 {
	var n int64
	for _, h := range holds {
		for _, l := range h.Lines {
			n += l.Quantity
		}
	}
	return n
}

// sameBasket reports whether two looks at a hold show the same lines and the same deadline.
func sameBasket(a, b *client.Hold) bool {
	return a.ExpiresAt.Equal(b.ExpiresAt) && slices.Equal(sortedLines(a), sortedLines(b))
}

func sortedLines(h *client.Hold) []client.Line {
	return slices.SortedFunc(slices.Values(h.Lines), func(a, b client.Line) int {
		return cmp.Or(cmp.Compare(a.Seat, b.Seat), cmp.Compare(a.Area, b.Area), cmp.Compare(a.TicketType, b.TicketType))
	})
}
