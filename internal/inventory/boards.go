package inventory

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The states of a seat on a board, two bits each.
const (
	seatFree = iota
	seatHeld
	seatSold
	seatNone // no allocation
)

// String is the position as the API writes it: epoch, dash, version.
func (p Position) String() string { return p.Epoch + "-" + strconv.FormatInt(p.Version, 10) }

// ParsePosition reads what String wrote.
func ParsePosition(s string) (p Position, ok bool) {
	epoch, version, ok := strings.Cut(s, "-")
	if !ok || epoch == "" || len(epoch) > 32 {
		return p, false
	}
	v, err := strconv.ParseInt(version, 10, 64)
	return Position{Epoch: epoch, Version: v}, err == nil && v >= 0
}

// BoardView is the board of an event, ready to be sent: the same bytes for everybody. It is shared
// and must not be changed.
type BoardView struct {
	Position string
	Map      string // whose seat order Seats is in
	State    State
	Seats    []byte // two bits a seat, low bits first
	Areas    map[string]AreaState
}

// AreaState counts an area.
type AreaState struct{ Capacity, Held, Reserved int64 }

// ChangesView is what happened after a position.
type ChangesView struct {
	Position string
	Map      string // whose seat order Seats is in; a viewer that has another fetches it
	State    State
	Resync   bool
	Offer    int64
	Seats    [][2]int // [seat index, state]
	Areas    map[string]AreaState
}

// OfferView is what may be bought with a code.
type OfferView struct {
	Version int64
	Seats   []OfferRun
	Areas   map[string][]string
}

// OfferRun is a run of seats sold as the same types.
type OfferRun struct {
	From, Count int
	Types       []string
}

// liveBoard is an event's board kept current by the changes since it was read. What it shows was
// true at its position; what has lapsed but is not swept yet still shows as held. A change costs what
// it changes: whole boards are copied only for who wants to look at one at leisure.
type liveBoard struct {
	gate
	board  *Board     // its units are changed in place
	shared *Board     // a copy at the same position for others to keep, once somebody asked
	view   *BoardView // ready to be sent, once somebody asked; replaced, never changed
	layout *Layout    // that view was made by
	spots  *spots     // of board, once somebody lost a seat
}

func newLiveBoard() *liveBoard { return &liveBoard{gate: newGate()} }

// live returns an event's board as it stands now. The board is shared and must not be changed.
func (s *Service) live(ctx context.Context, event string) (*Board, error) {
	lb := s.boards.get(event, newLiveBoard)
	if err := s.enter(ctx, lb.gate); err != nil {
		return nil, err
	}
	defer lb.leave()
	if err := s.refresh(ctx, event, lb); err != nil {
		return nil, err
	}
	return lb.share(), nil
}

// share is the board for others to keep: one copy a position, for all who ask.
func (lb *liveBoard) share() *Board {
	if lb.shared == nil {
		c := *lb.board
		c.Units = slices.Clone(c.Units)
		lb.shared = &c
	}
	return lb.shared
}

// liveOn returns an event's board as it stands now, with the event and the layout that it is of.
func (s *Service) liveOn(ctx context.Context, e *Event) (b *Board, _ *Event, l *Layout, err error) {
	e, l, err = s.inStep(ctx, e, func() (int64, error) {
		if b, err = s.live(ctx, e.ID); err != nil {
			return 0, err
		}
		return b.Revision, nil
	})
	return b, e, l, err
}

// liveView returns an event's board ready to be sent: made once a position, sent to everybody.
func (s *Service) liveView(ctx context.Context, e *Event) (*BoardView, error) {
	lb := s.boards.get(e.ID, newLiveBoard)
	if err := s.enter(ctx, lb.gate); err != nil {
		return nil, err
	}
	defer lb.leave()
	_, l, err := s.inStep(ctx, e, func() (int64, error) {
		if err := s.refresh(ctx, e.ID, lb); err != nil {
			return 0, err
		}
		return lb.board.Revision, nil
	})
	if err != nil {
		return nil, err
	}
	if lb.view == nil {
		lb.view, lb.layout = viewBoard(lb.board, l), l
	}
	return lb.view, nil
}

// refresh brings a board up to now, by the changes since it was read if they are known.
func (s *Service) refresh(ctx context.Context, event string, lb *liveBoard) error {
	if lb.board != nil {
		ch, err := s.store.Changes(ctx, event, lb.board.Position)
		if err != nil {
			return err
		}
		if !ch.Resync {
			lb.follow(ch)
			return nil
		}
	}
	b, err := s.store.Board(ctx, event)
	if err != nil {
		return err
	}
	lb.board, lb.shared, lb.view, lb.spots = b, nil, nil, nil // after a change of the map, too
	return nil
}

// follow moves the board to a later position.
func (lb *liveBoard) follow(ch *Changes) {
	b := lb.board
	if ch.Position == b.Position && ch.Revision == b.Revision && ch.State == b.State {
		return
	}
	b.Position, b.Revision, b.State = ch.Position, ch.Revision, ch.State
	for u, state := range ch.Units {
		if lb.spots != nil {
			lb.spots.count(u, b.Units[u], state)
		}
		b.Units[u] = state
	}
	lb.shared = nil
	if lb.view != nil {
		lb.view = lb.view.after(ch, lb.layout)
	}
}

