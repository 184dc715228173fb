package sqlite

import (
	"encoding/binary"
	"io"
	"sync"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

const (
	vfsName            = "rowlock" // among the process's virtual file systems
	walFrameHeaderSize = 24        // bytes; https://www.sqlite.org/fileformat2.html#the_write_ahead_log
	walBufferBytesMax  = 1 << 20
)

// register makes the store's file system known to the driver, once.
var register = sync.OnceFunc(func() { vfs.Register(vfsName, newFiles(vfs.Find(""))) })

// files is the system's files, but that what a transaction appends to the write-ahead log is written at
// once (SQLite writes two pieces a page, and a batch of random seats has a hundred pages), and that what
// is copied back from the log survives a flush that failed. Safe for concurrent use.
type files struct {
	vfs.VFS

	mu     sync.Mutex
	copied map[string]*copies // by path, of the databases that are open
}

func newFiles(system vfs.VFS) *files { return &files{VFS: system, copied: make(map[string]*copies)} }

// OpenFilename implements vfs.VFSFilename.
func (w *files) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, out, err := vfsutil.WrapOpenFilename(w.VFS, name, flags)
	switch {
	case err != nil:
	case flags&vfs.OPEN_WAL != 0:
		f = &walFile{File: f}
	case flags&vfs.OPEN_MAIN_DB != 0 && name != nil:
		f = w.openDB(f, name.String())
	}
	return f, out, err
}

// walFile keeps a run of writes until it ends, or a transaction does, or somebody asks for anything
// else. A commit is in the file before SQLite lets a reader know of it, whether or not it is flushed.
// One connection's, like any file of SQLite's.
type walFile struct {
	vfs.File
	run        []byte
	from       int64 // where run begins
	committing bool  // the last header in run ends a transaction, its page is to come
}

// WriteAt implements io.WriterAt. An error may be of an earlier write of the same transaction, which
// is then rolled back.
func (f *walFile) WriteAt(p []byte, off int64) (int, error) {
	if off != f.from+int64(len(f.run)) || len(f.run)+len(p) > walBufferBytesMax {
		if err := f.flush(); err != nil {
			return 0, err
		}
		f.from = off
	}
	f.run = append(f.run, p...)
	switch {
	case len(p) == walFrameHeaderSize:
		// After its page number a header has the size of the database, if it ends a transaction, or 0.
		f.committing = binary.BigEndian.Uint32(p[4:]) != 0
		return len(p), nil
	case f.committing:
		f.committing = false
		if err := f.flush(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// flush writes what is kept.
func (f *walFile) flush() error {
	if len(f.run) == 0 {
		return nil
	}
	n, err := f.File.WriteAt(f.run, f.from)
	if err == nil && n < len(f.run) {
		err = io.ErrShortWrite
	}
	f.from += int64(len(f.run))
	f.run = f.run[:0]
	return err
}

// ReadAt implements io.ReaderAt.
func (f *walFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

// Truncate implements vfs.File.
func (f *walFile) Truncate(size int64) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Sync implements vfs.File.
func (f *walFile) Sync(flags vfs.SyncFlag) error {
	if err := f.flush(); err != nil {
		return err
	}
	return f.File.Sync(flags)
}

// Size implements vfs.File.
func (f *walFile) Size() (int64, error) {
	if err := f.flush(); err != nil {
		return 0, err
	}
	return f.File.Size()
}
