package inventory

import (
	"math"
	"slices"
)

// Rows is what the judge may read: rows of one event that the store has locked, as they stand after
// the locks were taken. Answers do not change while a batch is judged. A store that cannot answer
// remembers its error, answers "no such row", and throws the verdict away.
type Rows interface {
	// Allocation returns a unit's allocation; false when it is not for sale.
	Allocation(u Unit) (Allocation, bool)
	// Hold returns a hold, lapsed or not. The judge does not change what it is given.
	Hold(k HoldKey) (*Hold, bool)
	// HoldByReference finds the hold that has a reference.
	HoldByReference(reference string) (HoldKey, bool)
	// Lapsed lists holds whose line on a unit has a deadline at or before now, oldest first, at most limit.
	Lapsed(u Unit, now Instant, limit int) []HoldKey
	// Record returns what was kept under a command id, if it is young enough to count.
	Record(id CommandID) (Record, bool)
	// Order returns an order by its id, with its tickets.
	Order(id string) (*Order, bool)
	// OrderByHold returns the order that a hold became, with its tickets.
	OrderByHold(k HoldKey) (*Order, bool)
	// OrderReferenceTaken reports whether an order has a reference.
	OrderReferenceTaken(reference string) bool
	// BuyerUnits counts a buyer's valid tickets.
	BuyerUnits(buyer [16]byte) int64
}

// Effects is what a batch does, all of it or, if the store cannot write it, none. Every unit, hold,
// line, order and buyer appears at most once, so the writes need no order among themselves, except
// that deletions of lines come before insertions.
type Effects struct {
	Moves        []Move
	InsertHolds  []*Hold
	UpdateHolds  []*Hold
	DeleteHolds  []HoldKey
	DeleteLines  []HoldLine
	InsertLines  []HoldLine
	InsertOrders []*Order
	UpdateOrders []*Order // state, token hash and tickets' validity
	Answered     []string // orders that are answered again, which must be a write
	Buyers       []BuyerMove
	Records      []Record
	Log          []LogEntry // Number is the store's to give
}

// Move changes an allocation's counters by differences.
type Move struct {
	Unit     Unit
	Held     int64
	Reserved int64
}

// HoldLine is what a hold has of one allocation, whatever the ticket types. Its deadline is the hold's.
type HoldLine struct {
	Unit     Unit
	Deadline Instant
	Key      HoldKey
	Seat     bool
	Quantity int64
}

// BuyerMove changes how many units a buyer has.
type BuyerMove struct {
	Buyer [16]byte
	Units int64
}

// Empty reports whether there is nothing to write.
func (e *Effects) Empty() bool {
	return len(e.Moves) == 0 && len(e.InsertHolds) == 0 && len(e.UpdateHolds) == 0 && len(e.DeleteHolds) == 0 &&
		len(e.InsertLines) == 0 && len(e.DeleteLines) == 0 && len(e.InsertOrders) == 0 && len(e.UpdateOrders) == 0 &&
		len(e.Answered) == 0 && len(e.Buyers) == 0 && len(e.Records) == 0 && len(e.Log) == 0
}

// Judge decides a batch of commands in order, at one instant. It is pure: the same rows give the same
// verdict. Outcomes carry no position; the store adds it.
func Judge(now Instant, terms *Terms, rows Rows, batch []Command) ([]Outcome, *Effects) {
	b := newBench(now, terms, rows)
	outcomes := make([]Outcome, len(batch))
	for i := range batch {
		outcomes[i] = b.decide(&batch[i])
		outcomes[i].Now = now
	}
	return outcomes, b.effects()
}

// bench is where a batch is judged: the rows as read, and over them what the batch has done so far.
type bench struct {
	now     Instant
	terms   *Terms
	rows    Rows
	units   map[Unit]*unitCase
	holds   map[HoldKey]*holdCase
	records map[CommandID]Record
	order   []HoldKey // holds in the order they were first touched, so that effects are deterministic
	uorder  []Unit
	eff     Effects
	sales   salesBench
	lists   map[listKey]passed
	freed   int // how often a command of this batch has let units go
}

