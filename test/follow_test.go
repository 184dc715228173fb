package test

import (
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// breaks lets go of the one hold that lives.
func (o organizer) breaks() {
	o.t.Helper()
	if err := o.c.ReleaseHold(o.t.Context(), o.event, o.hold()); err != nil {
		o.t.Fatal(err)
	}
}

// sellsTo makes a hold for another buyer.
func (o organizer) sellsTo(r client.HoldRequest) {
	o.t.Helper()
	if _, err := o.c.CreateHold(o.t.Context(), o.event, r); err != nil {
		o.t.Fatal(err)
	}
}

// withFloor is the hall of two rows of six with a floor.
func withFloor() *seatmap.Map {
	m := seatmap.Grid(2, 6)
	m.Areas = []seatmap.Area{{Key: "FLOOR", Name: "Floor", Capacity: 7}}
	return m
}

// opensFloor gives the event that hall.
func (o organizer) opensFloor() { o.moves(withFloor()) }

const (
	oneMore = `#area-FLOOR-standard button[aria-label^="One more"]`
	early   = "Your basket was let go before its time. "
	focused = `document.activeElement.getAttribute("aria-label")`
)

func TestABasketIsSaidToBeGoneAlsoWhenSomebodyElseHasItsUnitsByThen(t *testing.T) {
	ctx, o := onPage(t, 2)
	clickSeat(t, ctx, "S1-1-1")
	until(t, ctx, visible("total-amount", "¥4,500"))
	mine := o.hold()
	// Once the page knows of a later hold, it has seen its own on the board.
	o.sellsTo(client.HoldRequest{Seats: []string{"S1-1-6"}})
	until(t, ctx, labels+`.endsWith("Row 1 Seat 6, held by somebody else")`)
	deafen(t, ctx)
	if err := o.c.ReleaseHold(t.Context(), o.event, mine); err != nil {
		t.Fatal(err)
	}
	o.sellsTo(client.HoldRequest{Seats: []string{"S1-1-1"}})
	hear(t, ctx)
	until(t, ctx, visible("message", early+"Row 1 Seat 1 is no longer held for you.")+` && document.getElementById("lines").children.length === 0`)
	until(t, ctx, labels+`.startsWith("Row 1 Seat 1, held by somebody else")`)
	stillThere(t, ctx)
}

func TestABasketWithoutSeatsIsSaidToBeGone(t *testing.T) {
	ctx, o := onPage(t, 2)
	o.opensFloor()
	do(t, ctx, chromedp.WaitVisible(chromedp.CSS(oneMore)))
	take := func() {
		t.Helper()
		do(t, ctx, chromedp.Click(chromedp.CSS(oneMore)))
		until(t, ctx, visible("lines", "Floor"))
	}
	// Without waiting: no time passes on the page, once it has looked at the hold that it made.
	value[bool](t, ctx, `(window.now = performance.now, performance.now = () => 0, true)`)
	take()
	until(t, ctx, `performance.getEntriesByType("resource").some((r) => r.name.includes("/holds/"))`)
	o.breaks()
	until(t, ctx, visible("message", early+"Floor is no longer held for you."))
	value[bool](t, ctx, `(performance.now = window.now, true)`)
	// After a while where as many are held by others.
	take()
	deafen(t, ctx)
	o.breaks()
	o.sellsTo(client.HoldRequest{Areas: []client.AreaRequest{{Area: "FLOOR", Quantity: 3}}})
	hear(t, ctx)
	until(t, ctx, visible("message", early+"Floor is no longer held for you."))
	until(t, ctx, visible("areas", "4 free"))
	stillThere(t, ctx)
}

func TestANewNameStartAndTicketAreShown(t *testing.T) {
	ctx, o := onPage(t, 2)
	o.opensFloor()
	until(t, ctx, visible("areas", "Standard, ¥4,500"))
	name, at := "An Evening That Moved", time.Date(2099, 6, 1, 10, 0, 0, 0, time.UTC)
	again := types(7700)
	again[0].Name = "Full"
	if _, err := o.c.PatchEvent(t.Context(), o.event, client.EventPatch{TicketTypes: again}); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, visible("areas", "Full, ¥7,700")+` && !!document.querySelector('#areas [aria-label="One less: Floor, Full, ¥7,700"]')`)
	if _, err := o.c.PatchEvent(t.Context(), o.event, client.EventPatch{Name: &name, StartsAt: &at}); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, visible("name", name)+" && "+visible("when", "2099")+` && document.title.startsWith("`+name+`")`)
	stillThere(t, ctx)
}

func TestABasketOfAnEventThatIsNotOnSaleAnyMoreSaysWhatCanBeDone(t *testing.T) {
	ctx, o := onPage(t, 2)
	clickSeat(t, ctx, "S1-1-1")
	until(t, ctx, visible("hold-actions", "More time"))
	if _, err := o.c.PauseEvent(t.Context(), o.event); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, visible("banner", "The sale is paused. What is in your basket can still be ordered."))
	until(t, ctx, `document.getElementById("extend").hidden && document.getElementById("buy").checkVisibility()`)
	if _, err := o.c.OpenEvent(t.Context(), o.event); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, `document.getElementById("extend").checkVisibility() && document.getElementById("banner").hidden`)
	do(t, ctx, chromedp.Focus(chromedp.CSS("#buyer-email")))
	if _, err := o.c.CancelEvent(t.Context(), o.event); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, visible("message", "The event was cancelled, and your basket with it. Row 1 Seat 1 is no longer held for you."))
	until(t, ctx, `["lines", "clock", "buy", "total", "hold-actions", "best", "empty"].every((id) => { const n = document.getElementById(id); return !n.checkVisibility() || n.textContent === ""; })`)
	until(t, ctx, `!document.querySelector("#message-actions button") && document.activeElement.id === "basket-title"`)
	stillThere(t, ctx)
	// Nor does it come back with the page.
	do(t, ctx, chromedp.Reload())
	until(t, ctx, ready)
	until(t, ctx, visible("banner", "Cancelled")+` && !document.getElementById("buy").checkVisibility()`)
}

