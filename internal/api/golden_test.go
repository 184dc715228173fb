package api

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowlock/rowlock/client"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

var expiresIn = regexp.MustCompile(`"expires_in":\d+`)

// What differs from run to run, and what stands for it in a golden file.
var (
	goldenIDs      = regexp.MustCompile(`(evt|ven|map|hld|ord|tkt|key|org)_[0-9a-z]{20,}`)
	goldenTokens   = regexp.MustCompile(`[0-9a-hjkmnp-tv-z]{32}`)
	goldenSecrets  = regexp.MustCompile(`rk_[a-z0-9]{20,}`)
	goldenHints    = regexp.MustCompile(`"hint": "rk_[a-z0-9]+"`)
	goldenTimes    = regexp.MustCompile(`"20[2-8]\d-\d\d-\d\dT[0-9:.]+Z"`)
	goldenEpochs   = regexp.MustCompile(`(["=])k[0-9a-z]+-(\d+)`)
	goldenSeconds  = regexp.MustCompile(`"expires_in": \d+`)
	goldenVersions = regexp.MustCompile(`"(\d+)-[0-9a-f]{16}"`)
)

// golden writes exchanges down, with names of its own for what is random.
type golden struct {
	house *house
	out   bytes.Buffer
	names map[string]string
	count map[string]int
}

func (g *golden) name(found string) string {
	if n, ok := g.names[found]; ok {
		return n
	}
	kind := "token"
	if prefix, _, ok := strings.Cut(found, "_"); ok {
		kind = prefix
	}
	g.count[kind]++
	g.names[found] = fmt.Sprintf("%s_%02d", kind, g.count[kind])
	return g.names[found]
}

func (g *golden) stable(s string) string {
	s = goldenHints.ReplaceAllString(s, `"hint": "rk_…"`)
	s = goldenIDs.ReplaceAllStringFunc(s, g.name)
	s = goldenSecrets.ReplaceAllStringFunc(s, g.name)
	s = goldenTokens.ReplaceAllStringFunc(s, g.name)
	s = goldenTimes.ReplaceAllString(s, `"(time)"`)
	s = goldenEpochs.ReplaceAllString(s, `$1(epoch)-$2`)
	s = goldenVersions.ReplaceAllString(s, `"$1-(hash)"`)
	return goldenSeconds.ReplaceAllString(s, `"expires_in": (seconds)`)
}

func indented(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	v := jsontext.Value(bytes.Clone(body))
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(body) + "\n" // no JSON, and meant to be none
	}
	return string(v) + "\n"
}

// goldenHeaders are the headers that mean something to a client, in the order in which they are written down.
var goldenHeaders = []string{
	"Content-Type", "Location", "ETag", "Cache-Control", "Vary", "Retry-After", "WWW-Authenticate", "Allow",
	"Idempotent-Replayed", "Access-Control-Allow-Origin",
}

// exchange asks and writes both sides down.
func (g *golden) exchange(a *asker, method, url, body string) *answered {
	g.house.t.Helper()
	a = a.with("Request-Id", fmt.Sprintf("r-%d", strings.Count(g.out.String(), "\n>>> ")+1))
	answer := a.ask(method, url, body)
	fmt.Fprintf(&g.out, "\n>>> %s %s\n", method, g.stable(url))
	for _, name := range []string{"Authorization", "Hold-Token", "Order-Token", "Access-Code", "Idempotency-Key", "If-None-Match", "Origin"} {
		if v := a.header.Get(name); v != "" {
			fmt.Fprintf(&g.out, "%s: %s\n", name, g.stable(v))
		}
	}
	g.out.WriteString(g.stable(indented([]byte(body))))
	fmt.Fprintf(&g.out, "<<< %d\n", answer.status)
	for _, name := range goldenHeaders {
		if v := answer.header.Values(name); len(v) > 0 {
			fmt.Fprintf(&g.out, "%s: %s\n", name, g.stable(strings.Join(v, ", ")))
		}
	}
	g.out.WriteString(g.stable(indented(answer.body)))
	return answer
}

