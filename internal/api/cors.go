package api

import "net/http"

// What browsers of other origins may send and read. The preflight is believed for corsMaxAge seconds.
const (
	corsHeaders = "Authorization, Content-Type, Hold-Token, Order-Token, Access-Code, Idempotency-Key, Request-Id, If-None-Match"
	corsExposed = "ETag, Retry-After, Request-Id, Idempotent-Replayed"
	corsMaxAge  = "7200"
)

// origins is who may call from a browser. Credentials are never allowed: a token in a header is
// deliberate, a cookie is not.
type origins struct {
	any    bool
	listed map[string]bool
}

func newOrigins(list []string) *origins {
	o := &origins{listed: make(map[string]bool, len(list))}
	for _, origin := range list {
		if origin == "*" {
			o.any = true
			continue
		}
		o.listed[origin] = true
	}
	return o
}

// expose lets a page of an allowed origin read the answer, whatever it will be.
func (o *origins) expose(w http.ResponseWriter, r *http.Request) bool {
	header := w.Header()
	if !o.any && len(o.listed) > 0 {
		header.Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
	if origin == "" || !o.any && !o.listed[origin] {
		return false
	}
	if o.any {
		origin = "*"
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", corsExposed)
	return true
}

// preflight says what an allowed origin may do at a URL.
func (o *origins) preflight(w http.ResponseWriter, r *http.Request, methods string) {
	header := w.Header()
	if header.Get("Access-Control-Allow-Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return
	}
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", corsHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
}
