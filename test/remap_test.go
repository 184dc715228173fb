package test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// organizer is who sells in the tests of pages that follow a change.
type organizer struct {
	t     *testing.T
	c     *client.Client
	event string
}

// moves gives the event another map.
func (o organizer) moves(m *seatmap.Map) {
	o.t.Helper()
	drawing, err := m.Encode()
	if err != nil {
		o.t.Fatal(err)
	}
	e, err := o.c.Event(o.t.Context(), o.event)
	if err != nil {
		o.t.Fatal(err)
	}
	made, err := o.c.CreateMap(o.t.Context(), e.Venue.ID, drawing)
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := o.c.PatchMap(o.t.Context(), o.event, client.MapPatch{Map: made.ID}); err != nil {
		o.t.Fatal(err)
	}
}

func (o organizer) withholds(seats ...string) {
	o.t.Helper()
	channel := client.WithheldChannel
	if _, err := o.c.PatchAllocations(o.t.Context(), o.event, client.AllocationRule{
		Where: client.AllocationWhere{Seats: seats}, Set: client.AllocationSet{Channel: &channel},
	}); err != nil {
		o.t.Fatal(err)
	}
}

// types is what the event's tickets are and cost.
func types(standard int64) []client.TicketTypeRequest {
	return []client.TicketTypeRequest{{ID: "standard", Name: "Standard", Price: &standard}, {ID: "concession", Name: "Concession", Price: new(int64(3000))}}
}

func (o organizer) prices(amount int64) {
	o.t.Helper()
	if _, err := o.c.PatchEvent(o.t.Context(), o.event, client.EventPatch{
		TicketTypes: types(amount),
	}); err != nil {
		o.t.Fatal(err)
	}
}

// hold is the one that lives.
func (o organizer) hold() string {
	o.t.Helper()
	holds, err := o.c.Holds(o.t.Context(), o.event, client.ListOptions{})
	if err != nil || len(holds.Data) != 1 {
		o.t.Fatalf("%v, and not one hold: %v", holds, err)
	}
	return holds.Data[0].ID
}

func (o organizer) takesOut(seat string) {
	o.t.Helper()
	if _, err := o.c.ChangeHold(o.t.Context(), o.event, o.hold(), client.HoldPatch{Remove: &client.BasketPart{Seats: []string{seat}}}); err != nil {
		o.t.Fatal(err)
	}
}

// rebuilt is the hall of two rows of six without the second seat of its first row, with its second row
// drawn elsewhere and the other way round, a third row, and a floor.
func rebuilt() *seatmap.Map {
	m := seatmap.Grid(3, 6)
	m.Name = "Rebuilt"
	rows := m.Sections[0].Rows
	rows[0].Seats = slices.Delete(rows[0].Seats, 1, 2)
	rows[2].Seats = rows[2].Seats[:4]
	for i := range rows[1].Seats {
		rows[1].Seats[i].X += 200
	}
	slices.Reverse(rows[1].Seats)
	m.Areas = []seatmap.Area{{Key: "FLOOR", Name: "Floor", Capacity: 7}}
	return m
}

// deafen keeps from a page what others do, as if it were slow, until window.hear is called.
func deafen(t *testing.T, ctx context.Context) {
	t.Helper()
	value[bool](t, ctx, `(() => {
		const real = fetch;
		const open = new Promise((done) => window.hear = done);
		window.fetch = async (url, ...rest) => {
			if (url.includes("/changes")) {
				window.deaf = true;
				await open;
			}
			return real(url, ...rest);
		};
		return true;
	})()`)
	until(t, ctx, "window.deaf")
}

// hear ends what deafen began.
func hear(t *testing.T, ctx context.Context) {
	t.Helper()
	value[bool](t, ctx, `(window.hear(), true)`)
}

// onPage is an event in a hall of so many rows of six, and a page that shows it. stillThere ends what is done on it.
func onPage(t *testing.T, rows int) (context.Context, organizer) {
	t.Helper()
	page, event, c := hall(t, rows, 6, client.EventRequest{
		Name: "An Evening in a New House", SingleSeats: "off", TicketTypes: types(4500),
		Allocations: []client.AllocationRule{{Where: client.AllocationWhere{All: true}, Set: client.AllocationSet{TicketTypes: []string{"standard", "concession"}}}},
	})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	value[bool](t, ctx, `window.same = true`)
	return ctx, organizer{t, c, event}
}