func (g *golden) compare(file string) {
	g.house.t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, g.out.Bytes(), 0o644); err != nil {
			g.house.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		g.house.t.Fatal(err)
	}
	if bytes.Equal(want, g.out.Bytes()) {
		return
	}
	have, wanted := strings.Split(g.out.String(), "\n"), strings.Split(string(want), "\n")
	for i := range have {
		if i >= len(wanted) || have[i] != wanted[i] {
			g.house.t.Fatalf("%s, line %d: %q, want %q; -update writes it anew", path, i+1, have[i], strings.Join(wanted[min(i, len(wanted)):min(i+1, len(wanted))], ""))
		}
	}
	g.house.t.Fatalf("%s has more lines", path)
}

// TestGoldenWalk compares a whole sale, from a venue to a cancelled ticket, with what was agreed.
func TestGoldenWalk(t *testing.T) {
	h := openHouse(t)
	g := &golden{house: h, names: map[string]string{}, count: map[string]int{}}
	key := h.as(h.key)
	g.exchange(key, "POST", "/v1/venues", `{"name":"Demo Theatre","reference":"demo"}`)
	event := h.made(g.exchange(key.with("Idempotency-Key", idempotencyKey), "POST", "/v1/events", h.eventBody(`,"reference":"gala-1","metadata":{"season":"spring"}`)))
	g.exchange(key.with("Idempotency-Key", idempotencyKey), "POST", "/v1/events", h.eventBody(`,"reference":"gala-1","metadata":{"season":"spring"}`))
	at := "/v1/events/" + event
	g.exchange(key, "POST", at+"/publish", "")
	g.exchange(key, "POST", at+"/open", "")
	g.exchange(h.as("").with("Origin", "https://shop.example.com"), "GET", "/v1/events", "")
	g.exchange(h.as(""), "GET", at+"/offer", "")
	board := g.exchange(h.as(""), "GET", at+"/board", "")
	g.exchange(h.as("").with("If-None-Match", board.header.Get("ETag")), "GET", at+"/board", "")

	var v client.Hold
	g.exchange(h.as(""), "POST", at+"/holds", `{"seats":["STALLS-A-2","STALLS-A-3"],"ticket_types":{"STALLS-A-3":"concession"},"areas":[{"area":"FLOOR","quantity":2,"ticket_type":"standing"}]}`).read(&v)
	g.exchange(h.as(""), "POST", at+"/holds", `{"seats":["STALLS-A-3","STALLS-B-8"],"areas":[{"area":"FLOOR","quantity":4}]}`)
	g.exchange(h.as(""), "POST", at+"/holds", `{"seats":["STALLS-A-4","STALLS-A-4","STALLS-Z-1"]}`)
	g.exchange(h.as(""), "POST", at+"/holds", `{"seats":["STALLS-A-4"],}`)
	g.exchange(h.as(""), "DELETE", at+"/holds", "")
	holder := h.holder(&v)
	g.exchange(holder, "PATCH", at+"/holds/"+v.ID, `{"remove":{"seats":["STALLS-A-2"]},"add":{"areas":[{"area":"FLOOR","quantity":1,"ticket_type":"concession"}]}}`)
	g.exchange(holder, "POST", at+"/holds/"+v.ID+"/extend", "")
	g.exchange(h.as(""), "GET", at+"/holds/"+v.ID, "")
	var o client.Order
	g.exchange(holder, "POST", at+"/orders", `{"hold":"`+v.ID+`","buyer":{"name":"Test Buyer","email":"buyer@example.com"},"reference":"A-77"}`).read(&o)
	g.exchange(holder, "GET", at+"/holds/"+v.ID, "")
	g.exchange(holder, "DELETE", at+"/holds/"+v.ID, "")
	g.exchange(h.as("").with("Order-Token", o.Token), "GET", at+"/orders/"+o.ID, "")
	g.exchange(h.as(h.foreign), "GET", at+"/orders/"+o.ID, "")
	g.exchange(h.as(h.scanner), "GET", at+"/report", "")
	g.exchange(key, "POST", at+"/tickets/"+o.Tickets[0].ID+"/cancel", `{"reason":"The buyer is ill."}`)
	g.exchange(h.as(""), "GET", at+"/changes?after="+strings.Trim(board.header.Get("ETag"), `"`), "")
	g.exchange(key, "GET", at+"/report", "")
	g.exchange(key, "GET", at+"/log?limit=200", "")
	g.exchange(key, "POST", "/v1/keys", `{"name":"door","role":"scanner"}`)
	g.exchange(h.as(""), "GET", "/v1/nothing", "")
	g.compare("walk.golden")
	// All of it went through the log, and none of its secrets.
	log := h.log.String()
	if n := strings.Count(log, "msg=request"); n < 30 {
		t.Errorf("the log has %d lines", n)
	}
	for found, name := range g.names {
		if secret := strings.HasPrefix(name, "token") || strings.HasPrefix(name, "rk"); secret && strings.Contains(log, found) {
			t.Errorf("the log tells %s", name)
		}
	}
	for _, private := range []string{"buyer@example.com", "Test Buyer", "The buyer is ill", idempotencyKey} {
		if strings.Contains(log, private) {
			t.Errorf("the log tells %q", private)
		}
	}
}