// after is the view with changes made to it.
func (v *BoardView) after(ch *Changes, l *Layout) *BoardView {
	next := &BoardView{Position: ch.Position.String(), Map: v.Map, State: ch.State, Seats: v.Seats, Areas: v.Areas}
	if len(ch.Units) > 0 {
		next.Seats, next.Areas = slices.Clone(v.Seats), maps.Clone(v.Areas)
	}
	for u, st := range ch.Units {
		switch i, ok := l.Place(u); {
		case !ok: // gone from the map
		case i < len(l.Plan.Seats):
			next.setSeat(i, st)
		default:
			next.setArea(l.Plan.Areas[i-len(l.Plan.Seats)].Key, st)
		}
	}
	return next
}

func (v *BoardView) setSeat(i int, st UnitState) {
	shift := 2 * (i % 4)
	v.Seats[i/4] = v.Seats[i/4]&^(3<<shift) | byte(seatState(st)<<shift)
}

func (v *BoardView) setArea(key string, st UnitState) {
	delete(v.Areas, key)
	if st.Capacity > 0 {
		v.Areas[key] = AreaState{st.Capacity, st.Held, st.Reserved}
	}
}

func viewBoard(b *Board, l *Layout) *BoardView {
	plan := l.Plan
	v := &BoardView{
		Position: b.Position.String(), Map: l.Map, State: b.State,
		Seats: make([]byte, (len(plan.Seats)+3)/4), Areas: make(map[string]AreaState, len(plan.Areas)),
	}
	for i := range plan.Seats {
		v.setSeat(i, b.at(l.Unit(i)))
	}
	for i, a := range plan.Areas {
		v.setArea(a.Key, b.at(l.AreaUnit(i)))
	}
	return v
}

func (b *Board) at(u Unit) UnitState {
	if int(u) < len(b.Units) {
		return b.Units[u]
	}
	return UnitState{}
}

func seatState(st UnitState) int {
	switch {
	case st.Capacity == 0:
		return seatNone
	case st.Reserved > 0:
		return seatSold
	case st.Held > 0:
		return seatHeld
	}
	return seatFree
}

// Board shows every unit's state. Draft events are NotFound for all but their organizer.
func (s *Service) Board(ctx context.Context, c Caller, event string) (*BoardView, error) {
	e, err := s.visible(ctx, c, event)
	if err != nil {
		return nil, err
	}
	return s.liveView(ctx, e)
}

// Changes shows what happened after a position ("k3-1042"); an unreadable one is Invalid.
func (s *Service) Changes(ctx context.Context, c Caller, event, after string) (*ChangesView, error) {
	e, err := s.visible(ctx, c, event)
	if err != nil {
		return nil, err
	}
	p, ok := ParsePosition(after)
	if !ok {
		return nil, invalid("", faultInvalid, "after is the position of a board or of earlier changes.")
	}
	var ch *Changes
	_, l, err := s.inStep(ctx, e, func() (int64, error) {
		if ch, err = s.store.Changes(ctx, event, p); err != nil {
			return 0, err
		}
		return ch.Revision, nil
	})
	if err != nil {
		return nil, err
	}
	v := &ChangesView{Position: ch.Position.String(), Map: l.Map, State: ch.State, Resync: ch.Resync, Offer: ch.Revision, Areas: make(map[string]AreaState)}
	for u, st := range ch.Units {
		switch n, ok := l.Place(u); {
		case !ok: // no viewer of this map can have asked about it
		case n < len(l.Plan.Seats):
			v.Seats = append(v.Seats, [2]int{n, seatState(st)})
		default:
			v.Areas[l.Plan.Areas[n-len(l.Plan.Seats)].Key] = AreaState{st.Capacity, st.Held, st.Reserved}
		}
	}
	slices.SortFunc(v.Seats, func(a, b [2]int) int { return a[0] - b[0] })
	return v, nil
}

// Offer shows what may be bought with an access code (empty: without).
func (s *Service) Offer(ctx context.Context, c Caller, event, code string) (*OfferView, error) {
	e, err := s.visible(ctx, c, event)
	if err != nil {
		return nil, err
	}
	b, e, l, err := s.liveOn(ctx, e)
	if err != nil {
		return nil, err
	}
	return offerOf(b, l, &e.Terms, codeOf(event, code)), nil
}

func offerOf(b *Board, l *Layout, t *Terms, code *Code) *OfferView {
	plan := l.Plan
	v := &OfferView{Version: b.Revision, Seats: []OfferRun{}, Areas: make(map[string][]string)}
	open := make([][]string, len(t.Classes)) // the ticket types of each class that this code opens
	for i, c := range t.Classes {
		if t.Opens(c.Channel, code) {
			open[i] = t.typeIDs(c.Types)
		}
	}
	last := -1 // the class of the run being built
	for i := range plan.Seats {
		st := b.at(l.Unit(i))
		switch {
		case st.Capacity == 0 || open[st.Class] == nil:
			last = -1
		case st.Class == last:
			v.Seats[len(v.Seats)-1].Count++
		default:
			last = st.Class
			v.Seats = append(v.Seats, OfferRun{From: i, Count: 1, Types: open[st.Class]})
		}
	}
	for i, a := range plan.Areas {
		if st := b.at(l.AreaUnit(i)); st.Capacity > 0 && open[st.Class] != nil {
			v.Areas[a.Key] = open[st.Class]
		}
	}
	return v
}

func (t *Terms) typeIDs(types []int) []string {
	ids := make([]string, len(types))
	for i, n := range types {
		ids[i] = t.Types[n].ID
	}
	return ids
}