// listKey tells lists of candidates apart by where they lie, and by what makes a block free for a command.
type listKey struct {
	first *[]Unit
	kind  int
	code  Code
}

// passed is how far a list was gone through, and how often units had been let go by then.
type passed struct{ next, freed int }

// unitCase is an allocation under judgement.
type unitCase struct {
	Allocation
	exists    bool
	wasHeld   int64
	wasSold   int64
	lapsed    []HoldKey // holds with a lapsed line here, oldest first
	next      int       // the first of them not yet taken over
	exhausted bool      // there are no more than these
}

// holdCase is a hold under judgement: as it was in the store, and as it is now. Nil means absent.
type holdCase struct {
	was, is *Hold
}

func newBench(now Instant, terms *Terms, rows Rows) *bench {
	return &bench{
		now: now, terms: terms, rows: rows,
		units: make(map[Unit]*unitCase), holds: make(map[HoldKey]*holdCase), records: make(map[CommandID]Record),
		lists: make(map[listKey]passed),
	}
}

func (b *bench) decide(c *Command) Outcome {
	if rec, ok := b.record(c.ID); ok {
		return replay(rec, c)
	}
	var out Outcome
	switch c.Verb {
	case Claim:
		out = b.claim(c)
	case Change:
		out = b.change(c)
	case Extend:
		out = b.extend(c)
	case Release:
		return b.release(c)
	case Expire:
		return b.expire(c)
	default:
		return Outcome{Refusal: invalid("", "INVALID", "unknown verb")}
	}
	if out.Hold != nil && !out.Replayed && c.ID != (CommandID{}) {
		b.keep(Record{ID: c.ID, Body: c.Body, Answer: EncodeAnswer(out.Hold, out.Warnings), Sealed: c.Sealed})
	}
	return out
}

// record finds what a command answered before, in the store or earlier in this batch.
func (b *bench) record(id CommandID) (Record, bool) {
	if id == (CommandID{}) {
		return Record{}, false
	}
	if rec, ok := b.records[id]; ok {
		return rec, true
	}
	return b.rows.Record(id)
}

func (b *bench) keep(rec Record) {
	b.records[rec.ID] = rec
	b.eff.Records = append(b.eff.Records, rec)
}

// replay answers a command from its record, or refuses another request under the same id.
func replay(rec Record, c *Command) Outcome {
	if rec.Body != c.Body {
		return Outcome{Refusal: refuse(KeyReused)}
	}
	h, warnings, err := DecodeAnswer(rec.Answer)
	if err != nil {
		return Outcome{Refusal: &Refusal{Code: Unavailable, Detail: "the recorded answer is unreadable"}}
	}
	return Outcome{Hold: h, Warnings: warnings, Replayed: true, Sealed: rec.Sealed}
}

func (b *bench) unit(u Unit) *unitCase {
	if uc, ok := b.units[u]; ok {
		return uc
	}
	a, ok := b.rows.Allocation(u)
	uc := &unitCase{Allocation: a, exists: ok, wasHeld: a.Held, wasSold: a.Reserved}
	uc.exhausted = a.Held == 0 // nothing held, so nothing lapsed
	b.units[u] = uc
	b.uorder = append(b.uorder, u)
	return uc
}

func (b *bench) hold(k HoldKey) *holdCase {
	if hc, ok := b.holds[k]; ok {
		return hc
	}
	h, ok := b.rows.Hold(k)
	hc := new(holdCase)
	if ok {
		hc.was, hc.is = h, h
	}
	b.holds[k] = hc
	b.order = append(b.order, k)
	return hc
}

// alive returns the hold if it lives now.
func (b *bench) alive(k HoldKey) (*holdCase, bool) {
	hc := b.hold(k)
	return hc, hc.is != nil && hc.is.Deadline > b.now && b.terms.State != Cancelled
}

// dead says what became of a hold that is not alive.
func (b *bench) dead(k HoldKey) *Refusal {
	if o, ok := b.orderOf(k); ok {
		return &Refusal{Code: HoldSold, Order: o.ID}
	}
	return refuse(HoldExpired)
}

