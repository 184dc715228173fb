package race

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowlock/rowlock/client"
)

// Each race is held once against a real server, and then its judge is shown the same observation with
// one thing made wrong: a judge that would let it pass proves nothing.
func TestEveryJudgeSeesWhatIsWrong(t *testing.T) {
	a, err := newArena(t.Context(), OpenTarget(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	for _, r := range Races() {
		t.Run(r.Name, func(t *testing.T) {
			o, err := r.run(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if v := r.judge(copyOf(o)); len(v.breaches) > 0 {
				t.Fatalf("the honest observation is refused: %v", v.breaches)
			}
			wrongs := slices.Concat(wrongAnywhere(o), wrongIn[r.Name])
			if len(wrongIn[r.Name]) == 0 {
				t.Error("this race has nothing of its own made wrong")
			}
			for _, w := range wrongs {
				bad := copyOf(o)
				w.make(bad)
				if v := r.judge(bad); len(v.breaches) == 0 {
					t.Errorf("not seen: %s", w.what)
				}
			}
		})
	}
}

// wrong is one way in which an observation can be bad.
type wrong struct {
	what string
	make func(*observation)
}

// copyOf copies an observation as deep as the tests write to it.
func copyOf(o *observation) *observation {
	c := *o
	c.phases = slices.Clone(o.phases)
	for i := range c.phases {
		c.phases[i].rounds = slices.Clone(c.phases[i].rounds)
		for j := range c.phases[i].rounds {
			round := slices.Clone(c.phases[i].rounds[j])
			for k := range round {
				round[k].conflicts = slices.Clone(round[k].conflicts)
				round[k].hold = copyHold(round[k].hold)
				if ord := round[k].order; ord != nil {
					other := *ord
					round[k].order = &other
				}
			}
			c.phases[i].rounds[j] = round
		}
	}
	c.holds, c.orders = slices.Clone(o.holds), slices.Clone(o.orders)
	c.board, c.log = make(map[string]int), make(map[string]int)
	for k, v := range o.board {
		c.board[k] = v
	}
	for k, v := range o.log {
		c.log[k] = v
	}
	report := *o.report
	report.Sections = slices.Clone(report.Sections)
	c.report = &report
	return &c
}

func copyHold(h *client.Hold) *client.Hold {
	if h == nil {
		return nil
	}
	c := *h
	c.Lines = slices.Clone(h.Lines)
	return &c
}

// in edits the first answer of a phase that is such an answer; it panics when there is none, so that
// a wrong that changes nothing is not taken for one that nobody sees.
func in(phase, label string, edit func(*answer)) func(*observation) {
	return func(o *observation) {
		for _, p := range o.phases {
			if p.name != phase {
				continue
			}
			for _, round := range p.rounds {
				for i := range round {
					if round[i].label() == label {
						edit(&round[i])
						return
					}
				}
			}
		}
		panic("the phase " + phase + " has no answer " + label)
	}
}

func becomes(status int, code string) func(*answer) {
	return func(a *answer) {
		*a = answer{op: a.op, status: status, code: code, asked: a.asked, patch: a.patch, sent: a.sent, got: a.got}
	}
}

// wins turns a loser into one more winner of what it asked for.
func wins(a *answer) {
	h := &client.Hold{ID: "hld_other", Token: "other", ExpiresAt: time.Now().Add(time.Hour)}
	for _, s := range a.asked.Seats {
		h.Lines = append(h.Lines, client.Line{Seat: s, Quantity: 1})
	}
	for _, w := range a.asked.Areas {
		h.Lines = append(h.Lines, client.Line{Area: w.Area, Quantity: w.Quantity})
	}
	*a = answer{op: a.op, status: 201, asked: a.asked, hold: h, sent: a.sent, got: a.got}
}

// wrongAnywhere is what no race may let pass: an answer that nobody promised in any of its phases, a
// phase that was forgotten, and sums that do not agree.
func wrongAnywhere(o *observation) []wrong {
	var list []wrong
	for i, p := range o.phases {
		list = append(list,
			wrong{p.name + ": a 500", func(o *observation) { becomes(500, "INTERNAL")(&o.phases[i].rounds[0][0]) }},
			wrong{p.name + ": a 503", func(o *observation) { becomes(503, "OVERLOADED")(&o.phases[i].rounds[0][0]) }},
			wrong{p.name + ": no answer", func(o *observation) {
				last := o.phases[i].rounds[len(p.rounds)-1]
				becomes(0, "")(&last[len(last)-1])
			}},
			wrong{p.name + ": an unknown refusal", func(o *observation) { becomes(422, "INVALID")(&o.phases[i].rounds[0][0]) }},
			wrong{p.name + ": forgotten", func(o *observation) { o.phases[i].rounds = nil }},
		)
	}
	return append(list,
		wrong{"no report", func(o *observation) { o.report = nil }},
		wrong{"a unit is lost", func(o *observation) { o.report.Free-- }},
		wrong{"a unit is sold by nobody", func(o *observation) { o.report.Reserved++; o.report.Free-- }},
		wrong{"an allocation is missing", func(o *observation) { o.report.Capacity--; o.report.Free-- }},
		wrong{"tickets without units", func(o *observation) { o.report.Tickets++ }},
		wrong{"money without tickets", func(o *observation) { o.report.Total++ }},
		wrong{"an area is oversold", func(o *observation) {
			last := &o.report.Sections[len(o.report.Sections)-1]
			last.Held = last.Capacity + 1
		}},
	)
}

// heldMore are wrongs of every race that ends with holds it can name.
func heldMore(extra ...wrong) []wrong {
	return append(extra,
		wrong{"a unit is held by nobody", func(o *observation) { o.report.Held++; o.report.Free-- }},
		wrong{"a loser left a hold", func(o *observation) { o.holds = append(o.holds, client.Hold{ID: "hld_left"}) }},
		wrong{"a winner's hold is gone", func(o *observation) { o.holds[0].ID = "hld_left" }},
		wrong{"a seat is held for a loser", func(o *observation) { o.board["S1-20-20"] = seatHeld }},
	)
}

// one builds a list of a single wrong.
func one(what string, make func(*observation)) wrong { return wrong{what, make} }

// wrongIn holds, for each race, what its judge alone must see.
var wrongIn = map[string][]wrong{
	"one-seat": heldMore(
		one("two winners", in("claims", lostHeld, wins)),
		one("no winner", in("claims", created, becomes(409, "ALLOCATION_UNAVAILABLE"))),
		one("a loser is told of another seat", in("claims", lostHeld, func(a *answer) { a.conflicts[0].Seat = "S1-9-9" })),
		one("a loser is told nothing", in("claims", lostHeld, func(a *answer) { a.conflicts = nil })),
		one("sold instead of held", in("claims", lostHeld, func(a *answer) { a.conflicts[0].Reason = "sold" })),
		one("a hold without a token", in("claims", created, func(a *answer) { a.hold.Token = "" })),
		one("the seat is free on the board", func(o *observation) { o.board["S1-1-1"] = seatFree }),
	),
	"one-seat-rounds": heldMore(
		one("one round has two winners and another none", func(o *observation) {
			in("claims", lostHeld, wins)(o)
			last := o.phases[0].rounds[rounds-1]
			for i := range last {
				if last[i].won() {
					last[i] = last[(i+1)%len(last)]
					return
				}
			}
		}),
		one("the log has a hold too many", func(o *observation) { o.log["held"]++ }),
	),
	"last-units": heldMore(
		one("six winners", in("claims", soldOut, wins)),
		one("sold out with a unit free", in("claims", soldOut, func(a *answer) { a.conflicts[0].Free = new(int64(1)) })),
		one("the area ends with four", func(o *observation) {
			o.report.Held--
			o.report.Free++
			for i := range o.report.Sections {
				if o.report.Sections[i].Key == floorArea {
					o.report.Sections[i].Held--
				}
			}
		}),
	),
	"overlapping-baskets": heldMore(
		one("two winners of one seat", in("baskets that share a seat", lostHeld, wins)),
		one("three of four seats", in("baskets in a ring", created, func(a *answer) { a.hold.Lines = a.hold.Lines[:3] })),
		one("other seats than asked for", in("baskets in a ring", created, func(a *answer) { a.hold.Lines[0].Seat = "S1-19-1" })),
		one("lost to a seat that nobody has", in("baskets in a ring", lostHeld, func(a *answer) {
			a.asked = &client.HoldRequest{Seats: []string{"S1-19-1"}}
			a.conflicts = []client.Conflict{{Seat: "S1-19-1", Reason: "held"}}
		})),
	),
	"opposite-order": heldMore(
		one("two winners in a round", in("claims", lostHeld, wins)),
		one("a crossed addition wins", in("crossed additions", lostHeld, becomes(200, ""))),
	),
	"failed-change": heldMore(
		one("a change wins", in("changes", lostHeld, becomes(200, ""))),
		one("the deadline moved", in("a look afterwards", done, func(a *answer) { a.hold.ExpiresAt = a.hold.ExpiresAt.Add(time.Microsecond) })),
		one("a seat was given up", in("a look afterwards", done, func(a *answer) { a.hold.Lines = a.hold.Lines[:1] })),
	),
	"last-seat-change": heldMore(
		one("nobody gets the seat", in("changes", done, becomes(409, "ALLOCATION_UNAVAILABLE"))),
		one("two get the seat", in("changes", lostHeld, becomes(200, ""))),
		one("a loser's deadline moved", func(o *observation) {
			changes, looks := o.phases[0].rounds[0], o.phases[1].rounds[0]
			for i := range changes {
				if !changes[i].won() {
					looks[i].hold.ExpiresAt = looks[i].hold.ExpiresAt.Add(time.Second)
					return
				}
			}
		}),
		one("the winner has not what it won", func(o *observation) {
			changes, looks := o.phases[0].rounds[0], o.phases[1].rounds[0]
			for i := range changes {
				if changes[i].won() {
					looks[i].hold.Lines = looks[i].hold.Lines[:1]
				}
			}
		}),
	),
	"best-available-storm": heldMore(
		one("a block too few", in("claims", created, becomes(409, "ALLOCATION_UNAVAILABLE"))),
		one("seats of two rows", in("claims", created, func(a *answer) { a.hold.Lines[0].Seat = "BLOCKS-99-1" })),
		one("one block for two", func(o *observation) {
			var first *answer
			for i := range o.phases[0].rounds[0] {
				if a := &o.phases[0].rounds[0][i]; a.won() && first == nil {
					first = a
				} else if a.won() {
					a.hold.Lines = slices.Clone(first.hold.Lines)
					return
				}
			}
		}),
		one("three seats of four", in("claims", created, func(a *answer) { a.hold.Lines = a.hold.Lines[:3] })),
	),
	"wrong-token": heldMore(
		one("the release is told of", in("releases", letGo, becomes(410, "HOLD_EXPIRED"))),
		one("an extension works", in("extensions", gone, becomes(200, ""))),
		one("a change works", in("changes", gone, becomes(200, ""))),
		one("an order is made", in("orders", gone, becomes(201, ""))),
		one("an owner lost its hold", in("the owners' looks", done, becomes(410, "HOLD_EXPIRED"))),
		one("the countdown was restarted", in("the owners' looks", done, func(a *answer) { a.hold.ExpiresAt = a.hold.ExpiresAt.Add(time.Second) })),
	),
	"release-after-reacquisition": heldMore(
		one("the new owner lost the seat", in("the new owner's look", done, becomes(410, "HOLD_EXPIRED"))),
		one("the old token extends", in("late extensions", gone, becomes(200, ""))),
		one("the old token buys", in("late orders", gone, becomes(201, ""))),
	),
	"expired-resells": heldMore(
		one("a seat waits for the sweep", in("claims of what ran out", created, becomes(409, "ALLOCATION_UNAVAILABLE"))),
		one("an old token buys", in("old tokens that buy", gone, becomes(201, ""))),
		one("an old token sees its hold", in("old tokens that look", gone, becomes(200, ""))),
	),
	"at-the-deadline": {
		one("a new owner comes early", in(deadlineClaimed, created, func(a *answer) {
			a.hold.ExpiresAt = a.hold.ExpiresAt.Add(-time.Minute) // however late it really came
		})),
		one("two owners at once", in(deadlineClaimed, lostHeld, func(a *answer) {
			wins(a)
			a.hold.ExpiresAt = time.Now().Add(-time.Minute)
		})),
		one("nobody gets a free seat", func(o *observation) {
			for i := range o.phases[1].rounds[0] {
				if a := &o.phases[1].rounds[0][i]; a.won() {
					*a = o.phases[1].rounds[0][(i+1)%deadlineClaims]
				}
			}
		}),
		one("the old owner still sees it", in(deadlineLooked, done, func(a *answer) { a.sent = a.sent.Add(time.Minute) })),
		one("an old token is alive afterwards", in(deadlineAfter, gone, becomes(200, ""))),
		one("an extension overlaps the next owner", func(o *observation) {
			a := &o.phases[3].rounds[0][0]
			h := copyHold(o.phases[0].rounds[1][0].hold)
			h.ExpiresAt = h.ExpiresAt.Add(time.Hour)
			*a = answer{op: a.op, status: 200, hold: h, sent: a.sent, got: a.got}
			in(deadlineClaimed, lostHeld, func(a *answer) {})(o)
			wins(&o.phases[1].rounds[1][0])
			o.phases[1].rounds[1][0].hold.ExpiresAt = h.ExpiresAt
		}),
	},
	"one-key-one-hold": heldMore(
		one("two holds", in("copies at once", created, func(a *answer) { a.hold.ID = "hld_other" })),
		one("another token", in("a repeat", created, func(a *answer) { a.hold.Token = "other" })),
		one("it loses to itself", in("a repeat", created, becomes(409, "ALLOCATION_UNAVAILABLE"))),
		one("another body is accepted", in("another body", reused, becomes(201, ""))),
	),
	"one-hold-one-order": {
		one("two orders", in("checkouts", created, func(a *answer) { a.order.ID = "ord_other" })),
		one("an order of another hold", in("checkouts", created, func(a *answer) { a.order.Hold = "hld_other" })),
		one("another price", in("checkouts", created, func(a *answer) { a.order.Total++ })),
		one("a ticket is missing", in("checkouts", created, func(a *answer) { a.order.Tickets = a.order.Tickets[:1] })),
		one("a checkout is refused", in("checkouts", created, becomes(409, "HOLD_SOLD"))),
		one("two rows", func(o *observation) { o.orders = append(o.orders, client.Order{ID: "ord_other"}) }),
		one("two sales in the log", func(o *observation) { o.log["sold"]++ }),
		one("a seat is not sold", func(o *observation) { o.board["S1-1-1"] = seatFree }),
		one("a hold is left", func(o *observation) { o.holds = append(o.holds, client.Hold{ID: "hld_left"}) }),
	},
	"sell-or-release": {
		one("bought and released", func(o *observation) {
			round := o.phases[0].rounds[0]
			for i := range round {
				switch round[i].label() {
				case sold, gone:
					becomes(204, "")(&round[i])
					return
				}
			}
		}),
		one("a seat is sold that was let go", func(o *observation) { o.board["S1-20-20"] = seatSold }),
		one("a hold is left", func(o *observation) { o.holds = append(o.holds, client.Hold{ID: "hld_left"}) }),
	},
	"cancel-twice": {
		one("the area gets a unit too many", in("the unit that came back", soldOut, wins)),
		one("the unit did not come back", in("the unit that came back", created, becomes(409, "ALLOCATION_UNAVAILABLE"))),
		one("a repeat is refused", in("then its order", done, becomes(409, "EVENT_STATE_CONFLICT"))),
		one("the next owner's order is cancelled", func(o *observation) {
			for i := range o.orders {
				o.orders[i].State = "cancelled"
			}
		}),
		one("the next owner's seat is free", func(o *observation) { o.board["S1-1-1"] = seatFree }),
		one("a cancelled unit is still sold", func(o *observation) {
			for i := range o.report.Sections {
				if o.report.Sections[i].Key == floorArea {
					o.report.Sections[i].Reserved++
				} else if o.report.Sections[i].Reserved > 0 {
					o.report.Sections[i].Reserved--
				}
			}
		}),
	},
	"no-single-seat": heldMore(
		one("both baskets of a gap", in("claims", leftAlone, wins)),
		one("a seat alone on the board, whatever was answered", func(o *observation) {
			for _, s := range append(o.gaps[0].left, o.gaps[0].right...) {
				o.board[s] = seatHeld
			}
		}),
		one("no basket of a gap", in("claims", created, becomes(422, "SINGLE_SEAT_LEFT"))),
		one("refused for another seat", in("claims", leftAlone, func(a *answer) { a.conflicts[0].Seat = "S1-1-1" })),
		one("refused without a word", in("additions", leftAlone, func(a *answer) { a.conflicts = nil })),
		one("allowed with a warning", in("claims", created, func(a *answer) {
			a.hold.Warnings = []client.Warning{{Code: "SINGLE_SEAT_LEFT", Seat: "S1-1-5"}}
		})),
		one("both additions", in("additions", leftAlone, becomes(200, ""))),
		one("a refused addition leaves a seat", in("a look afterwards", done, func(a *answer) {
			a.hold.Lines = append(a.hold.Lines, client.Line{Seat: "S1-20-20", Quantity: 1})
		})),
		one("the seat between is held by nobody", func(o *observation) { o.board[o.gaps[0].alone] = seatHeld }),
	),
	"withheld-seat": heldMore(
		one("it is sold by hand", in("posted by hand", closed, wins)),
		one("it is sold in a basket", in("in a basket with a free seat", closed, wins)),
		one("a guess opens it", in("with a guessed code", closed, wins)),
		one("it stays withheld", in("released to the public", created, becomes(409, "ALLOCATION_UNAVAILABLE"))),
		one("two get it", in("released to the public", lostHeld, wins)),
	),
}

func TestARaceThatCannotTakeItsFirstStepIsABreachWhenThePromisesGuaranteeIt(t *testing.T) {
	_, err := must(answer{op: "claim", status: 409, code: "ALLOCATION_UNAVAILABLE"})
	r := Race{Name: "first-step", run: func(context.Context, *arena) (*observation, error) { return nil, err }}
	if result := r.in(t.Context(), nil); len(result.Breaches) != 1 || result.Failure != "" {
		t.Errorf("%+v", result)
	}
	_, err = must(answer{op: "claim", fault: "connection refused"})
	r.run = func(context.Context, *arena) (*observation, error) { return nil, err }
	if result := r.in(t.Context(), nil); len(result.Breaches) != 0 || !strings.Contains(result.Failure, "connection refused") {
		t.Errorf("%+v", result)
	}
}

func TestBreachesAreBoundedAndSayHowManyThereWere(t *testing.T) {
	v := new(verdict)
	for range breachesMax + 5 {
		v.breach(1, "a seat")
	}
	if len(v.breaches) != breachesMax || v.breaches[breachesMax-1] != "… and 6 more" {
		t.Errorf("%d: %q", len(v.breaches), v.breaches[len(v.breaches)-1])
	}
}
