package api

import (
	"context"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequestsOfOneSecondShareAnEndAndKeepTheirOwnValues(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		var e ends
		next := func(who string) context.Context {
			ctx, leave := context.WithCancel(context.WithValue(t.Context(), key{}, who))
			leave() // the client is gone
			return e.next(httptest.NewRequestWithContext(ctx, "GET", "/", nil))
		}
		a, b := next("a"), next("b")
		time.Sleep(time.Second)
		c := next("c")
		for who, ctx := range map[string]context.Context{"a": a, "b": b, "c": c} {
			if ctx.Value(key{}) != who {
				t.Errorf("the request of %s has the value of %v", who, ctx.Value(key{}))
			}
			if ctx.Err() != nil {
				t.Errorf("the request of %s ended with its connection", who)
			}
		}
		if a.Done() != b.Done() || a.Done() == c.Done() {
			t.Error("an end is for the requests of one second")
		}
		before := runtime.NumGoroutine()
		child, cancel := context.WithCancel(a)
		defer cancel()
		if n := runtime.NumGoroutine(); n != before {
			t.Errorf("a context made from a request's has %d goroutines", n-before)
		}
		time.Sleep(handlerTimeMax)
		synctest.Wait()
		if a.Err() == nil || child.Err() == nil || c.Err() != nil {
			t.Errorf("after its time: %v, made from it: %v, begun later: %v", a.Err(), child.Err(), c.Err())
		}
	})
}