// stillThere fails the test if the page has been loaded again since onPage.
func stillThere(t *testing.T, ctx context.Context) {
	t.Helper()
	if !value[bool](t, ctx, `window.same === true`) {
		t.Error("the page was loaded again")
	}
}

// labels is what the buttons of the row that is shown are called, one a line.
const labels = `[...document.querySelectorAll(".seat")].map((b) => b.getAttribute("aria-label")).join("\n")`

func TestAnOpenPageFollowsTheEventToAnotherMapWithoutAReload(t *testing.T) {
	ctx, o := onPage(t, 2)
	for _, seat := range []string{"S1-1-2", "S1-1-3"} {
		clickSeat(t, ctx, seat)
	}
	until(t, ctx, visible("total-amount", "¥9,000"))
	goneX, goneY := place(t, ctx, "S1-1-2")
	tabTo(t, ctx, ".seat")
	do(t, ctx, chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	deafen(t, ctx)
	o.takesOut("S1-1-2")
	o.moves(rebuilt())
	o.withholds("S1-2-5", "S1-1-6")
	o.prices(5200)
	if _, err := o.c.CreateHold(t.Context(), o.event, client.HoldRequest{Seats: []string{"S1-2-1"}, Areas: []client.AreaRequest{{Area: "FLOOR", Quantity: 2}}}); err != nil {
		t.Fatal(err)
	}
	hear(t, ctx)

	// The seat that is gone is taken out, with a word; the other one stays, at the price it had.
	until(t, ctx, visible("message", "Row 1 Seat 2 was taken out of your basket. Row 1 Seat 2 is not part of the house any more."))
	until(t, ctx, says("alert", "Row 1 Seat 2 was taken out of your basket."))
	until(t, ctx, visible("total-amount", "¥4,500"))
	until(t, ctx, visible("lines", "Row 1 Seat 3")+` && !document.getElementById("lines").textContent.includes("Row 1 Seat 2")`)
	// The row that had the focus shows the seats of now, and the focus is where it was.
	want := strings.Join([]string{
		"Row 1 Seat 1, available, ¥5,200", "Row 1 Seat 3, in your basket, ¥5,200", "Row 1 Seat 4, available, ¥5,200",
		"Row 1 Seat 5, available, ¥5,200", "Row 1 Seat 6, not on sale",
	}, "\n")
	if got := value[string](t, ctx, labels); got != want {
		t.Errorf("the first row is\n%s\nwant\n%s", got, want)
	}
	if got := value[string](t, ctx, `document.activeElement.getAttribute("aria-label")`); got != "Row 1 Seat 3, in your basket, ¥5,200" {
		t.Errorf("the focus is on %q", got)
	}
	do(t, ctx, chromedp.KeyEvent(kb.ArrowDown))
	want = strings.Join([]string{
		"Row 2 Seat 6, available, ¥5,200", "Row 2 Seat 5, not on sale", "Row 2 Seat 4, available, ¥5,200",
		"Row 2 Seat 3, available, ¥5,200", "Row 2 Seat 2, available, ¥5,200", "Row 2 Seat 1, held by somebody else",
	}, "\n")
	if got := value[string](t, ctx, labels); got != want {
		t.Errorf("the second row is\n%s\nwant\n%s", got, want)
	}
	until(t, ctx, visible("areas", "Floor")+" && "+visible("areas", "5 free")+" && "+visible("areas", "¥5,200"))
	// On the map, too: where the seat was there is none, and the others are where they are drawn now.
	do(t, ctx, chromedp.MouseClickXY(goneX, goneY))
	clickSeat(t, ctx, "S1-2-3")
	until(t, ctx, visible("lines", "Row 2 Seat 3"))
	clickSeat(t, ctx, "S1-3-4")
	until(t, ctx, visible("lines", "Row 3 Seat 4")+" && "+visible("total-amount", "¥14,900"))
	// Prices follow, also under a row of the page that stays and in what a line could be sold as instead.
	o.prices(5300)
	until(t, ctx, visible("areas", "¥5,300")+` && document.querySelector('[data-key="type S1-2-3"]').textContent.includes("¥5,300")`)
	do(t, ctx, chromedp.Click(chromedp.CSS(`#area-FLOOR-standard button[aria-label="One more: Floor, Standard, ¥5,300"]`)))
	until(t, ctx, visible("total-amount", "¥20,200"))
	do(t, ctx, chromedp.SendKeys(chromedp.CSS("#buyer-name"), "Test Buyer"), chromedp.SendKeys(chromedp.CSS("#buyer-email"), "buyer@example.com"), chromedp.Click(chromedp.CSS("#buy")))
	for _, ticket := range []string{"Row 1 Seat 3", "Row 2 Seat 3", "Row 3 Seat 4", "Floor", "4 tickets", "¥20,200"} {
		until(t, ctx, visible("confirmation", ticket))
	}
	stillThere(t, ctx)
}

func TestABasketThatWasLetGoForAnotherMapSaysWhatIsGoneAndCanBeTriedAgain(t *testing.T) {
	ctx, o := onPage(t, 2)
	for _, seat := range []string{"S1-1-2", "S1-1-3"} {
		clickSeat(t, ctx, seat)
	}
	until(t, ctx, visible("total-amount", "¥9,000"))
	// First the basket goes, and the page says so with the basket's time not up.
	if err := o.c.ReleaseHold(t.Context(), o.event, o.hold()); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, visible("message", "Your basket was let go before its time. Row 1 Seat 2 and Row 1 Seat 3 are no longer held for you."))
	// Then one of its seats: what can be tried again is less.
	o.moves(rebuilt())
	until(t, ctx, visible("message", "Your basket was let go before its time. Row 1 Seat 3 is no longer held for you. Row 1 Seat 2 is not part of the house any more."))
	do(t, ctx, chromedp.Click(chromedp.CSS("#message-actions button")))
	until(t, ctx, visible("total-amount", "¥4,500")+" && "+visible("lines", "Row 1 Seat 3"))
	stillThere(t, ctx)
}