// claim makes a hold of all that is wanted, or of nothing.
func (b *bench) claim(c *Command) Outcome {
	if hc := b.hold(c.Key); hc.is != nil || hc.was != nil { // a retry that finds its own effect, if only to see it end
		if hc.is == nil || hc.is.Deadline <= b.now {
			return Outcome{Refusal: refuse(HoldExpired)}
		}
		return Outcome{Hold: hc.is, Warnings: append(apart(c), warningsOf(b.alone(c, hc.is.Lines, hc.is.Lines))...), Replayed: true}
	}
	if o, sold := b.orderOf(c.Key); sold { // a copy that comes late must not wake what became an order
		return Outcome{Refusal: &Refusal{Code: HoldSold, Order: o.ID}}
	}
	if !b.terms.OnSaleAt(b.now) {
		return Outcome{Refusal: refuse(EventNotOnSale)}
	}
	wants, r := c.Add, (*Refusal)(nil)
	if c.Best {
		if wants, r = b.block(c); r != nil {
			return Outcome{Refusal: r}
		}
	}
	lines, r := b.price(wants, c.Code)
	if r == nil {
		r = b.limit(sumLines(lines), c.ByKey)
	}
	need := perUnit(lines)
	if r == nil {
		r = b.fits(need)
	}
	var alone []single
	if r == nil {
		alone = b.alone(c, nil, lines)
		r = b.refuseSingles(c, alone, nil)
	}
	if r == nil {
		r = b.freeReference(c.Reference)
	}
	if r != nil {
		return Outcome{Refusal: r}
	}
	h := b.newHold(c, lines)
	b.take(need)
	b.holds[c.Key].is = h
	b.write(LogEntry{Kind: LogHeld, By: c.By, Key: c.Key, Units: deltas(need, 1)})
	return Outcome{Hold: h, Warnings: append(apart(c), warningsOf(alone)...)}
}

// apart is what there is to say of the block that a claim was given.
func apart(c *Command) []Warning {
	if !c.Best || c.Apart == "" {
		return nil
	}
	return []Warning{{Code: c.Apart, Unit: -1}}
}

func (b *bench) newHold(c *Command, lines []Line) *Hold {
	ttl, life := b.terms.HoldSeconds, b.terms.HoldMax
	if c.TTL > 0 {
		ttl, life = c.TTL, max(life, c.TTL)
	}
	return &Hold{
		Key: c.Key, Created: b.now, Deadline: b.now.Add(ttl), Cap: b.now.Add(life), TTL: ttl, ByKey: c.ByKey,
		Reference: c.Reference, Metadata: c.Metadata, Lines: lines,
	}
}

// block picks the first candidate that is wholly to be had. Where many commands share a list, each goes
// on where the one before it stopped, unless something was let go since: a batch only takes otherwise.
func (b *bench) block(c *Command) ([]Want, *Refusal) {
	none := &Refusal{Code: AllocationUnavailable, Conflicts: []Conflict{{Unit: -1, Reason: ReasonNoBlock}}}
	if len(c.Candidates) == 0 {
		return nil, none
	}
	list := listKey{first: &c.Candidates[0], kind: c.BestType}
	if c.Code != nil {
		list.code = *c.Code
	}
	p := b.lists[list]
	if p.freed != b.freed {
		p = passed{freed: b.freed}
	}
	for p.next < len(c.Candidates) && !b.blockFree(c.Candidates[p.next], c) {
		p.next++
	}
	b.lists[list] = p
	if p.next >= len(c.Candidates) { // it may have read the list when it was shorter than another's
		return nil, none
	}
	return wantsOf(c.Candidates[p.next], c.BestType), nil
}

func wantsOf(units []Unit, kind int) []Want {
	wants := make([]Want, len(units))
	for i, u := range units {
		wants[i] = Want{Unit: u, Type: kind, Quantity: 1}
	}
	return wants
}

func (b *bench) blockFree(units []Unit, c *Command) bool {
	for _, u := range units {
		uc := b.unit(u)
		if !uc.exists || !uc.Seat || !b.terms.Opens(b.terms.Classes[uc.Class].Channel, c.Code) {
			return false
		}
		if c.BestType >= 0 && !slices.Contains(b.terms.Classes[uc.Class].Types, c.BestType) {
			return false
		}
		if b.free(u, 1) < 1 {
			return false
		}
	}
	return true
}

