package inventory

import (
	"maps"
	"slices"
	"strconv"

	"github.com/rowlock/rowlock/internal/seatmap"
)

// unallocated stands for the class of a unit that has no allocation.
const unallocated = -1

// painting is the class of every unit of an event while rules are applied to it. Classes are
// appended to terms, which is therefore the painter's own copy.
type painting struct {
	layout *Layout
	terms  *Terms
	class  []int // by unit
	// capacity of each area on the map, in units, whether it has an allocation or not.
	capacity map[Unit]int64
}

func newPainting(l *Layout, terms *Terms) *painting {
	p := &painting{layout: l, terms: terms, class: make([]int, l.Units()), capacity: make(map[Unit]int64, len(l.Plan.Areas))}
	for i := range l.Plan.Areas {
		p.capacity[l.AreaUnit(i)] = int64(l.Plan.Areas[i].Capacity)
	}
	return p
}

// clone copies a painting; the terms, to which classes are only ever added, are shared.
func (p *painting) clone() *painting {
	c := *p
	c.class, c.capacity = slices.Clone(p.class), maps.Clone(p.capacity)
	return &c
}

// capacityOf is how many units an allocation has.
func (p *painting) capacityOf(u Unit) int64 {
	if n, area := p.capacity[u]; area {
		return n
	}
	return 1
}

// blankPainting has every unit in the public channel as the first ticket type: what an event sells
// when no rule says otherwise.
func blankPainting(l *Layout, terms *Terms) *painting {
	p := newPainting(l, terms)
	start := terms.classOf(Class{Channel: 0, Types: []int{0}})
	for unit := range p.class {
		p.class[unit] = unallocated
		if _, on := l.Place(Unit(unit)); on {
			p.class[unit] = start
		}
	}
	return p
}

// paintingOf has the units of a board as they are.
func paintingOf(b *Board, l *Layout, terms *Terms) *painting {
	p := newPainting(l, terms)
	for unit := range p.class {
		p.class[unit] = unallocated
		if st := b.at(Unit(unit)); st.Capacity > 0 {
			p.class[unit] = st.Class
			if !st.Seat {
				p.capacity[Unit(unit)] = st.Capacity
			}
		}
	}
	return p
}

// apply paints by one rule, whose names are known to be good, and returns how many allocations it
// selects and how many it changes. What an earlier rule excluded stays excluded: a unit that was
// taken out on purpose does not come back by a sweeping rule.
func (p *painting) apply(r Rule) (selected, changed int) {
	repainted := make(map[int]int) // old class → new, since many units share few classes
	for unit, in := range p.selects(r.Where) {
		before := p.class[unit]
		if !in || before == unallocated {
			continue
		}
		selected++
		after, known := repainted[before]
		if !known {
			after = p.repaint(before, r)
			repainted[before] = after
		}
		n, area := p.capacity[Unit(unit)]
		resized := area && r.Capacity > 0 && r.Capacity != n
		if resized {
			p.capacity[Unit(unit)] = r.Capacity
		}
		if after != before || resized {
			p.class[unit] = after
			changed++
		}
	}
	return selected, changed
}

// repaint is what a rule makes of a class.
func (p *painting) repaint(before int, r Rule) int {
	if r.Exclude {
		return unallocated
	}
	c := p.terms.Classes[before]
	if r.Channel != "" {
		if i, ok := p.terms.ChannelIndex(r.Channel); ok {
			c.Channel = i
		}
	}
	if len(r.Types) > 0 {
		c.Types = make([]int, 0, len(r.Types))
		for _, id := range r.Types {
			if i, ok := p.terms.TypeIndex(id); ok {
				c.Types = append(c.Types, i)
			}
		}
	}
	return p.terms.classOf(c)
}

// selects marks the units that a rule is about, by unit.
func (p *painting) selects(w Where) []bool {
	in, plan := make([]bool, len(p.class)), p.layout.Plan
	if w.All {
		for unit := range in {
			in[unit] = true
		}
		return in
	}
	mark := func(from, count int) {
		for place := from; place < from+count; place++ {
			in[p.layout.Unit(place)] = true
		}
	}
	for _, key := range w.Sections {
		if from, count, ok := plan.SectionSeats(key); ok {
			mark(from, count)
		}
	}
	for _, key := range w.Rows {
		if from, count, ok := plan.RowSeats(key); ok {
			mark(from, count)
		}
	}
	for _, key := range w.Seats {
		if i, ok := plan.SeatIndex(key); ok {
			mark(i, 1)
		}
	}
	for _, key := range w.Areas {
		if i, ok := plan.AreaIndex(key); ok {
			mark(len(plan.Seats)+i, 1)
		}
	}
	if len(w.Channels) > 0 {
		for unit, class := range p.class {
			if class != unallocated && slices.Contains(w.Channels, p.terms.Channels[p.terms.Classes[class].Channel].ID) {
				in[unit] = true
			}
		}
	}
	return in
}

