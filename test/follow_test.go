package test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

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
	until(t, ctx, `performance.getEntriesByType("resource").filter((r) => r.name.includes("/holds/")).length > 0`)
	deafen(t, ctx)
	o.breaks()
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
	take()
	o.breaks()
	until(t, ctx, visible("message", early+"Floor is no longer held for you."))
	// The same where as many are held by others.
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
