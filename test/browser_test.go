package test

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/rowlock/rowlock/client"
	"github.com/rowlock/rowlock/internal/seatmap"
)

const (
	pageTimeout = time.Minute           // of a whole walk through the pages
	lookEvery   = 25 * time.Millisecond // how often a page is asked whether it is there yet
	tabsMax     = 120                   // presses of Tab before something counts as out of reach
	narrow      = 320                   // CSS pixels
)

// browser starts a Chromium of its own, without a window. Faults of a page, such as an exception or
// something that its policy forbids, fail the test when it ends.
func browser(t *testing.T) context.Context {
	t.Helper()
	ctx, faults := plainBrowser(t)
	failOn(t, faults)
	return ctx
}

func plainBrowser(t *testing.T) (ctx context.Context, faults chan string) {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("the browser tests need Chromium: apt-get install -y chromium")
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WindowSize(1280, 900))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), flags...)
	t.Cleanup(stop)
	return open(t, allocator)
}

// another is a page of the same Chromium that shares nothing with the first: another buyer's.
func another(t *testing.T, ctx context.Context) context.Context {
	t.Helper()
	page, faults := open(t, ctx, chromedp.WithNewBrowserContext())
	failOn(t, faults)
	return page
}

// open opens a page that tells its faults.
func open(t *testing.T, parent context.Context, opts ...chromedp.ContextOption) (ctx context.Context, faults chan string) {
	t.Helper()
	faults = make(chan string, 100)
	tell := func(fault string) {
		select {
		case faults <- fault:
		default: // the first hundred will do
		}
	}
	page, closePage := chromedp.NewContext(parent, append(opts, chromedp.WithListener(func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			tell(e.ExceptionDetails.Text)
		case *cdplog.EventEntryAdded:
			// A refusal is an ordinary answer, though the console lists it among network errors.
			if e.Entry.Level == cdplog.EntryLevelError && e.Entry.Source != cdplog.EntrySourceNetwork {
				tell(e.Entry.Text)
			}
		}
	}))...)
	t.Cleanup(closePage)
	// The first call starts the browser, which then lives as long as that call's context: no deadline yet.
	if _, err := chromedp.Call(page, cdplog.Enable, cdp.Empty{}); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	ctx, cancel := context.WithTimeout(page, pageTimeout)
	t.Cleanup(cancel)
	return ctx, faults
}

func failOn(t *testing.T, faults chan string) {
	t.Cleanup(func() {
		for len(faults) > 0 {
			t.Errorf("the page has a fault: %s", <-faults)
		}
	})
}

func do(t *testing.T, ctx context.Context, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// value evaluates an expression in the page.
func value[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for a condition in the page. It asks from outside, since the page's policy lets
// nobody run text as a program in it.
func until(t *testing.T, ctx context.Context, condition string) {
	t.Helper()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		// While a page is being replaced there is none to ask.
		if met, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+condition+")")); err == nil && met {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("never came true: %s", condition)
		}
	}
}

const ready = `document.getElementById("main")?.dataset.ready === "true"`

// visible is a condition: an element is shown and holds a text.
func visible(id, text string) string {
	return fmt.Sprintf(`(() => { const n = document.getElementById(%q); return n && n.checkVisibility() && n.textContent.includes(%q); })()`, id, text)
}

// demoServer runs the demo and returns it with its event's page.
func demoServer(t *testing.T, args ...string) (s *server, page string) {
	t.Helper()
	s = start(t, append([]string{"demo", "--db", "sqlite:" + filepath.Join(t.TempDir(), "demo.db"), "--listen", "127.0.0.1:0"}, args...)...)
	events, err := client.New(s.url).Events(t.Context(), client.ListOptions{})
	if err != nil || len(events.Data) != 1 {
		t.Fatalf("the demo has %v on sale: %v", events, err)
	}
	return s, s.url + "/events/" + events.Data[0].ID
}

// What the tests of pages rest on: that a page's faults are seen.
func TestFaultsOfAPageAreSeen(t *testing.T) {
	s, _ := demoServer(t)
	for name, fault := range map[string]string{
		"an exception":     `setTimeout(() => { throw new Error("planted"); })`,
		"markup from text": `setTimeout(() => { document.body.innerHTML = "planted"; })`,
		"an inline style":  `document.body.setAttribute("style", "color: red")`,
		"an inline script": `(() => { const n = document.createElement("script"); n.append("1"); document.body.append(n); })()`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, faults := plainBrowser(t)
			do(t, ctx, chromedp.Navigate(s.url), chromedp.WaitVisible(chromedp.CSS(".card")))
			value[any](t, ctx, fault)
			select {
			case <-faults:
			case <-ctx.Done():
				t.Error("nothing was told")
			}
		})
	}
}

