package inventory

import (
	"slices"
	"sync"

	"github.com/rowlock/rowlock/internal/seatmap"
)

const (
	spareBlocks       = 64   // classOffer beyond one for each caller, since others take seats meanwhile
	spareApart        = 8    // the same of blocks that take long to find
	shortlistUnitsMax = 4096 // of all blocks of one list: as many as a batch can take
	questionsMax      = 16   // shortlists kept of one board; past it some other goes
)

// bestQuestion is all of a claim that its shortlist depends on, beside the board.
type bestQuestion struct {
	quantity, accessible int
	section              string
	kind                 int // ticket type, -1 for any
	together             bool
	code                 Code // zero for none: no code hashes to it
	revision             int64
}

func questionOf(best *Best, c *Command, revision int64) bestQuestion {
	q := bestQuestion{
		quantity: int(best.Quantity), accessible: int(best.Accessible), section: best.Section,
		kind: c.BestType, together: best.Together, revision: revision,
	}
	if c.Code != nil {
		q.code = *c.Code
	}
	return q
}

// shortlist is what a board has for a question: blocks in the order in which callers who come one after
// the other would be given them. They do not overlap, so that all who read one board can win in one
// batch. The list grows with the number of its readers, and is shared by them.
type shortlist struct {
	mu      sync.Mutex
	begin   func(*shortlist)      // finds the kind of block; nil once done
	more    func() ([]Unit, bool) // the next block; nil when there are no more
	apart   WarningCode           // what to say of these blocks; all of a list are of one kind
	blocks  [][]Unit
	readers int
}

// read returns a list long enough for everybody who has read it by now. It is empty only when there is
// no block. What it returns is never changed.
func (l *shortlist) read(quantity int) ([][]Unit, WarningCode) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begin != nil {
		l.begin(l)
		l.begin = nil
	}
	l.readers++
	spare := spareBlocks
	if l.apart == SeatsApart {
		spare = spareApart
	}
	want := min(l.readers+spare, max(1, shortlistUnitsMax/quantity))
	for len(l.blocks) < want && l.more != nil {
		block, ok := l.more()
		if !ok {
			l.more = nil
			break
		}
		l.blocks = append(l.blocks, block)
	}
	return l.blocks[:min(want, len(l.blocks))], l.apart
}

// newShortlist will hold the best kind of block that the board has: together before rows apart before
// seats apart. Only of the last board to be looked at is anything proposed that is less than together.
func newShortlist(b *Board, layout *Layout, t *Terms, q bestQuestion, last bool) *shortlist {
	return &shortlist{begin: func(l *shortlist) {
		s := newSeating(b, layout, t, q)
		switch {
		case s.few:
		case l.found(layout, "", s.together()) || q.together || !last || q.quantity == 1:
		case q.accessible > 0:
			l.found(layout, SeatsApart, s.accessibleApart)
		case l.found(layout, RowsApart, s.rowsApart()):
		default:
			l.found(layout, SeatsApart, s.apart)
		}
	}}
}

// found takes up a way of finding blocks, unless it finds none.
func (l *shortlist) found(layout *Layout, apart WarningCode, find func() ([]seatmap.Span, bool)) bool {
	next := func() ([]Unit, bool) {
		parts, ok := find()
		return unitsIn(layout, parts), ok
	}
	first, ok := next()
	if ok {
		l.more, l.apart, l.blocks = next, apart, [][]Unit{first}
	}
	return ok
}

// unitsIn lists the seats of a block's parts, in the order of the map.
func unitsIn(layout *Layout, parts []seatmap.Span) []Unit {
	var places []int
	for _, part := range parts {
		for i := range part.Count {
			places = append(places, part.From+i)
		}
	}
	slices.Sort(places)
	units := make([]Unit, len(places))
	for i, place := range places {
		units[i] = layout.Unit(place)
	}
	return units
}

// desks keeps an event's shortlists: of its live board, and of the last board that was read fresh.
type desks struct{ live, fresh desk }

func newDesks() *desks { return &desks{fresh: desk{last: true}} }

// desk keeps the shortlists of one board, for everybody who asks the same of it.
type desk struct {
	last  bool // its boards are the last to be looked at: less than together may be proposed
	mu    sync.Mutex
	board *Board
	lists map[bestQuestion]*shortlist
}

// list returns the shortlist of a board for a question. A board never changes, so a list of it stays
// right; those of another board are forgotten.
func (d *desk) list(b *Board, q bestQuestion, fresh func() *shortlist) *shortlist {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.board != b {
		d.board, d.lists = b, make(map[bestQuestion]*shortlist)
	}
	if l, ok := d.lists[q]; ok {
		return l
	}
	if len(d.lists) == questionsMax {
		for other := range d.lists {
			delete(d.lists, other)
			break
		}
	}
	l := fresh()
	d.lists[q] = l
	return l
}