func TestASeatThatWentWithAnotherMapIsRefusedInWordsAndOneThatIsCalledOtherwiseIsShownSo(t *testing.T) {
	ctx, o := onPage(t, 2)
	clickSeat(t, ctx, "S1-1-5")
	until(t, ctx, visible("lines", "Row 1 Seat 5"))
	x, y := place(t, ctx, "S1-1-2")
	deafen(t, ctx)
	m := rebuilt()
	m.Sections[0].Rows[0].Seats[3].Label = "5 bis"
	o.moves(m)
	do(t, ctx, chromedp.MouseClickXY(x, y))
	until(t, ctx, visible("message", "That is not part of the house any more."))
	hear(t, ctx)
	until(t, ctx, labels+`.split("\n").length === 5`)
	until(t, ctx, visible("lines", "Row 1 Seat 5 bis"))
	clickSeat(t, ctx, "S1-1-3")
	until(t, ctx, visible("lines", "Row 1 Seat 3"))
	stillThere(t, ctx)
}

func TestWhoHasComeNearerStaysWithTheirSeatsOnAnotherMap(t *testing.T) {
	ctx, o := onPage(t, 20)
	const scale = `Number(document.getElementById("canvas").dataset.scale)`
	until(t, ctx, scale+" > 0")
	far := value[float64](t, ctx, scale)
	for range 2 {
		do(t, ctx, chromedp.Click(chromedp.CSS("#zoom-in")))
	}
	until(t, ctx, fmt.Sprintf("%s > %v", scale, 2*far))
	near := value[float64](t, ctx, scale)
	middle := value[[]float64](t, ctx, `(() => { const b = document.getElementById("canvas").getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()`)
	nearest, least := "", math.Inf(1)
	var wasX, wasY float64
	m := seatmap.Grid(20, 6)
	for _, row := range m.Sections[0].Rows {
		key := row.Seats[2].Key
		x, y := place(t, ctx, key)
		if d := math.Hypot(x-middle[0], y-middle[1]); d < least {
			nearest, least, wasX, wasY = key, d, x, y
		}
	}
	// The same house drawn elsewhere, and in units of half the size.
	for i := range m.Sections[0].Rows {
		for k := range m.Sections[0].Rows[i].Seats {
			s := &m.Sections[0].Rows[i].Seats[k]
			s.X, s.Y = 2*s.X+1000, 2*s.Y-300
		}
	}
	o.moves(m)
	until(t, ctx, fmt.Sprintf("%s !== %v", scale, near))
	if x, y := place(t, ctx, nearest); math.Hypot(x-wasX, y-wasY) > 1 {
		t.Errorf("%s was at %.0f, %.0f and is at %.0f, %.0f", nearest, wasX, wasY, x, y)
	}
	if got := value[float64](t, ctx, scale); math.Abs(got*2-near) > near/100 {
		t.Errorf("the scale was %g, and in units of half the size is %g", near, got)
	}
	stillThere(t, ctx)
}