// TestPromise5ADeadHoldIsRefusedAndItsSeatSellsAtOnce holds promise 5 over HTTP, in virtual time and
// without a sweeper.
func TestPromise5ADeadHoldIsRefusedAndItsSeatSellsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHouse(t)
		event := h.onSale(`,"limits":{"hold_seconds":60,"hold_seconds_max":90}`)
		at := "/v1/events/" + event + "/holds"
		v := h.hold(event, `{"seats":["STALLS-A-1"]}`)
		if v.ExpiresIn != 59 && v.ExpiresIn != 60 {
			t.Errorf("the hold lives %d seconds", v.ExpiresIn)
		}
		time.Sleep(50 * time.Second)
		var longer client.Hold
		h.holder(v).post(at+"/"+v.ID+"/extend", "").want(200, "").read(&longer)
		if longer.ExpiresIn < 39 || longer.ExpiresIn > 40 || !longer.ExpiresAt.Equal(longer.ExtendUntil) {
			t.Errorf("the extended hold is %+v", longer)
		}
		h.holder(v).post(at+"/"+v.ID+"/extend", "").want(409, "HOLD_LIFETIME_REACHED")
		h.as("").post(at, `{"seats":["STALLS-A-1"]}`).want(409, "ALLOCATION_UNAVAILABLE")
		time.Sleep(40 * time.Second)
		next := h.hold(event, `{"seats":["STALLS-A-1"]}`)
		dead := h.holder(v)
		dead.get(at+"/"+v.ID).want(410, "HOLD_EXPIRED")
		dead.patch(at+"/"+v.ID, `{"add":{"seats":["STALLS-A-2"]}}`).want(410, "HOLD_EXPIRED")
		dead.post(at+"/"+v.ID+"/extend", "").want(410, "HOLD_EXPIRED")
		dead.post("/v1/events/"+event+"/orders", `{"hold":"`+v.ID+`","buyer":{"name":"","email":"buyer@example.com"}}`).want(410, "HOLD_EXPIRED")
		dead.delete(at+"/"+v.ID).want(204, "")
		h.holder(next).get(at+"/"+next.ID).want(200, "")
	})
}

// TestOverASocketBodiesAndHeadersAreBounded asks the server as it will run.
func TestOverASocketBodiesAndHeadersAreBounded(t *testing.T) {
	h := openHouse(t)
	event := h.onSale("")
	url := listen(t, h.server.Handler())
	res, err := http.Post(url+"/v1/events/"+event+"/holds", "application/json", strings.NewReader(`{"seats":["`+strings.Repeat("x", 1<<20)+`"]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var p client.Problem
	if err := json.UnmarshalRead(res.Body, &p); err != nil || p.Code != "BODY_TOO_LARGE" {
		t.Errorf("a megabyte is answered %d %+v, %v", res.StatusCode, p, err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Access-Code", strings.Repeat("x", 2*headerBytesMax))
	long, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer long.Body.Close()
	if _, err := io.Copy(io.Discard, long.Body); err != nil || long.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("long headers are answered %d, %v", long.StatusCode, err)
	}
	head, err := http.Head(url + "/v1/events/" + event)
	if err != nil {
		t.Fatal(err)
	}
	head.Body.Close()
	if head.StatusCode != 200 || head.Header.Get("X-Content-Type-Options") != "nosniff" || head.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("HEAD is answered %d %v", head.StatusCode, head.Header)
	}
}
