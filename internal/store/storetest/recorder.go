package storetest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// recorder is a T that keeps what is reported to it. Safe for concurrent use.
type recorder struct {
	ctx      context.Context
	mu       sync.Mutex
	failures []string
}

// failuresMax is how many failures of one check are kept; a store that is wrong is often wrong all over.
const failuresMax = 20

// record runs a check to its end, or to its Fatalf, and returns what it reported. A panic is a failure.
func record(ctx context.Context, run func(T)) []string {
	r := &recorder{ctx: ctx}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		run(r)
	}()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures
}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Logf(string, ...any)      {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) < failuresMax {
		r.failures = append(r.failures, fmt.Sprintf(format, args...))
	}
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// saying finds a failure that contains a text.
func saying(failures []string, text string) (string, bool) {
	for _, f := range failures {
		if strings.Contains(f, text) {
			return f, true
		}
	}
	return "", false
}