// asRules writes a painting as rules that paint it on a blank one: by whole sections and rows where it
// can, and by single seats where it must.
func (p *painting) asRules() []Rule {
	wheres := make(map[int]*Where) // by class
	var order []int
	where := func(class int) *Where {
		w, ok := wheres[class]
		if !ok {
			w = new(Where)
			wheres[class] = w
			order = append(order, class)
		}
		return w
	}
	p.bySeats(where)
	for i, a := range p.layout.Plan.Areas {
		w := where(p.class[p.layout.AreaUnit(i)])
		w.Areas = append(w.Areas, a.Key)
	}
	rules := make([]Rule, 0, len(order))
	for _, class := range order {
		r := Rule{Where: *wheres[class], Exclude: class == unallocated}
		if !r.Exclude {
			c := p.terms.Classes[class]
			r.Channel, r.Types = p.terms.Channels[c.Channel].ID, p.terms.typeIDs(c.Types)
		}
		rules = append(rules, r)
	}
	return append(rules, p.capacityRules()...)
}

// capacityRules are rules for the areas that have another capacity than the map says, one a capacity.
func (p *painting) capacityRules() []Rule {
	var rules []Rule
	for i, a := range p.layout.Plan.Areas {
		n := p.capacity[p.layout.AreaUnit(i)]
		if n == int64(a.Capacity) {
			continue
		}
		at := slices.IndexFunc(rules, func(r Rule) bool { return r.Capacity == n })
		if at < 0 {
			at = len(rules)
			rules = append(rules, Rule{Capacity: n})
		}
		rules[at].Where.Areas = append(rules[at].Where.Areas, a.Key)
	}
	return rules
}

// bySeats adds every seat to the selection of its class, by the largest whole that has it.
func (p *painting) bySeats(where func(class int) *Where) {
	plan := p.layout.Plan
	seats, class := plan.Seats, func(place int) int { return p.class[p.layout.Unit(place)] }
	for i := 0; i < len(seats); {
		if from, n, _ := plan.SectionSeats(seats[i].Section); from == i && p.uniform(i, n) {
			w := where(class(i))
			w.Sections = append(w.Sections, seats[i].Section)
			i += n
		} else if from, n, _ := plan.RowSeats(seats[i].Row); from == i && p.uniform(i, n) {
			w := where(class(i))
			w.Rows = append(w.Rows, seats[i].Row)
			i += n
		} else {
			w := where(class(i))
			w.Seats = append(w.Seats, seats[i].Key)
			i++
		}
	}
}

// uniform reports whether the units at n places are of one class.
func (p *painting) uniform(from, n int) bool {
	for place := from; place < from+n; place++ {
		if p.class[p.layout.Unit(place)] != p.class[p.layout.Unit(from)] {
			return false
		}
	}
	return true
}

// repaints writes the difference of two paintings as runs. A run reaches over units that have no
// allocation or the class already, for giving it to them changes nothing and saves a run.
func repaints(before, after []int) []Repaint {
	var runs []Repaint
	open := unallocated // the class of the run under way
	for unit, class := range after {
		if class == unallocated || class == open && class == before[unit] {
			continue
		}
		if class == before[unit] {
			open = unallocated
			continue
		}
		if class != open {
			runs = append(runs, Repaint{From: Unit(unit), Class: class})
			open = class
		}
		run := &runs[len(runs)-1]
		run.Count = Unit(unit) - run.From + 1
	}
	return runs
}

// allocations paints e by its rules and returns what is then for sale, in the map's order. It leaves in
// e.Terms only the classes that a unit has, numbered as they are met.
func allocations(e *Event, l *Layout) []Allocation {
	scratch := e.clone().Terms
	scratch.Classes = nil
	p := blankPainting(l, &scratch)
	for _, r := range e.Rules {
		p.apply(r)
	}
	e.Terms.Classes = nil
	number := make(map[int]int)
	rows := make([]Allocation, 0, len(p.class))
	for place := range l.Places() {
		u := l.Unit(place)
		class := p.class[u]
		if class == unallocated {
			continue
		}
		n, met := number[class]
		if !met {
			n = e.Terms.classOf(scratch.Classes[class])
			number[class] = n
		}
		a := Allocation{Unit: u, Class: n, Capacity: 1}
		if place < len(l.Plan.Seats) {
			a.Seat, a.Key = true, l.Plan.Seats[place].Key
		} else {
			a.Key, a.Capacity = l.Plan.Areas[place-len(l.Plan.Seats)].Key, p.capacity[u]
		}
		rows = append(rows, a)
	}
	return rows
}

