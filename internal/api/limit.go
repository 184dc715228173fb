package api

import (
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"

	"golang.org/x/time/rate"
)

const (
	addressesMax        = 20_000 // in each of the two generations
	addressBurstSeconds = 2      // of the rate, that may come at once
	ipv6PrefixBits      = 64     // what one customer of a network usually has
)

// addresses limits writes by client address. The table is bounded: it has two generations, and when
// the young one is full it becomes the old one, whose forgotten addresses start anew. Proxies are
// not believed: the address is the connection's. Safe for concurrent use; nil limits nothing.
type addresses struct {
	each  rate.Limit
	burst int

	mu         sync.Mutex
	young, old map[netip.Addr]*rate.Limiter
}

func newAddresses(perSecond float64) *addresses {
	if perSecond <= 0 {
		return nil
	}
	return &addresses{
		each:  rate.Limit(perSecond),
		burst: max(1, int(math.Ceil(perSecond*addressBurstSeconds))),
		young: make(map[netip.Addr]*rate.Limiter),
	}
}

// allow takes one request from its address's budget. A refusal says when to come again.
func (a *addresses) allow(w http.ResponseWriter, r *http.Request) bool {
	if a == nil {
		return true
	}
	if a.limiter(clientAddress(r)).Allow() {
		return true
	}
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(1/float64(a.each))))))
	return false
}

func (a *addresses) limiter(from netip.Addr) *rate.Limiter {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l, ok := a.young[from]; ok {
		return l
	}
	l, ok := a.old[from]
	if !ok {
		l = rate.NewLimiter(a.each, a.burst)
	}
	if len(a.young) >= addressesMax {
		a.old, a.young = a.young, make(map[netip.Addr]*rate.Limiter)
	}
	a.young[from] = l
	return l
}

// clientAddress is who counts as one client. What has no address, such as a test, is one together.
func clientAddress(r *http.Request) netip.Addr {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	address := from.Addr().Unmap().WithZone("")
	if address.Is6() {
		if prefix, err := address.Prefix(ipv6PrefixBits); err == nil {
			return prefix.Addr()
		}
	}
	return address
}
