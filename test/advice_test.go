package test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/rowlock/rowlock/client"
)

// says waits for a text in a live region, as it is read out.
func says(region, text string) string {
	return `document.getElementById("` + region + `").textContent.includes("` + text + `")`
}

func TestASeatThatIsLeftAloneIsSaidAndCanBeTakenByKeyboard(t *testing.T) {
	page, _, _ := hall(t, 2, 6, client.EventRequest{Name: "A Nudging Evening"})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	clickSeat(t, ctx, "S1-1-2")
	until(t, ctx, visible("lines", "Row 1 Seat 2"))
	until(t, ctx, visible("advice", "Your seats leave Row 1 Seat 1 alone."))
	until(t, ctx, says("advice-live", "Row 1 Seat 1 alone"))
	tabTo(t, ctx, "#advice-actions button")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("lines", "Row 1 Seat 1"))
	until(t, ctx, `document.getElementById("advice").hidden && document.activeElement.id === "basket-title"`)
}

func TestAStrictEventSaysWhichSeatToAdd(t *testing.T) {
	page, _, _ := hall(t, 2, 6, client.EventRequest{Name: "A Strict Evening", SingleSeats: "strict"})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	clickSeat(t, ctx, "S1-1-2")
	until(t, ctx, visible("message", "That would leave Row 1 Seat 1 alone."))
	until(t, ctx, says("alert", "That would leave Row 1 Seat 1 alone."))
	tabTo(t, ctx, "#message-actions button")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("lines", "Row 1 Seat 1")+" && "+visible("lines", "Row 1 Seat 2"))
	until(t, ctx, `document.activeElement.id === "basket-title"`)
}

func TestWhoLosesASeatIsOfferedAnotherWithOneButton(t *testing.T) {
	page, event, c := hall(t, 2, 8, client.EventRequest{Name: "A Crowded Evening"})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	clickSeat(t, ctx, "S1-2-8")
	until(t, ctx, visible("lines", "Row 2 Seat 8"))
	// The page hears nothing of what others do from here on, as if it were slow.
	value[bool](t, ctx, `(() => { const real = fetch; window.fetch = (url, ...rest) => { if (!url.includes("/changes")) return real(url, ...rest); window.deaf = true; return new Promise(() => {}) }; return true })()`)
	until(t, ctx, "window.deaf")
	if _, err := c.CreateHold(t.Context(), event, client.HoldRequest{Seats: []string{"S1-1-4"}}); err != nil {
		t.Fatal(err)
	}
	clickSeat(t, ctx, "S1-1-4")
	until(t, ctx, visible("message", "Row 1 Seat 4 just went: somebody else is holding it. Row 1 Seat 3 is free."))
	until(t, ctx, says("alert", "Row 1 Seat 3 is free."))
	tabTo(t, ctx, "#message-actions button")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("lines", "Row 1 Seat 3")+" && "+visible("lines", "Row 2 Seat 8"))
	until(t, ctx, `document.getElementById("message").hidden`)
}
