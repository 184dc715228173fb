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

// shutdownMax bounds the time for answering what was accepted.
const shutdownMax = 20 * time.Second

// house is a whole server, wired: a store, what rests on it, and the handler.
type house struct {
	store   *sqlite.Store
	office  *office.Office
	service *inventory.Service
	handler http.Handler
}

// houseConfig is what differs between the servers that verbs start.
type houseConfig struct {
	Path        string // of the database's file
	Log         *slog.Logger
	CORSOrigins []string
	AddressRate float64 // writing requests a second from one address, 0 for no limit
}

// openHouse opens the store, bringing it to this version, and wires a server on it. The caller
// closes it.
func openHouse(ctx context.Context, c houseConfig) (*house, error) {
	store, err := sqlite.Open(ctx, c.Path)
	if err != nil {
		return nil, aboutDatabase(err)
	}
	paperwork := records.New(store)
	service := inventory.New(inventory.Config{Store: store, Catalogue: paperwork, Log: c.Log})
	people := office.New(paperwork)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	server := api.New(api.Config{
		Service: service, Office: people, Log: c.Log, Pages: web.Handler(), CORSOrigins: c.CORSOrigins,
		Ready: store.Ready, AddressRate: c.AddressRate, Version: version(), Registry: registry,
	})
	return &house{store: store, office: people, service: service, handler: server.Handler()}, nil
}

// serve answers requests until the context ends, then stops in the order that loses nothing: no new
// connection, every accepted request answered, every accepted command finished. Bounded by
// shutdownMax. The listener is closed.
func (h *house) serve(ctx context.Context, listener net.Listener) error {
	server := api.NewHTTPServer(h.handler)
	sweep, stopSweeping := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSweeping()
	var running sync.WaitGroup
	running.Go(func() { h.service.Run(sweep) })
	ended := make(chan error, 1)
	running.Go(func() { ended <- server.Serve(listener) })

	var failure error
	select {
	case failure = <-ended: // only for a reason: nobody has asked it to end
		failure = fmt.Errorf("serve: %w", failure)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownMax)
	defer cancel()
	if err := server.Shutdown(bounded); err != nil {
		failure = errors.Join(failure, fmt.Errorf("some requests were still unanswered after %s: %w", shutdownMax, err))
		server.Close() // what remains is past its bound, and its error is that of Shutdown
	}
	if err := h.service.Close(bounded); err != nil {
		failure = errors.Join(failure, fmt.Errorf("some commands were still running after %s: %w", shutdownMax, err))
	}
	stopSweeping()
	running.Wait()
	return failure
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