// price gives each want its ticket type and price, and refuses units that are not for this caller.
func (b *bench) price(wants []Want, code *Code) ([]Line, *Refusal) {
	lines := make([]Line, 0, len(wants))
	var conflicts []Conflict
	var faults []Fault
	for _, w := range wants {
		uc := b.unit(w.Unit)
		if !uc.exists || !b.terms.Opens(b.terms.Classes[uc.Class].Channel, code) {
			conflicts = append(conflicts, Conflict{Unit: w.Unit, Reason: ReasonNotOnSale, Requested: w.Quantity})
			continue
		}
		t := w.Type
		if t < 0 {
			t = b.terms.Classes[uc.Class].Types[0]
		} else if !slices.Contains(b.terms.Classes[uc.Class].Types, t) {
			faults = append(faults, Fault{Field: w.TypeField, Code: faultNotOffered, Detail: "not sold as this ticket type"})
			continue
		}
		if slices.ContainsFunc(lines, func(l Line) bool { return l.Unit == w.Unit && l.Type == t }) {
			// One of them named the default; no map could tell.
			faults = append(faults, Fault{Field: w.Field, Code: faultDuplicate, Detail: "named twice with one ticket type"})
			continue
		}
		lines = append(lines, Line{Unit: w.Unit, Type: t, Quantity: w.Quantity, Price: b.terms.Types[t].Price})
	}
	if len(faults) > 0 {
		return nil, &Refusal{Code: Invalid, Faults: faults}
	}
	if len(conflicts) > 0 {
		// Report what else is wrong in the same answer, so that a loser need not ask twice.
		if r := b.fits(perUnit(lines)); r != nil {
			conflicts = append(conflicts, r.Conflicts...)
		}
		return nil, &Refusal{Code: AllocationUnavailable, Conflicts: conflicts}
	}
	return lines, nil
}

func (b *bench) limit(units int64, byKey bool) *Refusal {
	if !byKey && units > b.terms.UnitsPerHold {
		return refuse(HoldLimitExceeded)
	}
	return nil
}

// unitQuantity is how much of one allocation is meant; the ticket types are summed up first, so that
// two lines on one allocation are never checked against the same stock twice.
type unitQuantity struct {
	unit     Unit
	quantity int64
}

func perUnit(lines []Line) []unitQuantity {
	sums := make([]unitQuantity, 0, len(lines))
	for _, l := range lines {
		i := len(sums)
		if !(i > 0 && sums[i-1].unit == l.Unit) {
			i = slices.IndexFunc(sums, func(s unitQuantity) bool { return s.unit == l.Unit })
		} else {
			i--
		}
		if i < 0 {
			sums = append(sums, unitQuantity{l.Unit, l.Quantity})
		} else {
			sums[i].quantity += l.Quantity
		}
	}
	return sums
}

func sumLines(lines []Line) int64 {
	var n int64
	for _, l := range lines {
		n += l.Quantity
	}
	return n
}

func deltas(need []unitQuantity, sign int64) []UnitDelta {
	d := make([]UnitDelta, len(need))
	for i, n := range need {
		d[i] = UnitDelta{Unit: n.unit, Delta: sign * n.quantity}
	}
	return d
}

// fits reports every allocation that has not enough, or nil.
func (b *bench) fits(need []unitQuantity) *Refusal {
	var conflicts []Conflict
	for _, n := range need {
		free := b.free(n.unit, n.quantity)
		if free >= n.quantity {
			continue
		}
		uc := b.unit(n.unit)
		c := Conflict{Unit: n.unit, Requested: n.quantity, Free: free, Reason: ReasonSoldOut}
		if uc.Seat {
			c.Reason = ReasonHeld
			if uc.Reserved > 0 {
				c.Reason = ReasonSold
			}
		}
		conflicts = append(conflicts, c)
	}
	if conflicts == nil {
		return nil
	}
	return &Refusal{Code: AllocationUnavailable, Conflicts: conflicts}
}

