package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rowlock/rowlock/internal/api"
	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/office"
	"github.com/rowlock/rowlock/internal/store/records"
	"github.com/rowlock/rowlock/internal/store/sqlite"
	"github.com/rowlock/rowlock/internal/web"
)

// The bounds of a shutdown, each with a clock of its own: what takes too long costs its own time,
// and nobody else's.
const (
	shutdownRequestsMax = 10 * time.Second // for requests to arrive and be answered
	shutdownCommandsMax = 20 * time.Second // then, for accepted commands to be done
	shutdownAnswersMax  = 10 * time.Second // then, for their answers to be taken
)

// house is a whole server, wired: a store, what rests on it, and the handler.
type house struct {
	store   *sqlite.Store
	office  *office.Office
	service *inventory.Service
	handler http.Handler
	log     *slog.Logger
}

// houseConfig is what differs between the servers that verbs start.
type houseConfig struct {
	Path        string // of the database's file
	Log         *slog.Logger
	CORSOrigins []string
	AddressRate float64 // writing requests a second from one address, 0 for no limit
	// Around puts something between the inventory and the store; nil for nothing.
	Around func(inventory.Store) inventory.Store
}

// openHouse opens the store, bringing it to this version, and wires a server on it. The caller
// closes it.
func openHouse(ctx context.Context, c houseConfig) (*house, error) {
	store, err := sqlite.Open(ctx, c.Path)
	if err != nil {
		return nil, aboutDatabase(err)
	}
	paperwork := records.New(store)
	var seam inventory.Store = store
	if c.Around != nil {
		seam = c.Around(store)
	}
	service := inventory.New(inventory.Config{Store: seam, Catalogue: paperwork, Log: c.Log})
	people := office.New(paperwork)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	server := api.New(api.Config{
		Service: service, Office: people, Log: c.Log, Pages: web.Handler(), CORSOrigins: c.CORSOrigins,
		Ready: store.Ready, AddressRate: c.AddressRate, Version: version(), Registry: registry,
	})
	return &house{store: store, office: people, service: service, handler: server.Handler(), log: c.Log}, nil
}

// serve answers requests until the context ends, then stops in the order that loses nothing. It
// returns nil when every accepted command was answered. The listener is closed.
func (h *house) serve(ctx context.Context, listener net.Listener) error {
	server := api.NewHTTPServer(watched(h.handler))
	server.ConnContext = onLine
	connections := newLines(listener)
	sweep, stopSweeping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSweeping()
	var running sync.WaitGroup
	running.Go(func() { h.service.Run(sweep) })
	ended := make(chan error, 1)
	running.Go(func() { ended <- server.Serve(connections) })

	var failure error
	select {
	case failure = <-ended: // only for a reason: nobody has asked it to end
		failure = fmt.Errorf("serve: %w", failure)
	case <-ctx.Done():
	}
	failure = errors.Join(failure, h.stop(context.WithoutCancel(ctx), server, connections))
	stopSweeping()
	running.Wait()
	return failure
}

// stop ends a server: no new connection, every request that arrives in time answered, every accepted
// command finished and its answer handed out. A client that is too slow loses its connection, which
// is logged and no failure: only a command without an answer is one.
func (h *house) stop(ctx context.Context, server *http.Server, connections *lines) error {
	var failure error
	late, err := overdue(ctx, shutdownRequestsMax, server.Shutdown)
	failure = errors.Join(failure, err)
	if late {
		if n := connections.cut(stageArriving); n > 0 {
			h.log.Warn("connections were cut before their request was complete", "connections", n, "after", shutdownRequestsMax)
		}
	}
	late, err = overdue(ctx, shutdownCommandsMax, h.service.Close)
	failure = errors.Join(failure, err)
	if late {
		failure = errors.Join(failure, fmt.Errorf("some commands were still running after %s", shutdownCommandsMax))
	}
	late, err = overdue(ctx, shutdownAnswersMax, server.Shutdown)
	failure = errors.Join(failure, err)
	if late {
		if n := connections.cut(stageAccepted); n > 0 {
			failure = errors.Join(failure, fmt.Errorf("%d requests were still without an answer when their time was up", n))
		}
		if n := connections.cut(stageAnswering); n > 0 {
			h.log.Warn("connections were cut before their answer was taken", "connections", n, "after", shutdownAnswersMax)
		}
		server.Close() // what remains arrives no more, and its error is that of Shutdown
	}
	return failure
}

// overdue runs a step of a shutdown and reports whether its time was too short.
func overdue(ctx context.Context, within time.Duration, step func(context.Context) error) (bool, error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := step(bounded)
	if bounded.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("stop: %w", err)
	}
	return false, nil
}

// close releases the database. Nothing of the house may be used afterwards.
func (h *house) close() error {
	if err := h.store.Close(); err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}

// listen opens the address of --listen.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, badSetting("--listen", "%w", err)
	}
	return listener, nil
}
