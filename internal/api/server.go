package api

import (
	"context"
	_ "embed" // for the OpenAPI document
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
)

// The bounds of a connection. A client that is slower than these loses its connection, never a seat.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second // a large map over a slow line
	idleTimeout       = 2 * time.Minute
	headerBytesMax    = 16 << 10
)

// The bounds of the server as a whole.
const (
	inFlightMaxDefault = 2048 // requests being answered at once
	receivingMax       = 2048 // bodies being read at once
	handlerTimeMax     = 20 * time.Second
	bodyTime           = 5 * time.Second        // for a body to arrive
	unreadBodyTime     = 250 * time.Millisecond // for the rest of one that is refused unread
	bodyTimeLarge      = 30 * time.Second       // for a map, over a slow line
	mapUploadsMax      = 4                      // of them, bodies of mapBytesMax each
)

//go:embed openapi.json
var openAPI []byte

// Config wires a Server. Service and Office are required; every other zero value is a default.
type Config struct {
	Service *inventory.Service
	Office  *office.Office
	Log     *slog.Logger                // nil: discarded
	Pages   http.Handler                // everything outside the API; nil: 404
	OpenAPI []byte                      // answered at /openapi.json; nil: the document of this build
	Ready   func(context.Context) error // nil: always ready

	CORSOrigins []string // exact origins, or "*"
	AddressRate float64  // writes a second from one client address; 0: no limit
	InFlightMax int      // requests being answered at once; 0: 2048
	Version     string
	Registry    *prometheus.Registry // nil: one of its own
}

// Server answers HTTP. Make it with New.
type Server struct {
	service *inventory.Service
	office  *office.Office
	log     *slog.Logger
	pages   http.Handler
	openAPI []byte
	ready   func(context.Context) error
	version string

	mux         *http.ServeMux
	metrics     *metrics
	origins     *origins
	addresses   *addresses // nil: no limit
	zipped      *compressed
	mapUploads  chan struct{}
	inFlightMax int64
	inFlight    atomic.Int64
	ends        ends
	receiving   atomic.Int64 // bodies

	receivingMax int64         // but in tests, the constants
	bodyTime     time.Duration // for bodies of bodyBytesMax
}

// New makes a Server.
func New(c Config) *Server {
	s := &Server{
		service: c.Service, office: c.Office, log: c.Log, pages: c.Pages, openAPI: c.OpenAPI,
		ready: c.Ready, version: c.Version,
		origins: newOrigins(c.CORSOrigins), addresses: newAddresses(c.AddressRate),
		zipped: newCompressed(), mapUploads: make(chan struct{}, mapUploadsMax),
		inFlightMax: int64(c.InFlightMax), receivingMax: receivingMax, bodyTime: bodyTime,
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.openAPI == nil {
		s.openAPI = openAPI
	}
	if s.inFlightMax <= 0 {
		s.inFlightMax = inFlightMaxDefault
	}
	registry := c.Registry
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	s.metrics = newMetrics(registry, func() float64 { return float64(s.inFlight.Load()) })
	s.mux = s.newMux()
	return s
}

// Handler answers every request of the server.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.dispatch) }

// NewHTTPServer puts a handler behind the bounds of a connection. The caller sets where it listens.
func NewHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytesMax,
	}
}
