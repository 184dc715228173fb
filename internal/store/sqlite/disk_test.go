package sqlite_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

const sectorBytes = 512 // what a disk writes wholly or not at all

// disk is a directory that remembers what of its files was flushed. Its power can be cut before any
// step, and it can fail a step; afterwards image says what a real disk might have kept. What goes on
// before the cut really happens in the directory, so SQLite's locks and shared memory are real.
type disk struct {
	vfs.VFS
	mu    sync.Mutex
	files map[string]*platter // by base name
	steps int                 // so far
	off   bool                // the power is cut
	at    string              // in the middle of which step

	births int // how often all open files were closed by force

	cutAt int              // the step before which the power is cut; 0: never
	fail  func(step) error // a step fails with it; nil: none does

	reads    int              // so far
	failRead func(step) error // a read fails with it; nil: none does
}

// step is one call that changes a file or flushes it.
type step struct {
	n    int
	file string // "db", "wal" or "journal"
	what string // "write", "restart" (of a log), "truncate", "sync", "delete"
}

func (s step) String() string { return s.what + " " + s.file }

// platter is a file as flushed, and what was done to it since, in order.
type platter struct {
	durable []byte
	pending []change
}

// change is a write, or with nil data a truncation to off.
type change struct {
	off  int64
	data []byte
}

func newDisk() *disk {
	return &disk{VFS: vfs.Find(""), files: make(map[string]*platter)}
}

// insert puts a file on the disk that has been there, flushed, for long.
func (d *disk) insert(path string) error {
	data, err := os.ReadFile(path)
	d.files[filepath.Base(path)] = &platter{durable: data}
	return err
}

// OpenFilename implements vfs.VFSFilename.
func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := vfsutil.WrapOpenFilename(d.VFS, name, flags)
	if err != nil || name == nil || flags&(vfs.OPEN_MAIN_DB|vfs.OPEN_WAL|vfs.OPEN_MAIN_JOURNAL) == 0 {
		return f, out, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	base := filepath.Base(name.String())
	if d.files[base] == nil {
		d.files[base] = new(platter)
	}
	return &diskFile{File: f, disk: d, name: base, kind: kindOf(base), born: d.births}, out, nil
}

// Delete implements vfs.VFS.
func (d *disk) Delete(path string, syncDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	base := filepath.Base(path)
	if err := d.take(step{file: kindOf(base), what: "delete"}); err != nil {
		return err
	}
	delete(d.files, base)
	return d.VFS.Delete(path, syncDir)
}

func kindOf(base string) string {
	switch {
	case strings.HasSuffix(base, "-wal"):
		return "wal"
	case strings.HasSuffix(base, "-journal"):
		return "journal"
	}
	return "db"
}

// take counts a step; an error means that it does not happen. Called with the lock.
func (d *disk) take(s step) error {
	if d.off {
		return sqlite3.IOERR
	}
	d.steps++
	s.n = d.steps
	if s.n == d.cutAt {
		d.off, d.at = true, s.String()
		return sqlite3.IOERR
	}
	if d.fail != nil {
		return d.fail(s)
	}
	return nil
}

// cut switches the power off, if it is still on.
func (d *disk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.off {
		d.off, d.at = true, "rest"
	}
}

// image writes to a directory what the disk might have kept: all that was flushed, and of the rest each
// change or not, or torn at sectors.
func (d *disk) image(dir string, r *rand.Rand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for name, p := range d.files {
		data := append([]byte(nil), p.durable...)
		for _, c := range p.pending {
			data = c.survive(data, r)
		}
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return errors.Join(errs...)
}

// survive does to a file what is kept of a change.
func (c change) survive(data []byte, r *rand.Rand) []byte {
	fate := r.IntN(3) // all of it, some of it, nothing
	if c.data == nil {
		if fate == 0 {
			return resized(data, c.off)
		}
		return data
	}
	for from := 0; from < len(c.data); {
		to := min(len(c.data), from+sectorBytes-int(c.off+int64(from))%sectorBytes)
		if fate == 0 || fate == 1 && r.IntN(2) == 0 {
			data = resized(data, max(int64(len(data)), c.off+int64(to)))
			copy(data[c.off+int64(from):], c.data[from:to])
		}
		from = to
	}
	return data
}

func resized(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}

// diskFile is an open file on a disk.
type diskFile struct {
	vfs.File
	disk *disk
	name string
	kind string
	born int
}

// closeAll closes every file that is open, under whoever has it open.
func (d *disk) closeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.births++
}

