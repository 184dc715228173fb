package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// beRowlock in the environment makes the test's own binary the command, for what only a process has.
const beRowlock = "BE_ROWLOCK"

func TestMain(m *testing.M) {
	if os.Getenv(beRowlock) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process prepares the command as a process of its own, with a directory of its own for what is temporary.
func process(t *testing.T, args ...string) (cmd *exec.Cmd, temporary string) {
	t.Helper()
	clean(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temporary = t.TempDir()
	cmd = exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), beRowlock+"=1", "TMPDIR="+temporary)
	return cmd, temporary
}

// pipes is a listener without a network, for time that does not pass by itself.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
}

func newPipes() *pipes { return &pipes{dialled: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.dialled:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// send opens a connection and writes to it. What is answered is for the caller to read.
func (p *pipes) send(t *testing.T, text string) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	p.dialled <- server
	if _, err := io.WriteString(client, text); err != nil {
		t.Fatal(err)
	}
	return client
}

// stopping serves a handler (nil: the usual one) in a bubble, has act make requests, then stops the
// server and returns its log, how long that took, and its error.
func stopping(t *testing.T, handler http.Handler, act func(*pipes)) (logged string, took time.Duration, failure error) {
	t.Helper()
	var text bytes.Buffer
	log, err := newLog(&text, "text", "info")
	if err != nil {
		t.Fatal(err)
	}
	h, err := openHouse(t.Context(), houseConfig{Path: filepath.Join(t.TempDir(), "a.db"), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if handler != nil {
		h.handler = handler
	}
	ctx, stop := context.WithCancel(t.Context())
	listener, ended := newPipes(), make(chan error, 1)
	go func() { ended <- h.serve(ctx, listener) }()
	act(listener)
	synctest.Wait()
	began := time.Now()
	stop()
	failure = <-ended
	took = time.Since(began)
	if err := h.close(); err != nil {
		t.Error(err)
	}
	return text.String(), took, failure
}

func TestAShutdownIsNoFailureBecauseOfRequestsThatNeverArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The handler reads as long as there is something to come, so that the server's bound decides.
		reading := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
		log, took, failure := stopping(t, reading, func(p *pipes) {
			for range 2 {
				conn := p.send(t, "POST /v1/venues HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
				go io.Copy(io.Discard, conn)
			}
			go io.Copy(io.Discard, p.send(t, "GET /readyz HTTP/1.1\r\nHo"))
		})
		if failure != nil {
			t.Errorf("the shutdown failed: %v", failure)
		}
		if !strings.Contains(log, `msg="connections were cut before their request was complete" connections=2`) {
			t.Errorf("the log is\n%s", log)
		}
		if took < shutdownRequestsMax || took > shutdownRequestsMax+time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAShutdownWaitsForAWholeRequestBesideOneThatNeverArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan string, 1)
		slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			time.Sleep(shutdownRequestsMax + 5*time.Second)
			io.WriteString(w, "done")
		})
		log, _, failure := stopping(t, slow, func(p *pipes) {
			whole := p.send(t, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
			go func() {
				text, _ := io.ReadAll(whole)
				answer <- string(text)
			}()
			go io.Copy(io.Discard, p.send(t, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{"))
		})
		if got := <-answer; !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.HasSuffix(got, "done") {
			t.Errorf("what had arrived is answered %q", got)
		}
		if failure != nil || !strings.Contains(log, "connections=1") {
			t.Errorf("%v\n%s", failure, log)
		}
	})
}

func TestAShutdownIsNoFailureBecauseOfAnAnswerThatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var client net.Conn
		log, _, failure := stopping(t, nil, func(p *pipes) {
			client = p.send(t, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
		})
		client.Close()
		if failure != nil || !strings.Contains(log, `msg="connections were cut before their answer was taken" connections=1`) {
			t.Errorf("%v\n%s", failure, log)
		}
	})
}

func TestAShutdownThatLeavesARequestWithoutAnAnswerFailsAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		stuck := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
		log, _, failure := stopping(t, stuck, func(p *pipes) {
			go io.Copy(io.Discard, p.send(t, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
		})
		close(release)
		if failure == nil || !strings.Contains(failure.Error(), "1 requests were still without an answer") {
			t.Errorf("%v\n%s", failure, log)
		}
	})
}

func TestAClosedTerminalStopsAServerAsAskingDoes(t *testing.T) {
	cmd, temporary := process(t)
	cmd.Args = append(cmd.Args, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:"+filepath.Join(temporary, "a.db"))
	lines, _ := startProcess(t, cmd)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	log := readAll(t, lines)
	if err := cmd.Wait(); err != nil || !strings.Contains(log, "msg=stopped") {
		t.Errorf("it ended with %v:\n%s", err, log)
	}
}

func TestAServerUnderNohupOutlivesItsTerminal(t *testing.T) {
	self, temporary := process(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" HUP; exec "$0" "$@"`,
		self.Path, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:"+filepath.Join(temporary, "a.db"))
	cmd.Env = self.Env
	lines, address := startProcess(t, cmd)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	// Were the signal heard, the process would be gone or going by the second of these.
	for range 2 {
		if answer, err := http.Get("http://" + address + "/readyz"); err != nil {
			t.Error(err)
		} else {
			answer.Body.Close()
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	log := readAll(t, lines)
	if err := cmd.Wait(); err != nil || !strings.Contains(log, "msg=stopped") {
		t.Errorf("it ended with %v:\n%s", err, log)
	}
}

// processLog is the log of a process. Closing it leaves the process without a reader.
type processLog struct {
	*bufio.Reader
	io.Closer
}

func TestAServerServesOnWhenNobodyReadsItsLog(t *testing.T) {
	cmd, temporary := process(t)
	cmd.Args = append(cmd.Args, "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:"+filepath.Join(temporary, "a.db"))
	log, _ := startProcess(t, cmd)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// That it stopped is a line that cannot be written. It must not end the process before its time.
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// startProcess starts a server and waits until it says where it serves.
func startProcess(t *testing.T, cmd *exec.Cmd) (log *processLog, address string) {
	t.Helper()
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log = &processLog{bufio.NewReader(pipe), pipe}
	for {
		line, err := log.ReadString('\n')
		if m := servingLine.FindStringSubmatch(line); m != nil {
			return log, m[1]
		}
		if err != nil {
			t.Fatalf("the server did not start: %v, %v", err, cmd.Wait())
		}
	}
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestARaceWhoseReaderLeavesTakesItsDatabaseAway(t *testing.T) {
	cmd, temporary := process(t, "race", "--only", "one-seat", "--only", "withheld-seat")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = writer, writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	if line, err := bufio.NewReader(reader).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	reader.Close() // as head does
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitFailure {
		t.Errorf("it ended with %v", err)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

func TestLosingAReaderEndsTheContext(t *testing.T) {
	ctx, s, stop := streams{out: io.Discard, err: brokenPipe{}}.whileRead(t.Context())
	defer stop()
	fmt.Fprintln(s.out, "heard")
	if ctx.Err() != nil {
		t.Fatal("it ended although somebody reads")
	}
	fmt.Fprintln(s.err, "unheard")
	if ctx.Err() == nil {
		t.Error("nobody reads, and it goes on")
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Err: syscall.EPIPE}
}