// free counts what can be had of a unit, looking for lapsed lines only as far as want asks.
func (b *bench) free(u Unit, want int64) int64 {
	uc := b.unit(u)
	free := uc.Capacity - uc.Held - uc.Reserved
	for i := uc.next; free < want; i++ {
		if !b.readLapsed(uc, i) {
			break
		}
		free += b.lapsedQuantity(uc, i)
	}
	return free
}

// readLapsed makes sure that the i-th lapsed line of a unit has been read, if there is one.
func (b *bench) readLapsed(uc *unitCase, i int) bool {
	for i >= len(uc.lapsed) {
		if uc.exhausted {
			return false
		}
		limit := max(4, 2*(i+1))
		uc.lapsed = b.rows.Lapsed(uc.Unit, b.now, limit)
		uc.exhausted = len(uc.lapsed) < limit
	}
	return true
}

// lapsedQuantity is what the i-th lapsed hold still has of a unit; 0 when this batch has ended it already.
func (b *bench) lapsedQuantity(uc *unitCase, i int) int64 {
	hc := b.hold(uc.lapsed[i])
	if hc.is == nil || hc.is.Deadline > b.now {
		return 0
	}
	return quantityOf(hc.is.Lines, uc.Unit)
}

func quantityOf(lines []Line, u Unit) int64 {
	var n int64
	for _, l := range lines {
		if l.Unit == u {
			n += l.Quantity
		}
	}
	return n
}

// take moves units to held. Where there is not enough free, lapsed lines are taken over, oldest
// first and only as many as are needed; fits has shown that there are enough.
func (b *bench) take(need []unitQuantity) {
	for _, n := range need {
		uc := b.unit(n.unit)
		for uc.Capacity-uc.Held-uc.Reserved < n.quantity && b.readLapsed(uc, uc.next) {
			if b.lapsedQuantity(uc, uc.next) > 0 {
				b.takeOver(uc.lapsed[uc.next], uc)
			}
			uc.next++
		}
		uc.Held += n.quantity
	}
}

// takeOver ends a lapsed hold and takes one unit's lines from it. The deadline of what is left
// becomes 0, so that no clock that steps back brings half a basket to life; the sweeper takes the rest.
func (b *bench) takeOver(k HoldKey, uc *unitCase) {
	hc := b.hold(k)
	q := quantityOf(hc.is.Lines, uc.Unit)
	uc.Held -= q
	rest := slices.DeleteFunc(slices.Clone(hc.is.Lines), func(l Line) bool { return l.Unit == uc.Unit })
	if len(rest) == 0 {
		hc.is = nil
	} else {
		h := *hc.is
		h.Lines, h.Deadline = rest, 0
		hc.is = &h
	}
	b.write(LogEntry{Kind: LogExpired, By: "store", Key: k, Units: []UnitDelta{{uc.Unit, -q}}})
}

// letGo gives back all that a hold has and ends it.
func (b *bench) letGo(hc *holdCase) []UnitDelta {
	need := perUnit(hc.is.Lines)
	for _, n := range need {
		b.unit(n.unit).Held -= n.quantity
	}
	b.freed++
	hc.is = nil
	return deltas(need, -1)
}

// freeReference refuses a reference that a living hold has; a lapsed hold loses it with its life.
func (b *bench) freeReference(reference string) *Refusal {
	if reference == "" {
		return nil
	}
	for _, k := range b.order {
		if hc := b.holds[k]; hc.is != nil && hc.is.Reference == reference && hc.is.Deadline > b.now {
			return refuse(ReferenceTaken)
		}
	}
	k, ok := b.rows.HoldByReference(reference)
	if !ok {
		return nil
	}
	hc := b.hold(k)
	if hc.is == nil {
		return nil
	}
	if hc.is.Deadline > b.now {
		return refuse(ReferenceTaken)
	}
	b.end(k, hc)
	return nil
}

// end ends a lapsed hold, or one of a cancelled event, with all it still has.
func (b *bench) end(k HoldKey, hc *holdCase) {
	e := LogEntry{Kind: LogExpired, By: "store", Key: k, Units: b.letGo(hc)}
	if b.terms.State == Cancelled {
		e.Reason = "the event was cancelled"
	}
	b.write(e)
}

