package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/client"
)

const (
	patience  = time.Minute // more than a server takes by its own bounds
	triesMax  = 3           // of a request whose outcome is not known
	lateAfter = 20 * time.Second
	floor     = "FLOOR"
	floorSize = 5
	rowSeats  = 6
	painted   = "STALLS-B-6" // the seat whose channel changes
	openWith  = "open-sesame"
)

// seats are the event's when it begins, in the order of its map: two rows.
func seats() []string { return houses()[0].seats() }

// basket is how much of which unit, by key.
type basket map[string]int64

// request is what a client sends, every time it sends it.
type request struct {
	method, path, body    string
	key, token, auth, via string // Idempotency-Key, Hold-Token, API key, Access-Code
	first                 time.Duration
}

// op is one delivery of one request, and what the checks need to know of it. Its answer is what the
// server gave, seen or not.
type op struct {
	kind   string
	who    int
	key    string
	hold   string // the hold meant, by id
	wrong  bool   // with another hold's token
	byKey  bool
	echo   bool   // a copy that the client did not send
	echoed bool   // the network made a copy of it
	try    int    // from 1
	want   basket // claim; change: what is added
	less   basket // change: what is removed
	best   int
	// together: of best available, only seats beside one another will do.
	together bool
	before   basket // the hold's lines as the client knows them; nil when it does not
	to       int    // move: to which of the houses
	ttl      time.Duration

	first, sent time.Duration // of any delivery of this request, of this one
	answered    time.Duration
	seen        bool
	by          *generation // who had it; nil when it never arrived
	status      int         // 0: none
	code        string
	replayed    bool
	problem     client.Problem
	held        *client.Hold
	order       *client.Order
	board       *client.Board
}

// unknown says that the server did not tell whether it was done.
func (o *op) unknown() bool {
	return o.status == 0 && o.by != nil || o.status == http.StatusServiceUnavailable && o.code == "UNAVAILABLE"
}

// open says that the client does not know.
func (o *op) open() bool { return !o.seen || o.status == 0 || o.unknown() }

// mayStillBeDone says that a refusal is not the last word: an earlier try or a copy may be under way.
func (o *op) mayStillBeDone() bool { return o.open() || o.echoed || o.try > 1 }

// owned is a hold as its client has it.
type owned struct {
	id, token, name string
	lines           basket // nil from when an unanswered change may still be done
	order           *client.Order
}

// bought is an order that box offices know of.
type bought struct {
	id      string
	tickets []string
}

// person is a buyer, or somebody in a box office. One goroutine.
type person struct {
	*actor
	boxOffice bool
	holds     []*owned
	keys      int
}

func (p *person) live() {
	for visit := range visits {
		if visit < 2 {
			p.doze(0, 60*time.Millisecond) // the rush at the opening
		} else {
			p.doze(20*time.Millisecond, 800*time.Millisecond)
		}
		switch n := p.rng.IntN(100); {
		case n < 8:
			p.watch()
		case n < 14:
			p.probe()
		case p.boxOffice && n < 30:
			p.cancelSomething()
		case len(p.holds) > 0 && n < 72:
			p.use(p.holds[len(p.holds)-1-p.rng.IntN(min(2, len(p.holds)))])
		default:
			p.claimSomething()
		}
	}
}

func (p *person) newKey() string {
	p.keys++
	return fmt.Sprintf("key-%d-%d-0123456789", p.number, p.keys)
}

// ask sends a request, again under the same key while its outcome is not known and it may be repeated.
func (p *person) ask(o op, r request, repeatable bool) *op {
	r.first = p.world.now()
	o.who, o.key, o.byKey = p.number, r.key, p.boxOffice
	if p.boxOffice {
		r.auth = p.world.house.secret
	}
	for try := 1; ; try++ {
		sent := o
		sent.try = try
		p.send(&sent, &r, repeatable)
		p.say("%s %s → %s", o.kind, p.nameOf(o.hold), sent.outcome())
		if !sent.open() && try > 1 && (sent.replayed || sent.order != nil) {
			p.world.count("lost answer then found")
		}
		if !sent.open() || !repeatable || try == triesMax {
			return &sent
		}
		p.doze(20*time.Millisecond, 600*time.Millisecond)
	}
}

