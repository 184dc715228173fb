package api

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/internal/inventory"
)

// Bounds of bodies, in bytes.
const (
	bodyBytesMax = 64 << 10
	ruleBytesMax = 1 << 20 // of a rule, which may name thousands of seats
	mapBytesMax  = 16 << 20
)

// Access says who may call a route.
type Access uint8

// The kinds of access. A key that is given must be good on every route but AccessNone's.
const (
	AccessNone      Access = iota // no key is looked at
	AccessPublic                  // anybody; a key of either role shows what its organizer may see
	AccessBuyer                   // anybody, or an organizer's key
	AccessHolder                  // the hold's token, or an organizer's key
	AccessOrderer                 // the order's token, or an organizer's key
	AccessOrganizer               // an organizer's key
)

// bodyRule says whether a route has a body.
type bodyRule uint8

const (
	bodyNone     bodyRule = iota // not read
	bodyOptional                 // may be empty
	bodyRequired
)

// Route is a line of the route table.
type Route struct {
	Method  string
	Pattern string
	Access  Access
	BodyMax int64 // bytes; 0: the route reads no body
}

// route is a Route with what answers it.
type route struct {
	Route
	body   bodyRule
	hot    bool // a success is logged at debug level only
	handle func(*Server, *exchange, *http.Request) error
}

const (
	pathEvents = "/v1/events"
	pathEvent  = "/v1/events/{event}"
	pathVenues = "/v1/venues"
	pathVenue  = "/v1/venues/{venue}"
	pathHold   = pathEvent + "/holds/{id}"
	pathOrder  = pathEvent + "/orders/{id}"
	pathKeys   = "/v1/keys"
)

// table is the whole of the API: the mux, the authorization tests and the comparison with the
// OpenAPI document are made from it.
func table() []route {
	line := func(method, pattern string, a Access, b bodyRule, handle func(*Server, *exchange, *http.Request) error) route {
		r := route{Route: Route{Method: method, Pattern: pattern, Access: a}, body: b, handle: handle}
		if b != bodyNone {
			r.BodyMax = bodyBytesMax
		}
		return r
	}
	hot := func(r route) route { r.hot = true; return r }
	upTo := func(bytes int64, r route) route { r.BodyMax = bytes; return r }

	return []route{
		line("GET", "/healthz", AccessNone, bodyNone, (*Server).getHealth),
		line("GET", "/readyz", AccessNone, bodyNone, (*Server).getReady),
		line("GET", "/metrics", AccessNone, bodyNone, (*Server).getMetrics),
		line("GET", "/openapi.json", AccessNone, bodyNone, (*Server).getOpenAPI),

		line("GET", pathEvents, AccessPublic, bodyNone, (*Server).listEvents),
		line("POST", pathEvents, AccessOrganizer, bodyRequired, (*Server).createEvents),
		line("GET", pathEvent, AccessPublic, bodyNone, (*Server).getEvent),
		line("PATCH", pathEvent, AccessOrganizer, bodyRequired, (*Server).patchEvent),
		line("POST", pathEvent+"/publish", AccessOrganizer, bodyOptional, transition("publish")),
		line("POST", pathEvent+"/open", AccessOrganizer, bodyOptional, transition("open")),
		line("POST", pathEvent+"/pause", AccessOrganizer, bodyOptional, transition("pause")),
		line("POST", pathEvent+"/close", AccessOrganizer, bodyOptional, transition("close")),
		line("POST", pathEvent+"/cancel", AccessOrganizer, bodyOptional, transition("cancel")),
		upTo(ruleBytesMax, line("PATCH", pathEvent+"/allocations", AccessOrganizer, bodyRequired, (*Server).patchAllocations)),
		line("PUT", pathEvent+"/channels/{channel}", AccessOrganizer, bodyRequired, (*Server).putChannel),
		line("GET", pathEvent+"/log", AccessOrganizer, bodyNone, (*Server).getLog),
		line("GET", pathEvent+"/report", AccessOrganizer, bodyNone, (*Server).getReport),

		line("GET", pathEvent+"/map", AccessPublic, bodyNone, (*Server).getEventMap),
		line("PATCH", pathEvent+"/map", AccessOrganizer, bodyRequired, (*Server).patchMap),
		line("GET", pathEvent+"/offer", AccessPublic, bodyNone, (*Server).getOffer),
		hot(line("GET", pathEvent+"/board", AccessPublic, bodyNone, (*Server).getBoard)),
		hot(line("GET", pathEvent+"/changes", AccessPublic, bodyNone, (*Server).getChanges)),

		line("GET", pathEvent+"/holds", AccessOrganizer, bodyNone, (*Server).listHolds),
		hot(line("POST", pathEvent+"/holds", AccessBuyer, bodyRequired, (*Server).createHold)),
		hot(line("GET", pathHold, AccessHolder, bodyNone, (*Server).getHold)),
		hot(line("PATCH", pathHold, AccessHolder, bodyRequired, (*Server).patchHold)),
		hot(line("DELETE", pathHold, AccessHolder, bodyNone, (*Server).deleteHold)),
		hot(line("POST", pathHold+"/extend", AccessHolder, bodyOptional, (*Server).extendHold)),

		line("GET", pathEvent+"/orders", AccessOrganizer, bodyNone, (*Server).listOrders),
		line("POST", pathEvent+"/orders", AccessHolder, bodyRequired, (*Server).createOrder),
		line("GET", pathOrder, AccessOrderer, bodyNone, (*Server).getOrder),
		line("POST", pathOrder+"/cancel", AccessOrganizer, bodyOptional, (*Server).cancelOrder),
		line("POST", pathEvent+"/tickets/{id}/cancel", AccessOrganizer, bodyOptional, (*Server).cancelTicket),

		line("GET", pathVenues, AccessOrganizer, bodyNone, (*Server).listVenues),
		line("POST", pathVenues, AccessOrganizer, bodyRequired, (*Server).createVenue),
		line("GET", pathVenue, AccessOrganizer, bodyNone, (*Server).getVenue),
		line("PATCH", pathVenue, AccessOrganizer, bodyRequired, (*Server).patchVenue),
		line("GET", pathVenue+"/maps", AccessOrganizer, bodyNone, (*Server).listMaps),
		upTo(mapBytesMax, line("POST", pathVenue+"/maps", AccessOrganizer, bodyRequired, (*Server).createMap)),
		line("GET", pathVenue+"/maps/{map}", AccessOrganizer, bodyNone, (*Server).getMap),

		line("GET", pathKeys, AccessOrganizer, bodyNone, (*Server).listKeys),
		line("POST", pathKeys, AccessOrganizer, bodyRequired, (*Server).createKey),
		line("POST", pathKeys+"/{key}/rotate", AccessOrganizer, bodyOptional, (*Server).rotateKey),
		line("DELETE", pathKeys+"/{key}", AccessOrganizer, bodyNone, (*Server).revokeKey),
	}
}

