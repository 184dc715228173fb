package sqlite

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// dbFile is the database itself: its reads give what was asked for or fail, and what was flushed is there.
//
// SQLite takes what a read did not give for zeros where the file seems to end: rows that are there would be
// missing, and the next change of that page would make it so.
//
// It keeps what checkpoints copy back until a flush has succeeded: after one that failed the kernel counts its pages as clean, so that no later flush saves them, and SQLite does
// not copy them again. A checkpoint that readers stop half way flushes nothing, and counts its pages as
// copied all the same. So they are written again before the next flush is believed.
type dbFile struct {
	vfs.File
	copied  *copies
	leave   func() // when it is closed
	copying bool   // a checkpoint of this connection is under way
}

// copies is what checkpoints have written into one database since it was flushed, whichever connection
// wrote it: no more than the write-ahead log has.
type copies struct {
	users int // connections, counted by files

	mu       sync.Mutex
	pages    map[int64][]byte // by offset
	doubtful bool             // a flush has failed
}

// openDB wraps a database that was opened.
func (w *files) openDB(f vfs.File, path string) *dbFile {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.copied[path]
	if !ok {
		c = &copies{pages: make(map[int64][]byte)}
		w.copied[path] = c
	}
	c.users++
	return &dbFile{File: f, copied: c, leave: func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.users--; c.users == 0 {
			delete(w.copied, path) // who opens it next finds the log whole, and copies all of it
		}
	}}
}

// Close implements io.Closer.
func (f *dbFile) Close() error {
	f.leave()
	return f.File.Close()
}

// ReadAt implements io.ReaderAt.
func (f *dbFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if n < len(p) && errors.Is(err, io.EOF) {
		size, sizeErr := f.File.Size()
		if sizeErr != nil || off+int64(n) < size {
			err = errors.Join(io.ErrUnexpectedEOF, sizeErr)
		}
	}
	return n, err
}

// CheckpointStart implements vfs.FileCheckpoint.
func (f *dbFile) CheckpointStart() { f.copying = true }

// CheckpointDone implements vfs.FileCheckpoint.
func (f *dbFile) CheckpointDone() { f.copying = false }

// WriteAt implements io.WriterAt.
func (f *dbFile) WriteAt(p []byte, off int64) (int, error) {
	if f.copying {
		c := f.copied
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pages[off] = append(c.pages[off][:0], p...)
	}
	return f.File.WriteAt(p, off)
}

// Truncate implements vfs.File. What was cut off is not written again.
func (f *dbFile) Truncate(size int64) error {
	c := f.copied
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.pages, func(off int64, _ []byte) bool { return off >= size })
	return f.File.Truncate(size)
}

// Sync implements vfs.File.
func (f *dbFile) Sync(flags vfs.SyncFlag) error {
	c := f.copied
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doubtful {
		for _, off := range slices.Sorted(maps.Keys(c.pages)) {
			if _, err := f.File.WriteAt(c.pages[off], off); err != nil {
				return err
			}
		}
	}
	err := f.File.Sync(flags)
	if c.doubtful = err != nil; !c.doubtful {
		clear(c.pages)
	}
	return err
}

// What SQLite asks of a file beside reading and writing, it asks of the system's.

func (f *dbFile) SharedMemory() vfs.SharedMemory { return vfsutil.WrapSharedMemory(f.File) }
func (f *dbFile) LockState() vfs.LockLevel       { return vfsutil.WrapLockState(f.File) }
func (f *dbFile) SizeHint(size int64) error      { return vfsutil.WrapSizeHint(f.File, size) }
func (f *dbFile) HasMoved() (bool, error)        { return vfsutil.WrapHasMoved(f.File) }
func (f *dbFile) PersistWAL() bool               { return vfsutil.WrapPersistWAL(f.File) }
func (f *dbFile) SetPersistWAL(keep bool)        { vfsutil.WrapSetPersistWAL(f.File, keep) }
func (f *dbFile) PowersafeOverwrite() bool       { return vfsutil.WrapPowersafeOverwrite(f.File) }
func (f *dbFile) SetPowersafeOverwrite(on bool)  { vfsutil.WrapSetPowersafeOverwrite(f.File, on) }