// rules checks the rules of an event against its map and its terms. A channel that is set but was
// never declared is declared by that, without codes: nobody can open it.
func (f *faultList) rules(rules []Rule, plan *seatmap.Plan, terms *Terms) {
	if len(rules) > rulesMax {
		f.addf("/allocations", faultTooMany, "There may be at most %d rules.", rulesMax)
		return
	}
	if keysOf(rules) > ruleKeysMax {
		f.addf("/allocations", faultTooMany, "The rules may name at most %d things together.", ruleKeysMax)
		return
	}
	for i := range rules {
		f.rule("/allocations/"+strconv.Itoa(i), &rules[i], plan, terms)
	}
}

// keysOf counts what rules name, for it is kept with the event and read with it every time.
func keysOf(rules []Rule) int {
	n := 0
	for i := range rules {
		w := &rules[i].Where
		n += len(w.Sections) + len(w.Rows) + len(w.Seats) + len(w.Areas) + len(w.Channels)
	}
	return n
}

// rule checks one rule, whose body stands at the pointer at.
func (f *faultList) rule(at string, r *Rule, plan *seatmap.Plan, terms *Terms) {
	f.where(at+"/where", &r.Where, plan, terms)
	switch {
	case r.Exclude && (r.Channel != "" || len(r.Types) > 0 || r.Capacity != 0):
		f.add(at+"/set/exclude", faultInvalid, "What is excluded has neither channel nor ticket types nor capacity.")
		return
	case !r.Exclude && r.Channel == "" && len(r.Types) == 0 && r.Capacity == 0:
		f.add(at+"/set", faultRequired, "A rule sets a channel, ticket types, a capacity or exclude.")
		return
	}
	f.capacity(at, r)
	seen := make(map[string]bool, len(r.Types))
	for i, id := range r.Types {
		field := at + "/set/ticket_types/" + strconv.Itoa(i)
		if _, ok := terms.TypeIndex(id); !ok {
			f.add(field, faultUnknown, "The event has no such ticket type.")
		} else if seen[id] {
			f.add(field, faultDuplicate, "The rule names this ticket type already.")
		}
		seen[id] = true
	}
	if r.Channel == "" {
		return
	}
	if _, declared := terms.ChannelIndex(r.Channel); declared {
		return
	}
	switch {
	case !slug.MatchString(r.Channel):
		f.add(at+"/set/channel", faultInvalid, "An id has 1 to 40 of the characters a-z, 0-9, _ and -.")
	case !terms.roomFor(r.Channel):
		f.addf(at+"/set/channel", faultTooMany, "An event has at most %d channels.", channelsMax)
	default:
		name := r.Channel
		if name == WithheldChannel {
			name = withheldChannelName
		}
		terms.Channels = append(terms.Channels, Channel{ID: r.Channel, Name: name})
	}
}

// live checks a rule that stands alone in a body. Live or not, what it names is looked up one by one.
func (f *faultList) live(r *Rule, l *Layout, terms *Terms) {
	if keysOf([]Rule{*r}) > ruleKeysMax {
		f.addf("/where", faultTooMany, "A rule may name at most %d things.", ruleKeysMax)
		return
	}
	f.rule("", r, l.Plan, terms)
}

// capacity checks the capacity that a rule sets.
func (f *faultList) capacity(at string, r *Rule) {
	w := &r.Where
	switch {
	case r.Capacity == 0:
	case r.Capacity < 0 || r.Capacity > capacityMax:
		f.addf(at+"/set/capacity", faultOutOfRange, "A capacity is from 1 to %d units.", capacityMax)
	case w.All || len(w.Sections)+len(w.Rows)+len(w.Seats)+len(w.Channels) > 0:
		f.add(at+"/set/capacity", faultInvalid, "Only areas have a capacity, and a rule that sets it names nothing else.")
	}
}

// where checks that everything a rule names is there.
func (f *faultList) where(at string, w *Where, plan *seatmap.Plan, terms *Terms) {
	if !w.All && len(w.Sections)+len(w.Rows)+len(w.Seats)+len(w.Areas)+len(w.Channels) == 0 {
		f.add(at, faultRequired, "A rule names units, or all of them.")
	}
	known := func(member, detail string, keys []string, has func(key string) bool) {
		for i, key := range keys {
			if !has(key) {
				f.add(at+member+"/"+strconv.Itoa(i), faultUnknown, detail)
			}
		}
	}
	known("/sections", "The map has no such section.", w.Sections, func(key string) bool {
		_, _, ok := plan.SectionSeats(key)
		return ok
	})
	known("/rows", "The map has no such row.", w.Rows, func(key string) bool {
		_, _, ok := plan.RowSeats(key)
		return ok
	})
	known("/seats", "The map has no such seat.", w.Seats, func(key string) bool {
		_, ok := plan.SeatIndex(key)
		return ok
	})
	known("/areas", "The map has no such area.", w.Areas, func(key string) bool {
		_, ok := plan.AreaIndex(key)
		return ok
	})
	known("/channels", "The event has no such channel.", w.Channels, func(id string) bool {
		_, ok := terms.ChannelIndex(id)
		return ok
	})
}
