// Package test is end to end: the real binary, real files, real processes that really die.
package test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// binary is the program under test, built once a run.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rowlock-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "rowlock")
	build := exec.Command("go", "build", "-o", binary, "../cmd/rowlock")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building rowlock: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// server is a running `rowlock serve` or `rowlock demo`.
type server struct {
	cmd  *exec.Cmd
	url  string
	done chan error // what the process ended with
}

var addressPattern = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// start runs the binary until it has printed its address. It is killed when the test ends.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	s := &server{cmd: exec.Command(binary, args...), done: make(chan error, 1)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.cmd.Stdout
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	lines := make(chan string, 1)
	go func() {
		scanner := bufio.NewScanner(out)
		for found := false; scanner.Scan(); {
			if address := addressPattern.FindString(scanner.Text()); address != "" && !found {
				found = true
				lines <- address
			}
		}
		close(lines)
		s.done <- s.cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case address, ok := <-lines:
		if !ok {
			t.Fatalf("rowlock %s ended before it served", strings.Join(args, " "))
		}
		s.url = address
	case <-ctx.Done():
		t.Fatalf("rowlock %s printed no address", strings.Join(args, " "))
	}
	return s
}

// kill ends the process as a power cut would, and waits until it is gone.
func (s *server) kill() {
	if s.done == nil {
		return
	}
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
	<-s.done
	s.done = nil
}

// rowlock runs a verb to its end and returns what it printed.
func rowlock(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("rowlock %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

var keyPattern = regexp.MustCompile(`rk_[a-z0-9]+`)

// newDatabase makes an empty database with an organizer, and returns its URL and a key.
func newDatabase(t testing.TB) (db, key string) {
	t.Helper()
	db = "sqlite:" + filepath.Join(t.TempDir(), "sale.db")
	rowlock(t, "migrate", "--db", db)
	key = keyPattern.FindString(rowlock(t, "key", "create", "--db", db, "--organizer", "Test Organizer"))
	if key == "" {
		t.Fatal("key create printed no key")
	}
	return db, key
}