// Routes returns the route table.
func Routes() []Route {
	lines := table()
	routes := make([]Route, len(lines))
	for i := range lines {
		routes[i] = lines[i].Route
	}
	return routes
}

// newMux registers the table, and for whatever it does not have an answer of the API's own kind.
func (s *Server) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	methods := make(map[string][]string)
	for _, rt := range table() {
		mux.Handle(rt.Method+" "+rt.Pattern, s.serve(&rt))
		methods[rt.Pattern] = append(methods[rt.Pattern], rt.Method)
		if rt.Method == http.MethodGet {
			methods[rt.Pattern] = append(methods[rt.Pattern], http.MethodHead)
		}
	}
	for pattern, allowed := range methods {
		slices.Sort(allowed)
		allow := strings.Join(append(allowed, http.MethodOptions), ", ")
		mux.Handle(pattern, s.serve(&route{
			Route: Route{Pattern: pattern},
			handle: func(s *Server, x *exchange, r *http.Request) error {
				return s.otherMethod(x, r, allow)
			},
		}))
	}
	unknown := s.serve(&route{Route: Route{Pattern: "/v1/"}, handle: (*Server).unknownURL})
	mux.Handle("/v1", unknown)
	mux.Handle("/v1/", unknown)
	if s.pages != nil {
		mux.Handle("/", s.serve(&route{Route: Route{Pattern: "/"}, hot: true, handle: (*Server).getPage}))
	} else {
		mux.Handle("/", unknown)
	}
	return mux
}

// dispatch keeps the mux from answering by itself: it would redirect a URL of the API that is not
// in its shortest form, and the redirect is not JSON.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) {
	p := r.URL.Path
	rooted := p
	if !strings.HasPrefix(p, "/") {
		rooted = "/" + p
	}
	clean := path.Clean(rooted)
	if (ofAPI(p) || ofAPI(clean)) && clean != strings.TrimSuffix(p, "/") {
		r = unknownURL(r)
	}
	s.mux.ServeHTTP(w, r)
}

// ofAPI reports whether a path lies under the API's.
func ofAPI(p string) bool { return p == "/v1" || strings.HasPrefix(p, "/v1/") }

// unknownURL is a request for a URL that the API does not have.
func unknownURL(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath = "/v1/", ""
	return r
}

func (s *Server) unknownURL(*exchange, *http.Request) error { return refuse(inventory.NotFound) }

// otherMethod answers a method that a path of the table does not have.
func (s *Server) otherMethod(x *exchange, r *http.Request, allow string) error {
	x.Header().Set("Allow", allow)
	if r.Method != http.MethodOptions {
		return refuse(codeMethodNotAllowed)
	}
	s.origins.preflight(x, r, allow)
	x.WriteHeader(http.StatusNoContent)
	return nil
}

// getPage hands over to the pages, which are no part of the API and set their own headers.
func (s *Server) getPage(x *exchange, r *http.Request) error {
	s.pages.ServeHTTP(x, r)
	return nil
}