func (b *bench) extend(c *Command) Outcome {
	hc, ok := b.alive(c.Key)
	if !ok {
		return Outcome{Refusal: b.dead(c.Key)}
	}
	if !b.terms.OnSaleAt(b.now) {
		return Outcome{Refusal: refuse(EventNotOnSale)}
	}
	if hc.is.Deadline >= hc.is.Cap {
		return Outcome{Refusal: refuse(HoldLifetimeReached)}
	}
	h := *hc.is
	h.Deadline = b.restarted(&h)
	hc.is = &h
	b.write(LogEntry{Kind: LogExtended, By: c.By, Key: c.Key})
	return Outcome{Hold: &h}
}

// restarted is a hold's deadline when its countdown begins anew: never past the cap, never sooner than before.
func (b *bench) restarted(h *Hold) Instant {
	return max(h.Deadline, min(b.now.Add(h.TTL), h.Cap))
}

func (b *bench) release(c *Command) Outcome {
	hc, ok := b.alive(c.Key)
	if !ok {
		if r := b.dead(c.Key); r.Code == HoldSold {
			return Outcome{Refusal: r}
		}
		if hc.is != nil { // it has lapsed; whoever let it go must not find it again when the clock steps back
			b.end(c.Key, hc)
		}
		return Outcome{}
	}
	kind := LogReleased
	if c.By != "buyer" {
		kind = LogBroken
	}
	b.write(LogEntry{Kind: kind, By: c.By, Key: c.Key, Units: b.letGo(hc), Reason: c.Reason})
	return Outcome{Released: true}
}

func (b *bench) expire(c *Command) Outcome {
	hc := b.hold(c.Key)
	if hc.is == nil || (hc.is.Deadline > b.now && b.terms.State != Cancelled) {
		return Outcome{}
	}
	b.end(c.Key, hc)
	return Outcome{Released: true}
}

func (b *bench) write(e LogEntry) {
	e.At = b.now
	b.eff.Log = append(b.eff.Log, e)
}

// effects turns the difference between what was and what is into writes.
func (b *bench) effects() *Effects {
	for _, u := range b.uorder {
		uc := b.units[u]
		if uc.Held != uc.wasHeld || uc.Reserved != uc.wasSold {
			b.eff.Moves = append(b.eff.Moves, Move{u, uc.Held - uc.wasHeld, uc.Reserved - uc.wasSold})
		}
	}
	for _, k := range b.order {
		hc := b.holds[k]
		switch {
		case hc.was == hc.is:
			continue
		case hc.was == nil:
			b.eff.InsertHolds = append(b.eff.InsertHolds, hc.is)
		case hc.is == nil:
			b.eff.DeleteHolds = append(b.eff.DeleteHolds, k)
		default:
			b.eff.UpdateHolds = append(b.eff.UpdateHolds, hc.is)
		}
		b.diffLines(hc)
	}
	b.effectsOfSales()
	return &b.eff
}

// diffLines writes what changed of a hold's lines, as the store keeps them: by allocation.
func (b *bench) diffLines(hc *holdCase) {
	before, after := b.storedLines(hc.was), b.storedLines(hc.is)
	for _, l := range before {
		if !slices.Contains(after, l) {
			b.eff.DeleteLines = append(b.eff.DeleteLines, l)
		}
	}
	for _, l := range after {
		if !slices.Contains(before, l) {
			b.eff.InsertLines = append(b.eff.InsertLines, l)
		}
	}
}

func (b *bench) storedLines(h *Hold) []HoldLine {
	if h == nil {
		return nil
	}
	sums := perUnit(h.Lines)
	lines := make([]HoldLine, len(sums))
	for i, s := range sums {
		lines[i] = HoldLine{Unit: s.unit, Deadline: h.Deadline, Key: h.Key, Seat: b.unit(s.unit).Seat, Quantity: s.quantity}
	}
	return lines
}

// amount multiplies without wrapping; prices and quantities are bounded far below it.
func amount(l Line) int64 {
	if l.Price != 0 && l.Quantity > math.MaxInt64/l.Price {
		return math.MaxInt64
	}
	return l.Price * l.Quantity
}
