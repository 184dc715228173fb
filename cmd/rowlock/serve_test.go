package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// served is a server that runs in this process by its command line.
type served struct {
	address string
	stop    context.CancelFunc
	code    chan int
	log     *strings.Builder // whole once code was received
}

var servingLine = regexp.MustCompile(`msg=serving address=http://(\S+)`)

// startServing runs `rowlock serve` on a free port and waits until it says where.
func startServing(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	s := &served{stop: stop, code: make(chan int, 1), log: new(strings.Builder)}
	address := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewScanner(reader)
		for lines.Scan() {
			fmt.Fprintln(s.log, lines.Text())
			if m := servingLine.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	go func() {
		code := run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), streams{out: io.Discard, err: writer})
		writer.Close()
		<-drained
		s.code <- code
	}()
	select {
	case s.address = <-address:
	case code := <-s.code:
		t.Fatalf("the server ended with %d:\n%s", code, s.log)
	}
	return s
}

// end asks the server to stop and returns its exit code.
func (s *served) end() int {
	s.stop()
	return <-s.code
}

func TestServeStopsCleanlyWhenAsked(t *testing.T) {
	clean(t)
	s := startServing(t, "--db", "sqlite:"+filepath.Join(t.TempDir(), "a.db"))
	answer, err := http.Get("http://" + s.address + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("/readyz answers %d", answer.StatusCode)
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, s.log)
	}
	if !strings.Contains(s.log.String(), "msg=stopped") {
		t.Errorf("the log does not say that it stopped:\n%s", s.log)
	}
	if _, err := net.DialTimeout("tcp", s.address, time.Second); err == nil {
		t.Error("it still listens")
	}
}

// A request is accepted once its handler reads the body, which "100 Continue" tells. What was
// accepted is answered, although the server was asked to stop in between.
func TestPromise11ShutdownAnswersWhatWasAccepted(t *testing.T) {
	clean(t)
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	mustCall(t, "migrate", "--db", db)
	key := strings.TrimSpace(mustCall(t, "key", "create", "--organizer", "Example House", "--db", db))
	s := startServing(t, "--db", db)
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"name":"Example House"}`
	fmt.Fprintf(conn, "POST /v1/venues HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", key, len(body))
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the server does not ask for the body: %q %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s.stop()
	waitUntilClosed(t, s.address)
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Errorf("answered %d %s, %v", answer.StatusCode, text, err)
	}
	if code := <-s.code; code != exitOK {
		t.Errorf("exit code %d:\n%s", code, s.log)
	}
}

// waitUntilClosed dials until nobody listens any more.
func waitUntilClosed(t *testing.T, address string) {
	t.Helper()
	for t.Context().Err() == nil {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return
		}
		conn.Close()
	}
}

func TestASecondServerOnOneFileIsRefused(t *testing.T) {
	clean(t)
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	s := startServing(t, "--db", db)
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0", "--db", db}, {"migrate", "--db", db}} {
		code, _, errs := call(t, args...)
		if code != exitFailure || !strings.Contains(errs, "another rowlock server") || strings.Count(errs, "\n") != 1 {
			t.Errorf("rowlock %s: exit code %d, %q", strings.Join(args, " "), code, errs)
		}
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, s.log)
	}
	mustCall(t, "migrate", "--db", db)
}

func TestABusyAddressIsNamed(t *testing.T) {
	clean(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	db := filepath.Join(t.TempDir(), "a.db")
	code, _, errs := call(t, "serve", "--listen", taken.Addr().String(), "--db", "sqlite:"+db)
	if code != exitSetting || !strings.Contains(errs, "--listen") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

func TestVerbsBesideAServer(t *testing.T) {
	clean(t)
	dir := t.TempDir()
	db := "sqlite:" + filepath.Join(dir, "a.db")
	s := startServing(t, "--db", db)
	key := strings.TrimSpace(mustCall(t, "key", "create", "--organizer", "Example House", "--role", "scanner", "--db", db))
	if !strings.HasPrefix(key, "rk_") {
		t.Errorf("standard output has more than the secret: %q", key)
	}
	if got := statusWithKey(t, s.address, key); got != http.StatusOK {
		t.Errorf("a key made beside the server answers %d", got)
	}
	list := mustCall(t, "key", "list", "--db", db)
	if strings.Contains(list, key) || !strings.Contains(list, "scanner") {
		t.Errorf("listed as\n%s", list)
	}
	id := regexp.MustCompile(`key_\w+`).FindString(list)
	mustCall(t, "key", "revoke", id, "--db", db)
	if got := statusWithKey(t, s.address, key); got != http.StatusUnauthorized {
		t.Errorf("a revoked key answers %d", got)
	}
	if code, _, errs := call(t, "key", "revoke", "key_none", "--db", db); code != exitSetting {
		t.Errorf("an unknown key is revoked: %d %s", code, errs)
	}
	mustCall(t, "audit", "--db", db)
	copied := filepath.Join(dir, "copy.db")
	mustCall(t, "backup", copied, "--db", db)
	if again := mustCall(t, "key", "list", "--db", "sqlite:"+copied); !strings.Contains(again, id) {
		t.Errorf("the copy does not know %s:\n%s", id, again)
	}
	if code, _, errs := call(t, "backup", copied, "--db", db); code != exitSetting || !strings.Contains(errs, "exists") {
		t.Errorf("a backup overwrites: %d %s", code, errs)
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, s.log)
	}
}

func statusWithKey(t *testing.T, address, key string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}
