package race

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// caller is one caller over HTTP: a connection, and the requests it makes over and over.
type caller struct {
	wire   *wire
	to     requests
	event  string
	claims [][]byte // taken in turn
	next   int
	kept   []byte // for requests that are made on the way: of a caller that keeps a hold, how to let it go
}

// answered sends a request and counts its answer if it has the status that was wanted.
func (c *caller) answered(t *tally, request []byte, since time.Time, kind, status int) (reply, bool) {
	got, err := c.wire.exchange(request)
	if err != nil {
		t.strange(noAnswer + ": " + err.Error())
		return reply{}, false
	}
	if got.status != status {
		label := strconv.Itoa(got.status)
		if code := stringField(got.body, "code"); code != nil {
			label += " " + string(code)
		}
		t.strange(label + " to what wants " + strconv.Itoa(status))
		return got, false
	}
	t.count(kind, since)
	return got, true
}

// claim asks for the next of the caller's units.
func (c *caller) claim(t *tally) (id, token []byte, ok bool) {
	request := c.claims[c.next%len(c.claims)]
	c.next++
	got, ok := c.answered(t, request, t.intended, opHold, http.StatusCreated)
	if !ok {
		return nil, nil, false
	}
	if id, token = stringField(got.body, "id"), stringField(got.body, "token"); id == nil || token == nil {
		t.strange("a hold without an id or a token")
		return nil, nil, false
	}
	return id, token, true
}

// The cycles of a caller. After an answer that was not wanted nobody knows what the caller has, so it
// stops, and the run has no figure.

// claimAndRelease is the cycle of holds.
func (c *caller) claimAndRelease(_ context.Context, t *tally) bool {
	id, token, ok := c.claim(t)
	if !ok {
		return false
	}
	c.kept = c.to.release(c.kept[:0], c.event, id, token)
	_, ok = c.answered(t, c.kept, time.Now(), opRelease, http.StatusNoContent)
	return ok
}

// keep claims and does not let go; letGo is for afterwards.
func (c *caller) keep(_ context.Context, t *tally) bool {
	id, token, ok := c.claim(t)
	if ok {
		c.kept = c.to.release(c.kept[:0], c.event, id, token)
	}
	return ok
}

func (c *caller) letGo(_ context.Context, t *tally) bool {
	_, ok := c.answered(t, c.kept, t.intended, opRelease, http.StatusNoContent)
	return ok
}

// claimInVain is the cycle of rejections.
func (c *caller) claimInVain(_ context.Context, t *tally) bool {
	got, ok := c.answered(t, c.claims[0], t.intended, opRejection, http.StatusConflict)
	if ok && !bytes.Equal(stringField(got.body, "code"), []byte("ALLOCATION_UNAVAILABLE")) {
		t.strange(fmt.Sprintf("a rejection with code %s", stringField(got.body, "code")))
		return false
	}
	return ok
}

// claimAndBuy is the cycle of orders.
func (c *caller) claimAndBuy(_ context.Context, t *tally) bool {
	id, token, ok := c.claim(t)
	if !ok {
		return false
	}
	c.kept = c.to.order(c.kept[:0], c.event, id, token)
	_, ok = c.answered(t, c.kept, time.Now(), opOrder, http.StatusCreated)
	return ok
}

// keeper is a caller that can end a run with a hold in its hands.
type keeper interface {
	keep(context.Context, *tally) bool
	letGo(context.Context, *tally) bool
}