func (o *op) outcome() string {
	switch {
	case !o.seen:
		return "left"
	case o.status == 0:
		return "nothing"
	}
	return fmt.Sprintf("%d %s%s %v %v", o.status, o.code, map[bool]string{true: " replayed"}[o.replayed], linesOf(o.held), conflictsOf(o))
}

func conflictsOf(o *op) (out []string) {
	for _, c := range o.problem.Conflicts {
		out = append(out, c.Seat+c.Area+" "+c.Reason)
	}
	return out
}

func (p *person) send(o *op, r *request, repeatable bool) {
	w := p.world
	o.first, o.sent = r.first, w.now()
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	stormy := w.stormy.Load()
	lost := stormy && p.chance(w.climate.lost)
	twice, late := stormy && repeatable && p.chance(w.climate.twice), stormy && repeatable && p.chance(w.climate.late)
	o.echoed = twice || late
	if twice {
		w.count("duplicate delivery")
		p.copy(o, r, time.Duration(p.rng.Int64N(int64(30*time.Millisecond))))
	}
	if late {
		w.count("late delivery")
		p.copy(o, r, time.Second+time.Duration(p.rng.Int64N(int64(lateAfter))))
	}
	mine := *o // the client may have left when this is answered
	done := p.deliver(ctx, &mine, r, 0, lost)
	wait := patience
	if stormy && p.chance(w.climate.gone) {
		w.count("client gone in mid-request")
		wait = time.Duration(1 + p.rng.Int64N(int64(40*time.Millisecond)))
	}
	timer := time.NewTimer(p.wait(wait))
	defer timer.Stop()
	select {
	case <-done:
		mine.seen = true
		*o = mine
	case <-timer.C:
		if wait == patience {
			w.breach("%d: no answer to %s within %v", p.number, o.kind, patience)
		}
	}
}

func (p *person) copy(o *op, r *request, after time.Duration) {
	echo := *o
	echo.echo = true
	p.deliver(context.Background(), &echo, r, after, false)
}

// deliver carries a request to some node, and its answer back, each in its own time.
func (p *person) deliver(ctx context.Context, o *op, r *request, after time.Duration, lost bool) <-chan struct{} {
	w := p.world
	w.mu.Lock()
	number := requestActors + p.number*requestsEach + w.sent[p.number]
	w.sent[p.number]++
	w.ops = append(w.ops, o)
	w.mu.Unlock()
	a := w.actor(number)
	done := make(chan struct{})
	w.underway.Go(func() {
		defer close(done)
		a.sleep(after + time.Duration(a.rng.Int64N(int64(6*time.Millisecond))))
		w.mu.Lock()
		g := w.current
		w.mu.Unlock()
		if g != nil && !lost {
			o.by = g
			w.arrived(o)
			w.answer(context.WithValue(ctx, actorKey{}, a), g.nodes[a.rng.IntN(nodes)], o, r)
			w.departed(o)
		}
		a.doze(0, 6*time.Millisecond)
		if g != nil && g.dead.Load() {
			o.forget()
		}
		o.answered = w.now()
	})
	return done
}

// forget is what a broken connection does to an answer.
func (o *op) forget() {
	o.status, o.code, o.replayed = 0, "", false
	o.problem, o.held, o.order, o.board = client.Problem{}, nil, nil, nil
}

// arrived and departed notice confirmations of one hold that overlap.
func (w *world) arrived(o *op) {
	if o.kind != "confirm" || o.wrong {
		return
	}
	w.mu.Lock()
	w.confirming[o.hold]++
	again := w.confirming[o.hold] > 1
	w.mu.Unlock()
	if again {
		w.count("duplicate confirm while the first is in flight")
	}
}