// ReadAt implements io.ReaderAt.
func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	closed := f.born < f.disk.births
	f.disk.reads++
	var fault error
	if f.disk.failRead != nil {
		fault = f.disk.failRead(step{n: f.disk.reads, file: f.kind, what: "read"})
	}
	f.disk.mu.Unlock()
	switch {
	case closed:
		return 0, os.ErrClosed
	case fault == nil:
		return f.File.ReadAt(p, off)
	}
	n, err := f.File.ReadAt(p[:len(p)/2], off)
	if err != nil && err != io.EOF {
		return n, err
	}
	return n, fault
}

// SharedMemory implements vfs.FileSharedMemory.
func (f *diskFile) SharedMemory() vfs.SharedMemory {
	if shared, ok := f.File.(vfs.FileSharedMemory); ok {
		return shared.SharedMemory()
	}
	return nil
}

// do takes a step that changes the file.
func (f *diskFile) do(what string, c change, really func() error) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.born < f.disk.births {
		return os.ErrClosed
	}
	if err := f.disk.take(step{file: f.kind, what: what}); err != nil {
		return err
	}
	p := f.disk.files[f.name]
	if p == nil { // deleted while open
		return really()
	}
	p.pending = append(p.pending, c)
	return really()
}

// errShort makes a write reach the disk with its first half only.
var errShort = errors.New("half of it was written")

// WriteAt implements io.WriterAt.
func (f *diskFile) WriteAt(data []byte, off int64) (n int, err error) {
	what := "write"
	if f.kind == "wal" && off == 0 {
		what = "restart"
	}
	write := func() error {
		n, err = f.File.WriteAt(data, off)
		return err
	}
	err = f.do(what, change{off: off, data: append([]byte{}, data...)}, write)
	if errors.Is(err, errShort) {
		data = data[:len(data)/2]
		f.disk.mu.Lock()
		defer f.disk.mu.Unlock()
		if p := f.disk.files[f.name]; p != nil {
			p.pending = append(p.pending, change{off: off, data: append([]byte{}, data...)})
		}
		return n, errors.Join(write(), sqlite3.FULL)
	}
	return n, err
}

// Truncate implements vfs.File.
func (f *diskFile) Truncate(size int64) error {
	return f.do("truncate", change{off: size}, func() error { return f.File.Truncate(size) })
}

// Sync implements vfs.File. When it fails, the pages count as clean all the same, as on Linux: no
// later flush saves them.
func (f *diskFile) Sync(vfs.SyncFlag) error {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if f.born < d.births {
		return os.ErrClosed
	}
	p := d.files[f.name]
	err := d.take(step{file: f.kind, what: "sync"})
	switch {
	case p == nil || d.off:
		return err
	case err != nil:
		p.durable = p.live(rand.New(rand.NewPCG(1, uint64(d.steps))))
	default:
		p.durable = p.live(nil)
	}
	p.pending = nil
	return err
}

// live is the file after all pending changes, or with r after some of them.
func (p *platter) live(r *rand.Rand) []byte {
	data := append([]byte(nil), p.durable...)
	for _, c := range p.pending {
		switch {
		case r != nil:
			data = c.survive(data, r)
		case c.data == nil:
			data = resized(data, c.off)
		default:
			data = resized(data, max(int64(len(data)), c.off+int64(len(c.data))))
			copy(data[c.off:], c.data)
		}
	}
	return data
}

// dark reports whether the power is off.
func (d *disk) dark() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.off
}