// place finds where a seat of the map stands in the window, and scrolls it into sight.
func place(t *testing.T, ctx context.Context, seat string) (x, y float64) {
	t.Helper()
	found := value[[]float64](t, ctx, fmt.Sprintf(`(() => {
		const canvas = document.getElementById("canvas");
		canvas.scrollIntoView({ block: "nearest" });
		const { scale, left, top } = canvas.dataset;
		const box = canvas.getBoundingClientRect();
		const request = new XMLHttpRequest();
		request.open("GET", location.pathname.replace("/events/", "/v1/events/") + "/map", false);
		request.send();
		for (const section of JSON.parse(request.responseText).sections)
			for (const row of section.rows)
				for (const s of row.seats)
					if (s.key === %q) return [box.left + Number(left) + s.x * scale, box.top + Number(top) + s.y * scale];
	})()`, seat))
	return found[0], found[1]
}

func clickSeat(t *testing.T, ctx context.Context, seat string) {
	t.Helper()
	x, y := place(t, ctx, seat)
	do(t, ctx, chromedp.MouseClickXY(x, y))
}

// tabTo presses Tab until something has the focus, and fails if it cannot be reached.
func tabTo(t *testing.T, ctx context.Context, selector string) {
	t.Helper()
	for range tabsMax {
		if value[bool](t, ctx, fmt.Sprintf(`!!document.activeElement?.matches(%q)`, selector)) {
			return
		}
		do(t, ctx, chromedp.KeyEvent(kb.Tab))
	}
	t.Fatalf("Tab does not reach %s", selector)
}

func TestABuyerGetsFromTheFirstPageToTicketsWithTheMouse(t *testing.T) {
	s, _ := demoServer(t)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(s.url), chromedp.WaitVisible(chromedp.CSS(".card")), chromedp.Click(chromedp.CSS(".card")))
	until(t, ctx, ready)
	clickSeat(t, ctx, "STALLS-D-11")
	until(t, ctx, visible("lines", "Row D Seat 11"))
	clickSeat(t, ctx, "STALLS-D-10")
	until(t, ctx, visible("total-amount", "€90.00"))
	do(t, ctx, chromedp.Focus(chromedp.CSS(`[data-key="type STALLS-D-10"]`)), chromedp.KeyEvent(kb.ArrowDown))
	until(t, ctx, visible("total-amount", "€75.00"))
	do(t, ctx, chromedp.Click(chromedp.CSS(`#area-FLOOR-standing button[aria-label^="One more"]`)))
	until(t, ctx, visible("total-amount", "€100.00"))
	clickSeat(t, ctx, "STALLS-D-11") // once more: it goes
	until(t, ctx, visible("total-amount", "€55.00"))
	if clock := value[string](t, ctx, `document.getElementById("left").textContent`); !strings.Contains(clock, ":") {
		t.Errorf("no time left is shown: %q", clock)
	}
	do(t, ctx, chromedp.SendKeys(chromedp.CSS("#buyer-name"), "Test Buyer"), chromedp.SendKeys(chromedp.CSS("#buyer-email"), "buyer@example.com"), chromedp.Click(chromedp.CSS("#buy")))
	until(t, ctx, visible("confirmation", "Order confirmed"))
	until(t, ctx, visible("confirmation", "Row D Seat 10")+" && "+visible("confirmation", "Floor")+" && "+visible("confirmation", "tkt_"))
	if got := value[string](t, ctx, `document.getElementById("order-id").textContent`); !strings.HasPrefix(got, "ord_") {
		t.Errorf("order id %q", got)
	}
}