func (w *world) departed(o *op) {
	if o.kind == "confirm" && !o.wrong {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.confirming[o.hold]--
	}
}

// answer asks a node.
func (w *world) answer(ctx context.Context, node http.Handler, o *op, r *request) {
	req := httptest.NewRequestWithContext(ctx, r.method, "http://sim/v1/events/"+w.house.event+r.path, strings.NewReader(r.body))
	for name, value := range map[string]string{
		"Idempotency-Key": r.key, "Hold-Token": r.token, "Access-Code": r.via, "Request-Id": "sim",
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if r.auth != "" {
		req.Header.Set("Authorization", "Bearer "+r.auth)
	}
	if w.mutant.request != nil {
		w.mutant.request(w, req)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	rec := httptest.NewRecorder()
	node.ServeHTTP(rec, req)
	o.status, o.replayed = rec.Code, rec.Header().Get("Idempotent-Replayed") != ""
	var into any
	switch {
	case rec.Code >= http.StatusBadRequest:
		into = &o.problem
	case rec.Body.Len() == 0:
		return
	case o.kind == "confirm" || o.kind == "cancel order" || o.kind == "cancel ticket":
		o.order = new(client.Order)
		into = o.order
	case o.kind == "board":
		o.board = new(client.Board)
		into = o.board
	case slices.Contains([]string{"claim", "look", "extend", "change"}, o.kind):
		o.held = new(client.Hold)
		into = o.held
	default:
		return
	}
	if err := json.NewDecoder(bytes.NewReader(rec.Body.Bytes())).Decode(into); err != nil {
		w.breach("%s: unreadable answer: %v", o.kind, err)
	}
	o.code = o.problem.Code
}

// claimSomething asks for what others want, too: the house is small.
func (p *person) claimSomething() {
	var body struct {
		Seats []string             `json:"seats,omitempty"`
		Areas []client.AreaRequest `json:"areas,omitempty"`
		Best  *client.BestRequest  `json:"best_available,omitempty"`
		TTL   int64                `json:"ttl_seconds,omitempty"`
	}
	o := op{kind: "claim", want: basket{}, ttl: holdTTL}
	if p.boxOffice && p.chance(400) {
		body.TTL = 2 + p.rng.Int64N(11)
		o.ttl = time.Duration(body.TTL) * time.Second
	}
	kind := p.rng.IntN(10)
	if kind < 3 {
		o.best = 1 + p.rng.IntN(4)
		o.together = p.rng.IntN(2) == 0
		body.Best = &client.BestRequest{Quantity: int64(o.best), Together: o.together}
		o.want = nil
	}
	if kind >= 3 && kind < 8 {
		from := p.rng.IntN(2*rowSeats - 3)
		for _, seat := range seats()[from : from+1+p.rng.IntN(3)] {
			body.Seats = append(body.Seats, seat)
			o.want[seat] = 1
		}
		if p.world.climate.moves && p.chance(200) {
			seat := arriving()[p.rng.IntN(newSeats)]
			body.Seats, o.want[seat] = append(body.Seats, seat), 1
		}
	}
	if kind >= 7 {
		n := 1 + p.rng.Int64N(3)
		body.Areas = []client.AreaRequest{{Area: floor, Quantity: n}}
		o.want[floor] = n
	}
	r := request{method: http.MethodPost, path: "/holds", body: encode(body)}
	if p.chance(700) {
		r.key = p.newKey()
	}
	if p.chance(300) {
		r.via = openWith
	}
	got := p.ask(o, r, r.key != "")
	if !got.seen || got.status != http.StatusCreated {
		return
	}
	h := &owned{id: got.held.ID, token: got.held.Token, name: fmt.Sprintf("h%d.%d", p.number, len(p.holds)), lines: linesOf(got.held)}
	p.holds = append(p.holds, h)
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	p.world.known = append(p.world.known, h.id)
	p.world.tokens[h.id] = h.token
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs
	}
	return string(b)
}

// linesOf sums a hold's lines by unit.
func linesOf(h *client.Hold) basket {
	if h == nil {
		return nil
	}
	return sum(h.Lines)
}

func sum(lines []client.Line) basket {
	out := basket{}
	for _, l := range lines {
		out[l.Seat+l.Area] += l.Quantity
	}
	return out
}

func (p *person) nameOf(hold string) string {
	for _, h := range p.holds {
		if h.id == hold {
			return h.name
		}
	}
	return "-"
}

// use does something with a hold, or with one that is long gone.
func (p *person) use(h *owned) {
	if p.chance(150) {
		p.doze(time.Second, holdTTL+2*time.Second) // and perhaps too late then
	}
	switch n := p.rng.IntN(100); {
	case n < 40:
		p.confirm(h)
	case n < 52:
		p.onHold(op{kind: "look"}, h, request{method: http.MethodGet})
	case n < 62:
		r := request{method: http.MethodPost, path: "/extend"}
		if p.chance(500) {
			r.key = p.newKey()
		}
		p.onHold(op{kind: "extend"}, h, r)
	case n < 85:
		p.change(h)
	default:
		p.onHold(op{kind: "release"}, h, request{method: http.MethodDelete})
	}
}

func (p *person) onHold(o op, h *owned, r request) *op {
	r.path = "/holds/" + h.id + r.path
	if !p.boxOffice || p.chance(500) {
		r.token = h.token
	}
	o.hold, o.before = h.id, h.lines
	return p.ask(o, r, true)
}

// change adds a seat or takes one away, or swaps two.
func (p *person) change(h *owned) {
	o := op{kind: "change", want: basket{}, less: basket{}}
	var patch client.HoldPatch
	held := slices.Sorted(maps.Keys(h.lines))
	if n := p.rng.IntN(3); n > 0 && len(held) > 0 {
		unit := held[p.rng.IntN(len(held))]
		patch.Remove = part(unit)
		o.less[unit] = 1
		if len(held) == 1 && h.lines[unit] == 1 || n == 1 {
			patch.Add = p.another(h, o.want)
		}
	} else {
		patch.Add = p.another(h, o.want)
	}
	got := p.onHold(o, h, request{method: http.MethodPatch, body: encode(patch), key: p.newKey()})
	switch {
	case got.seen && got.status == http.StatusOK && h.lines != nil:
		h.lines = linesOf(got.held)
	case got.mayStillBeDone():
		h.lines = nil
	}
}

// another picks something that the hold does not have.
func (p *person) another(h *owned, want basket) *client.BasketPart {
	all := append(seats(), floor)
	if p.world.climate.moves {
		all = append(all, arriving()...)
	}
	for {
		unit := all[p.rng.IntN(len(all))]
		if h.lines[unit] == 0 {
			want[unit] = 1
			return part(unit)
		}
	}
}

func part(unit string) *client.BasketPart {
	if unit == floor {
		return &client.BasketPart{Areas: []client.AreaRequest{{Area: floor, Quantity: 1}}}
	}
	return &client.BasketPart{Seats: []string{unit}}
}

// confirm buys a hold, and sometimes says so again.
func (p *person) confirm(h *owned) {
	for range 1 + p.rng.IntN(2) {
		r := request{method: http.MethodPost, path: "/orders", token: h.token}
		if p.chance(500) {
			r.key = p.newKey()
		}
		r.body = encode(client.OrderRequest{Hold: h.id, Buyer: &client.Buyer{Name: "Test Buyer", Email: fmt.Sprintf("buyer%d@example.com", p.number)}})
		got := p.ask(op{kind: "confirm", hold: h.id, before: h.lines}, r, true)
		if !got.seen || got.status != http.StatusCreated {
			if got.code == "HOLD_EXPIRED" {
				p.world.count("HOLD_EXPIRED on confirm")
			}
			return
		}
		if h.order == nil {
			h.order = got.order
			p.world.mu.Lock()
			p.world.orders = append(p.world.orders, bought{got.order.ID, ticketsOf(got.order)})
			p.world.mu.Unlock()
		}
		p.doze(time.Millisecond, time.Second)
	}
}

func ticketsOf(o *client.Order) (ids []string) {
	for _, t := range o.Tickets {
		ids = append(ids, t.ID)
	}
	return ids
}

// cancelSomething gives back an order, or a ticket of one.
func (p *person) cancelSomething() {
	p.world.mu.Lock()
	orders := slices.Clone(p.world.orders)
	p.world.mu.Unlock()
	if len(orders) == 0 {
		return
	}
	o := orders[p.rng.IntN(len(orders))]
	if p.chance(500) {
		p.ask(op{kind: "cancel order", hold: o.id}, request{method: http.MethodPost, path: "/orders/" + o.id + "/cancel"}, true)
		return
	}
	ticket := o.tickets[p.rng.IntN(len(o.tickets))]
	p.ask(op{kind: "cancel ticket", hold: ticket}, request{method: http.MethodPost, path: "/tickets/" + ticket + "/cancel"}, true)
}

// probe acts on somebody's hold with a token that is not its own.
func (p *person) probe() {
	p.world.mu.Lock()
	known := slices.Clone(p.world.known)
	p.world.mu.Unlock()
	if len(known) == 0 || p.boxOffice {
		return
	}
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	token := make([]byte, 32)
	for i := range token {
		token[i] = alphabet[p.rng.IntN(len(alphabet))]
	}
	h := &owned{id: known[len(known)-1-p.rng.IntN(min(4, len(known)))], token: string(token)}
	switch p.rng.IntN(4) {
	case 0:
		p.onHold(op{kind: "release", wrong: true}, h, request{method: http.MethodDelete})
	case 1:
		p.onHold(op{kind: "extend", wrong: true}, h, request{method: http.MethodPost, path: "/extend"})
	case 2:
		body := encode(client.OrderRequest{Hold: h.id, Buyer: &client.Buyer{Name: "Test Buyer", Email: "buyer@example.com"}})
		p.ask(op{kind: "confirm", hold: h.id, wrong: true}, request{method: http.MethodPost, path: "/orders", token: h.token, body: body}, true)
	default:
		p.onHold(op{kind: "look", wrong: true}, h, request{method: http.MethodGet})
	}
}

func (p *person) watch() {
	p.ask(op{kind: "board"}, request{method: http.MethodGet, path: "/board"}, true)
}

// organize pauses and opens, repaints, moves to another map and back, and seldom cancels it all.
func (p *person) organize() {
	for round := range 2 {
		if p.world.climate.moves {
			p.move((round + 1) % 2)
		}
		p.doze(500*time.Millisecond, 5*time.Second)
		p.settle("pause")
		p.doze(50*time.Millisecond, time.Second)
		p.settle("open")
		if p.world.climate.repaint {
			channel := []string{"sponsors", "public"}[p.rng.IntN(2)]
			body := fmt.Sprintf(`{"where":{"seats":[%q]},"set":{"channel":%q}}`, painted, channel)
			p.ask(op{kind: "repaint"}, request{method: http.MethodPatch, path: "/allocations", body: body, key: p.newKey()}, true)
		}
		if p.world.climate.reprice {
			p.reprice()
		}
	}
	if p.world.climate.cancelled > 0 {
		p.world.mu.Lock()
		p.world.cancelAt = p.world.now()
		p.world.mu.Unlock()
		p.settle("cancel")
		p.world.count("event cancelled")
	}
}

// settle makes a change of the event's state until it is known to be made.
func (p *person) settle(verb string) {
	for range 2 * triesMax {
		if o := p.ask(op{kind: verb}, request{method: http.MethodPost, path: "/" + verb}, false); !o.open() {
			return
		}
	}
}
