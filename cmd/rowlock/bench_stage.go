package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rowlock/rowlock/internal/inventory"
	"github.com/rowlock/rowlock/internal/race"
	"github.com/rowlock/rowlock/internal/store/records"
)

// armStopMax is how long an arm's process may take to end before it is killed.
const armStopMax = 30 * time.Second

// benchStage opens what a bench compares, each in a directory of its own under dir.
type benchStage struct {
	dir  string
	rows int // of the hall
	s    streams
}

// serve starts an arm in a process of its own.
func (b *benchStage) serve(ctx context.Context, make race.Make) (_ *race.Arm, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start an arm: %w", err)
	}
	dir, err := os.MkdirTemp(b.dir, "arm-")
	if err != nil {
		return nil, fmt.Errorf("start an arm: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "bench-arm", "--make", string(make), "--db", filepath.Join(dir, "bench.db"), "--rows", strconv.Itoa(b.rows))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // asked politely first, as by the terminal
	cmd.WaitDelay = armStopMax
	cmd.Stderr = b.s.err
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start an arm: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start an arm: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start an arm: %w", err)
	}
	p := &armProcess{in: in, encoder: json.NewEncoder(in), decoder: json.NewDecoder(bufio.NewReader(out)), wait: func() error {
		return errors.Join(cmd.Wait(), os.RemoveAll(dir))
	}}
	var first armAnswer
	if err := p.read(&first, "its address"); err != nil {
		return nil, errors.Join(err, in.Close(), p.wait())
	}
	return p.arm(make, first), nil
}

// inside opens a store in this process, and a server on it.
func (b *benchStage) inside(ctx context.Context) (_ *race.Inside, err error) {
	dir, err := os.MkdirTemp(b.dir, "inside-")
	if err != nil {
		return nil, fmt.Errorf("open a store: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	file := filepath.Join(dir, "bench.db")
	log := slog.New(slog.NewTextHandler(b.s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	h, err := openHouse(ctx, houseConfig{Path: file, Log: log})
	if err != nil {
		return nil, err
	}
	key, err := arenaKey(ctx, h.office)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	listener, err := listen(ctx, demoListenAny)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- h.serve(serving, listener) }()
	return &race.Inside{
		Target: race.Target{
			URLs: []string{"http://" + listener.Addr().String()}, Key: key,
			Audit: func(ctx context.Context) ([]inventory.Breach, error) { return auditFile(ctx, file) },
		},
		Store: h.store, Catalogue: records.New(h.store),
		Close: func() error {
			stop()
			return errors.Join(<-ended, h.close(), os.RemoveAll(dir))
		},
	}, nil
}