func TestABuyerGetsFromTheFirstPageToTicketsByKeyboardAlone(t *testing.T) {
	s, _ := demoServer(t)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(s.url), chromedp.WaitVisible(chromedp.CSS(".card")))
	tabTo(t, ctx, ".card")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, ready)
	tabTo(t, ctx, ".seat")
	do(t, ctx, chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.ArrowLeft))
	const label = `document.activeElement.getAttribute("aria-label")`
	if got := value[string](t, ctx, label); got != "Row C Seat 21, available, €75.00" {
		t.Errorf("the seat with the focus is called %q", got)
	}
	do(t, ctx, chromedp.KeyEvent(" "))
	until(t, ctx, visible("lines", "Row C Seat 21"))
	until(t, ctx, label+` === "Row C Seat 21, in your basket, €75.00"`) // and has kept the focus
	tabTo(t, ctx, `#area-FLOOR-standing button[aria-label^="One more"]`)
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("total-amount", "€100.00"))
	until(t, ctx, `document.getElementById("live").textContent === "In your basket: 2 tickets, €100.00."`)
	tabTo(t, ctx, "#buyer-name")
	do(t, ctx, chromedp.KeyEvent("Test Buyer"))
	tabTo(t, ctx, "#buyer-email")
	do(t, ctx, chromedp.KeyEvent("buyer@example.com"), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("confirmation", "Row C Seat 21"))
	until(t, ctx, `document.activeElement.id === "confirmation-title"`)
}

func TestOfTwoBuyersOneGetsTheSeatAndTheOtherHearsWhichItLost(t *testing.T) {
	_, page := demoServer(t)
	first := browser(t)
	do(t, first, chromedp.Navigate(page))
	until(t, first, ready)
	second := another(t, first)
	do(t, second, chromedp.Navigate(page))
	until(t, second, ready)
	const seat = "STALLS-E-12"
	x, y := place(t, first, seat)
	place(t, second, seat)
	clicked := make(chan error, 2)
	for _, buyer := range []context.Context{first, second} {
		go func() { clicked <- chromedp.Do(buyer, chromedp.MouseClickXY(x, y)) }()
	}
	for range 2 {
		if err := <-clicked; err != nil {
			t.Fatal(err)
		}
	}
	has := visible("lines", "Row E Seat 12")
	lost := visible("message", "Row E Seat 12")
	winners := 0
	for _, buyer := range []context.Context{first, second} {
		until(t, buyer, has+" || "+lost)
		if value[bool](t, buyer, "!!"+has) {
			winners++
			continue
		}
		until(t, buyer, `/held by somebody else|somebody else is holding it/.test(document.getElementById("message").textContent)`)
	}
	if winners != 1 {
		t.Errorf("%d buyers have the seat", winners)
	}
}

func TestTheMapShowsWhatOthersDo(t *testing.T) {
	s, page := demoServer(t)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	event := page[strings.LastIndex(page, "/")+1:]
	hold, err := client.New(s.url).CreateHold(t.Context(), event, client.HoldRequest{Seats: []string{"STALLS-A-3"}})
	if err != nil {
		t.Fatal(err)
	}
	const label = `document.querySelectorAll(".seat")[2].getAttribute("aria-label")`
	until(t, ctx, label+` === "Row A Seat 3, held by somebody else"`)
	if err := client.New(s.url).ReleaseHold(t.Context(), event, hold.ID, client.HoldToken(hold.Token)); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, label+` === "Row A Seat 3, available, €75.00"`)
}

func TestAHoldSurvivesAReload(t *testing.T) {
	_, page := demoServer(t)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	clickSeat(t, ctx, "BALCONY-B-15")
	until(t, ctx, visible("lines", "Row B Seat 15"))
	do(t, ctx, chromedp.Reload())
	until(t, ctx, ready)
	until(t, ctx, visible("lines", "Row B Seat 15")+" && "+visible("clock", ":"))
	do(t, ctx, chromedp.Click(chromedp.CSS("#release")))
	until(t, ctx, visible("empty", "Nothing yet"))
}

func TestPagesFitANarrowScreen(t *testing.T) {
	s, page := demoServer(t)
	ctx := browser(t)
	fits := func(where string) {
		t.Helper()
		if width := value[int](t, ctx, "document.documentElement.scrollWidth"); width > narrow {
			t.Errorf("%s is %d pixels wide on a screen of %d", where, width, narrow)
		}
	}
	do(t, ctx, chromedp.EmulateViewport(narrow, 640), chromedp.Navigate(s.url), chromedp.WaitVisible(chromedp.CSS(".card")))
	fits("the first page")
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	fits("the map")
	do(t, ctx, chromedp.Click(chromedp.CSS("#best button")))
	until(t, ctx, visible("total-amount", "€"))
	fits("the basket")
	do(t, ctx, chromedp.SendKeys(chromedp.CSS("#buyer-name"), "Test Buyer"), chromedp.SendKeys(chromedp.CSS("#buyer-email"), "buyer@example.com"), chromedp.Click(chromedp.CSS("#buy")))
	until(t, ctx, visible("confirmation", "Order confirmed"))
	fits("the confirmation")
	do(t, ctx, chromedp.Navigate(s.url+"/docs"), chromedp.WaitVisible(chromedp.CSS("#createHold")))
	fits("the description")
	do(t, ctx, chromedp.Navigate(s.url+"/nothing"), chromedp.WaitVisible(chromedp.CSS("h1")))
	fits("the page of a page that is not there")
}