func TestWhatIsInABasketWhenTheSaleIsOverCanBeOrdered(t *testing.T) {
	ctx, o := onPage(t, 2)
	clickSeat(t, ctx, "S1-1-1")
	until(t, ctx, visible("lines", "Row 1 Seat 1"))
	if _, err := o.c.CloseEvent(t.Context(), o.event); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, visible("banner", "The sale is over. What is in your basket can still be ordered."))
	do(t, ctx, chromedp.SendKeys(chromedp.CSS("#buyer-name"), "Test Buyer"), chromedp.SendKeys(chromedp.CSS("#buyer-email"), "buyer@example.com"), chromedp.Click(chromedp.CSS("#buy")))
	until(t, ctx, visible("confirmation", "Row 1 Seat 1")+` && document.getElementById("banner").textContent === "The sale is over"`)
}

func TestAnAccessCodeThatOpensNothingIsSaidTo(t *testing.T) {
	const right, wrong = "SESAME-7", "SESAME-8"
	channel := client.ChannelRequest{ID: "sponsors", Name: "Sponsors", AccessCodes: []string{right}}
	page, event, c := hall(t, 2, 4, client.EventRequest{
		Name: "A Guarded Evening", Channels: []client.ChannelRequest{channel},
		Allocations: []client.AllocationRule{{Where: client.AllocationWhere{All: true}, Set: client.AllocationSet{Channel: &channel.ID}}},
	})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	do(t, ctx, chromedp.Click(chromedp.CSS(".code summary")))
	enter := func(code string) {
		t.Helper()
		do(t, ctx, chromedp.SetValue(chromedp.CSS("#code"), code), chromedp.SendKeys(chromedp.CSS("#code"), kb.Enter))
	}
	enter(wrong)
	until(t, ctx, visible("message", "This code opens nothing here.")+" && "+says("alert", "This code opens nothing here."))
	enter(right)
	until(t, ctx, visible("message", "The map shows what this code opens."))
	channel.AccessCodes = []string{wrong}
	if _, err := c.PutChannel(t.Context(), event, channel); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, labels+`.startsWith("Row 1 Seat 1, not on sale")`)
	enter(right)
	until(t, ctx, visible("message", "This code opens nothing here."))
}

func TestTheFocusStaysInTheChooserWhenTheMapChanges(t *testing.T) {
	ctx, o := onPage(t, 2)
	o.opensFloor()
	do(t, ctx, chromedp.WaitVisible(chromedp.CSS(oneMore)))
	until(t, ctx, says("live", "The seat map has changed."))
	is := func(what string) {
		t.Helper()
		until(t, ctx, focused+` === "`+what+`"`)
	}
	// The seat that had the focus stays under it, where the rows are drawn in another order.
	tabTo(t, ctx, ".seat")
	do(t, ctx, chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
	is("Row 2 Seat 2, available, ¥4,500")
	m := withFloor()
	slices.Reverse(m.Sections[0].Rows)
	o.moves(m)
	until(t, ctx, `document.querySelector("#row option").textContent === "2"`)
	is("Row 2 Seat 2, available, ¥4,500")
	// A seat that is gone leaves it to the nearest of its row.
	m.Sections[0].Rows[0].Seats = slices.Delete(m.Sections[0].Rows[0].Seats, 0, 4)
	o.moves(m)
	is("Row 2 Seat 5, available, ¥4,500")
	// And an area that is gone leaves it to the seat that Tab leads to; a house without seats, to an area.
	do(t, ctx, chromedp.Focus(chromedp.CSS(oneMore)))
	o.moves(seatmap.Grid(2, 6))
	is("Row 2 Seat 5, available, ¥4,500")
	m.Sections = nil
	m.Areas[0].Capacity = 9
	o.moves(m)
	is("One less: Floor, Standard, ¥4,500")
	stillThere(t, ctx)
}

func TestTheFocusGoesToTheBasketWhenWhatHadItIsDone(t *testing.T) {
	ctx, o := onPage(t, 2)
	const title = `document.activeElement.id === "basket-title"`
	tabTo(t, ctx, "#best-count")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("total-amount", "¥9,000")+" && "+title)
	tabTo(t, ctx, "#release")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("empty", "Nothing yet")+" && "+title)
	tabTo(t, ctx, "#best-count")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("total-amount", "¥9,000"))
	o.breaks()
	until(t, ctx, visible("message", early))
	tabTo(t, ctx, "#message-actions button")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("total-amount", "¥9,000")+" && "+title)
	stillThere(t, ctx)
}

// The map is right within five seconds of a fault that ends, so the page asks at least that often while it lasts.
func TestAPageAsksOftenEnoughWhileTheServerDoesNotAnswer(t *testing.T) {
	ctx, _ := onPage(t, 2)
	value[bool](t, ctx, `(() => {
		window.asked = [];
		const real = fetch;
		window.fetch = (url, ...rest) => {
			if (!url.includes("/changes")) return real(url, ...rest);
			window.asked.push(performance.now());
			return Promise.reject(new Error("down"));
		};
		return true;
	})()`)
	until(t, ctx, "asked.length >= 12") // four times, with two tries more each
	if gap := value[float64](t, ctx, "Math.max(...asked.map((at, i) => at - (asked[i - 1] ?? at)))"); gap > 5000 {
		t.Errorf("it did not ask for %.0f ms", gap)
	}
	until(t, ctx, visible("banner", "The server does not answer"))
}
