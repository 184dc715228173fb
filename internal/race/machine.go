package race

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Machine names what a figure was measured on. It has no paths and no names of hosts.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	// FlushMS is how long a write of 4 KiB and its flush take where temporary files are, in
	// milliseconds, the median of some: a transaction cannot be shorter.
	FlushMS float64 `json:"flush_ms"`
}

// String is the machine in one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s, a flush of 4 KiB %s ms", m.CPU, m.Cores, m.Kernel, m.Go, number(m.FlushMS))
}

const (
	flushes    = 31
	flushBytes = 4 << 10
)

// thisMachine asks the system. What it does not say is "unknown".
func thisMachine() Machine {
	m := Machine{CPU: "unknown CPU", Cores: runtime.NumCPU(), Kernel: runtime.GOOS, Go: runtime.Version() + " " + runtime.GOARCH}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range bytes.Lines(text) {
			if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = "Linux " + strings.TrimSpace(string(text))
	}
	m.FlushMS = flushTime()
	return m
}

// flushTime is in milliseconds, 0 when it cannot be measured.
func flushTime() float64 {
	f, err := os.CreateTemp("", "rowlock-flush-")
	if err != nil {
		return 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var times []float64
	block := make([]byte, flushBytes)
	for range flushes {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0
		}
		if err := f.Sync(); err != nil {
			return 0
		}
		times = append(times, float64(time.Since(began))/float64(time.Millisecond))
	}
	return middle(times)
}

// processorTime is what this process has used of processors.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