func TestAProblemIsExplained(t *testing.T) {
	s, _ := demoServer(t)
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(s.url+"/problems/hold-expired"), chromedp.WaitVisible(chromedp.CSS("#problem-hold-expired")))
	until(t, ctx, `document.activeElement.id === "problem-hold-expired"`)
	until(t, ctx, `(() => { const r = document.activeElement.getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight; })()`)
}

// hall puts an event in a plain hall on sale and returns it with the address of its page and its
// organizer's client. What the request leaves open is filled in.
func hall(t *testing.T, rows, perRow int, e client.EventRequest) (page string, id string, c *client.Client) {
	t.Helper()
	db, key := newDatabase(t)
	s := start(t, "serve", "--db", db, "--listen", "127.0.0.1:0")
	c = client.New(s.url, client.WithKey(key), client.WithHTTPClient(&http.Client{Timeout: pageTimeout}))
	ctx := t.Context()
	house := "Test Hall"
	venue, err := c.CreateVenue(ctx, client.VenueRequest{Name: &house})
	if err != nil {
		t.Fatal(err)
	}
	drawing, err := seatmap.Grid(rows, perRow).Encode()
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.CreateMap(ctx, venue.ID, drawing)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().AddDate(1, 0, 0)
	e.StartsAt, e.Map, e.Currency = &at, m.ID, "JPY"
	if e.TicketTypes == nil {
		e.TicketTypes = []client.TicketTypeRequest{{ID: "standard", Name: e.Name, Price: new(int64(4500))}}
	}
	made, err := c.CreateEvent(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PublishEvent(ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.OpenEvent(ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	return s.url + "/events/" + made.ID, made.ID, c
}

// A stadium has no stage, and its blocks are chosen like any other section.
func TestAStadiumOfSixtyThousandIsShownAroundItsPitch(t *testing.T) {
	_, page := demoServer(t, "--venue", "bowl", "--seats", "60000")
	ctx := browser(t)
	do(t, ctx, chromedp.EmulateViewport(narrow, 640), chromedp.Navigate(page))
	until(t, ctx, ready)
	if width := value[int](t, ctx, "document.documentElement.scrollWidth"); width > narrow {
		t.Errorf("the page is %d pixels wide on a screen of %d", width, narrow)
	}
	do(t, ctx, chromedp.EmulateViewport(1280, 900))
	until(t, ctx, `Number(document.getElementById("canvas").dataset.scale) > 0.02`)
	// Away from the focal point, where a bar would not reach, is the colour of the floor.
	until(t, ctx, `(() => {
		const canvas = document.getElementById("canvas");
		const at = (x, y) => canvas.getContext("2d").getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data.join();
		const { left, top, scale } = canvas.dataset;
		const [x, y] = [Number(left) - 2_000 * scale, Number(top) + 1_500 * scale];
		return at(x, y) === at(x + 20, y) && at(x, y) !== at(2, 2);
	})()`)
	const seat = "104-10-5"
	clickSeat(t, ctx, seat)
	until(t, ctx, `Number(document.getElementById("canvas").dataset.scale) > 0.1`)
	clickSeat(t, ctx, seat)
	until(t, ctx, visible("lines", "Row 10 Seat 5"))
}

func TestAMapOfSixtyThousandSeatsSells(t *testing.T) {
	page, _, _ := hall(t, 200, 300, client.EventRequest{Name: "A Large Evening"})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	if n := value[int](t, ctx, `document.getElementsByTagName("*").length`); n > 1000 {
		t.Errorf("the page has %d elements", n)
	}
	// From afar the first click comes nearer, the next one chooses.
	clickSeat(t, ctx, "S2-60-150")
	until(t, ctx, `Number(document.getElementById("canvas").dataset.scale) > 1`)
	clickSeat(t, ctx, "S2-60-150")
	until(t, ctx, visible("lines", "Row 60 Seat 150"))
	until(t, ctx, visible("total-amount", "¥4,500")) // a currency without decimals
	// By keyboard to the far end of a long row.
	tabTo(t, ctx, ".seat")
	do(t, ctx, chromedp.KeyEvent(kb.End), chromedp.KeyEvent(" "))
	until(t, ctx, visible("lines", "Row 1 Seat 300"))
}

func TestSeatsThatAreNotTogetherAreSaidToBeSo(t *testing.T) {
	page, _, _ := hall(t, 2, 4, client.EventRequest{Name: "An Evening for Six"})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	// Only beside one another, by keyboard: none.
	do(t, ctx, chromedp.SetValue(chromedp.CSS("#best-count"), "6"))
	tabTo(t, ctx, "#best-together")
	do(t, ctx, chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, visible("message", "There are not that many seats together any more."))
	do(t, ctx, chromedp.Click(chromedp.CSS("#best-together")), chromedp.Click(chromedp.CSS("#best button")))
	until(t, ctx, visible("message", "in two rows, one behind the other"))
	until(t, ctx, `document.getElementById("live").textContent.includes("In your basket: 6 tickets") && document.getElementById("live").textContent.includes("in two rows")`)
}

func TestNamesAreTextAndNeverMarkup(t *testing.T) {
	const name = `<img src=x onerror="document.title='broken'"><b id="planted">Evening</b>`
	page, _, _ := hall(t, 2, 4, client.EventRequest{Name: name})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	do(t, ctx, chromedp.Click(chromedp.CSS(".seat")))
	until(t, ctx, visible("lines", name))
	if got := value[string](t, ctx, `document.getElementById("name").textContent`); got != name {
		t.Errorf("the page calls the event %q", got)
	}
	home := page[:strings.Index(page, "/events/")]
	do(t, ctx, chromedp.Navigate(home), chromedp.WaitVisible(chromedp.CSS(".card")))
	if value[bool](t, ctx, `!!document.getElementById("planted") || document.images.length > 0`) {
		t.Error("a name became markup")
	}
}

func TestALapsedBasketSaysWhatWentAndCanBeTriedAgain(t *testing.T) {
	seconds := int64(2)
	page, _, _ := hall(t, 2, 4, client.EventRequest{Name: "A Short Evening", Limits: &client.LimitsRequest{HoldSeconds: &seconds}})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	clickSeat(t, ctx, "S1-1-2")
	until(t, ctx, visible("lines", "Row 1 Seat 2"))
	until(t, ctx, visible("message", "Your time is up. Row 1 Seat 2 went back on sale."))
	do(t, ctx, chromedp.Click(chromedp.CSS("#message-actions button")))
	until(t, ctx, visible("lines", "Row 1 Seat 2"))
}

func TestAnAccessCodeOpensItsSeats(t *testing.T) {
	const code = "SESAME-7"
	channel := "sponsors"
	page, event, c := hall(t, 2, 4, client.EventRequest{
		Name:     "A Guarded Evening",
		Channels: []client.ChannelRequest{{ID: channel, Name: "Sponsors", AccessCodes: []string{code}}},
	})
	ctx := browser(t)
	do(t, ctx, chromedp.Navigate(page))
	until(t, ctx, ready)
	const label = `document.querySelector(".seat").getAttribute("aria-label")`
	until(t, ctx, label+` === "Row 1 Seat 1, available, ¥4,500"`)
	// Moving seats into the channel reaches the open page as another offer.
	if _, err := c.PatchAllocations(t.Context(), event, client.AllocationRule{
		Where: client.AllocationWhere{Rows: []string{"S1-1"}}, Set: client.AllocationSet{Channel: &channel},
	}); err != nil {
		t.Fatal(err)
	}
	until(t, ctx, label+` === "Row 1 Seat 1, not on sale"`)
	do(t, ctx, chromedp.Click(chromedp.CSS(".code summary")), chromedp.SendKeys(chromedp.CSS("#code"), code+kb.Enter))
	until(t, ctx, label+` === "Row 1 Seat 1, available, ¥4,500"`)
	do(t, ctx, chromedp.Click(chromedp.CSS(".seat")))
	until(t, ctx, visible("lines", "Row 1 Seat 1"))
	if value[bool](t, ctx, fmt.Sprintf("location.href.includes(%q)", code)) {
		t.Error("the code stands in the address")
	}
}
