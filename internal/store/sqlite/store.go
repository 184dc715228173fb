// Package sqlite is the embedded store: holds and sales as rows of one SQLite file, durable, with
// nothing to install. One process serves a file; its writer lock takes the part of row locks, so a
// batch judged inside BEGIN IMMEDIATE is judged alone. README.md walks through the life of a hold.
//
// WAL with synchronous=FULL is asserted on every connection: a commit that was acknowledged has
// been flushed.
package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"

	"github.com/rowlock/rowlock/internal/inventory"
)

const (
	busyTimeout     = 5 * time.Second // for another process that writes: key, backup
	readersMax      = 4
	checkpointPages = 4000 // a page that many batches change is copied back once
	recordLifetime  = 24 * time.Hour
	quickCheckTime  = 2 * time.Second // how long opening may look for damage
	applicationID   = 0x524F574C      // "ROWL", in the file's header
	epochLength     = 6
	roomMin         = 1 << 20 // bytes; with less the disk counts as full
	fileMode        = 0o600   // buyers' addresses are in it
)

// ErrFull is why a write failed when there is no room.
var ErrFull = errors.New("no room is left on the disk")

// Errors of opening a file. Each is wrapped with the file's path.
var (
	ErrLocked  = errors.New("another rowlock server has this database open; stop it, or give this one another file")
	ErrNewer   = errors.New("the database was written by a newer version of rowlock; use that version or a backup")
	ErrCorrupt = errors.New("the file is damaged or not a rowlock database; move it away with its -wal and -shm, and put a backup in its place")
	ErrOrphan  = errors.New("there is no database, but a -wal of one beside it; bring the database back, or move the -wal and -shm away")
	ErrClosed  = errors.New("the database is closed")
	ErrMoved   = errors.New("the file was moved, deleted or replaced while it was open; nothing more is written")
)

// Store is an open file. It implements inventory.Store, and gives package records its database.
// Safe for concurrent use.
type Store struct {
	medium
	epoch  string
	lock   *os.File    // held by a server, nil otherwise
	locked os.FileInfo // of lock: which file it is
	logged os.FileInfo // of the log beside it

	staging sync.Mutex // one event at a time gets allocations in parts; taken before write
	write   sync.Mutex // one writer at a time, in Go, so that waiting costs no polling
	writer  *conn      // nil when opened for reading
	worn    bool       // the writer met what it may not get over, and is replaced before it is used again
	readers chan *conn // at most readersMax
	db      *sql.DB

	sheets  map[string]*sheet       // event id → its rows as remembered; the writer's
	bounds  sheetBounds             // of sheets
	terms   sync.Map                // event id → *cachedEvent, by revision
	failure atomic.Pointer[failure] // why the last write failed; nil when it did not
	swept   inventory.Instant       // when Open or Sweep last looked, by the database's clock; the sweeper's alone
	// What the log was found with when the file was opened may not be on the disk: whoever wrote it may have
	// died before it was flushed, or the flush failed, after which the pages count as clean.
	doubtful atomic.Bool
	closing  sync.Once
	closed   chan struct{}

	walMax   int64 // bytes; walBytesMax, but in tests
	stageMax int   // rows; stageRowsMax, but in tests
}

// medium is where a store's files are and how what is written becomes durable.
type medium struct {
	path        string
	files       string // name of a virtual file system
	synchronous string // FULL, or nothing acknowledged survives a power cut for sure
	checkpoint  int    // pages in the log before they are copied back; 0: they are not
}

// onDisk is the medium of every store but those of tests.
func onDisk(path string) medium {
	register()
	return medium{path: path, files: vfsName, synchronous: "FULL", checkpoint: checkpointPages}
}

type cachedEvent struct {
	n     int64
	event *inventory.Event
}

// Open opens or creates a file for a server: alone, migrated. Errors: ErrLocked, ErrNewer,
// ErrCorrupt, or what the file system says, with the path.
func Open(ctx context.Context, path string) (*Store, error) {
	return openServer(ctx, onDisk(path))
}

func openServer(ctx context.Context, m medium) (*Store, error) {
	path := m.path
	if err := refuseOrphan(path); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, explain(path, err))
	}
	s, err := open(ctx, m, true)
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("database %s: %w", path, explain(path, err))
	}
	s.lock = lock
	s.doubtful.Store(true)
	if err = s.restartLog(); err == nil {
		s.locked, err = lock.Stat()
	}
	if err == nil {
		s.logged, err = os.Stat(path + "-wal")
	}
	if err == nil {
		err = migrate(ctx, s.db)
	}
	if err == nil {
		err = s.settleClock()
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("database %s: %w", path, explain(path, err))
	}
	return s, nil
}

// refuseOrphan keeps a write-ahead log whose database was moved or deleted from being taken into a
// new one: it is all that is left of somebody's sales.
func refuseOrphan(path string) error {
	if size(path) == 0 && size(path+"-wal") > 0 {
		return ErrOrphan
	}
	return nil
}

// size of a file in bytes, 0 when there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// OpenBeside opens an existing file for a short command while a server may be running: no lock, no migration.
func OpenBeside(ctx context.Context, path string) (*Store, error) {
	return openExisting(ctx, path, true)
}

// OpenReader opens an existing file for reading, also beside a server.
func OpenReader(ctx context.Context, path string) (*Store, error) {
	return openExisting(ctx, path, false)
}

func openExisting(ctx context.Context, path string, writable bool) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	m := onDisk(path)
	m.checkpoint = 0 // what is copied back is flushed by the server, and only it could write that again (dbfile.go)
	s, err := open(ctx, m, writable)
	if err == nil {
		if err = checkVersion(ctx, s.db); err != nil {
			s.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, explain(path, err))
	}
	return s, nil
}

func open(ctx context.Context, m medium, writable bool) (*Store, error) {
	s := &Store{
		medium: m, epoch: newEpoch(), readers: make(chan *conn, readersMax), closed: make(chan struct{}),
		sheets: make(map[string]*sheet), bounds: boundsOfSheets(), walMax: walBytesMax, stageMax: stageRowsMax,
	}
	if err := m.refuseForeign(writable); err != nil {
		return nil, err
	}
	if writable {
		w, err := m.open(true)
		if err != nil {
			return nil, err
		}
		s.writer = w
		if err := checkFile(ctx, w.Conn); err != nil {
			s.Close()
			return nil, err
		}
		if err := os.Chmod(m.path+"-shm", fileMode); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.Close()
			return nil, err
		}
	}
	db, err := driver.Open(m.uri("rw")+"&_txlock=immediate", m.settings(writable))
	if err != nil {
		s.Close()
		return nil, err
	}
	db.SetMaxOpenConns(readersMax)
	db.SetMaxIdleConns(readersMax)
	s.db = db
	for range readersMax {
		s.readers <- nil // opened when first needed
	}
	return s, nil
}

// newEpoch names one opening of a file: positions of another opening, or of a restored copy, are
// never mistaken for this one's.
func newEpoch() string { return "k" + strings.ToLower(rand.Text()[:epochLength]) }

// uri names the file to the driver, which opens it as mode says ("ro", "rw") and never makes it: at a path
// from which the file was moved there shall be no other. modeof gives what SQLite puts beside it (-wal) the
// mode of the file itself, as SQLite does everywhere: they hold the same addresses.
func (m medium) uri(mode string) string {
	path := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23", "&", "%26").Replace(m.path)
	return "file:" + path + "?vfs=" + m.files + "&mode=" + mode + "&_pragma=busy_timeout(5000)&modeof=" + path
}

// lockFile takes the server's lock on the file itself. It ends with the process, however that ends,
// and does not touch the locks that SQLite takes.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return f, nil
}

// settings makes a connection safe, and asserts of one that may write that it is. Pages of a transaction
// are not spilled before it commits: what is rolled back would stay in the connection's buffer of the log,
// and be written over what others committed there since (walfile.go).
func (m medium) settings(writable bool) func(*sqlite3.Conn) error {
	return func(c *sqlite3.Conn) error {
		if err := c.BusyTimeout(busyTimeout); err != nil {
			return err
		}
		if !writable { // a backup need not be in WAL, and nothing will be written
			return c.Exec("PRAGMA query_only = ON; PRAGMA synchronous = FULL")
		}
		if err := c.Exec("PRAGMA journal_mode = WAL; PRAGMA cache_spill = OFF; PRAGMA foreign_keys = ON; PRAGMA synchronous = " + m.synchronous +
			"; PRAGMA wal_autocheckpoint = " + strconv.Itoa(m.checkpoint)); err != nil {
			return err
		}
		return m.assertSafe(c)
	}
}

// assertSafe reads back what durability rests on: drivers have been known to choose less.
func (m medium) assertSafe(c *sqlite3.Conn) error {
	mode, err := pragma(c, "journal_mode")
	if err != nil {
		return err
	}
	level, err := pragma(c, "synchronous")
	if err != nil {
		return err
	}
	spill, err := pragma(c, "cache_spill")
	if err != nil {
		return err
	}
	if mode != "wal" || (level != "2" && m.synchronous == "FULL") || spill != "0" {
		return fmt.Errorf("journal_mode is %s, synchronous %s and cache_spill %s, want wal, 2 (FULL) and 0; the file system may not support WAL",
			mode, level, spill)
	}
	return nil
}

func pragma(c *sqlite3.Conn, name string) (string, error) {
	st, _, err := c.Prepare("PRAGMA " + name)
	if err != nil {
		return "", err
	}
	defer st.Close()
	if !st.Step() {
		return "", st.Err()
	}
	return st.ColumnText(0), nil
}

// refuseForeign refuses a database of some other program before anything of it is changed. A file
// that is empty or missing becomes ours, unless it is only to be read.
func (m medium) refuseForeign(writable bool) error {
	if size(m.path) == 0 {
		if writable {
			return nil
		}
		return ErrCorrupt
	}
	err := m.refuseMarked(sqlite3.OPEN_READONLY, writable)
	if errors.Is(err, sqlite3.READONLY) && writable {
		// Whoever wrote it died in the middle, and left a journal: what any SQLite does first, with
		// any database, is to put that right.
		err = m.refuseMarked(sqlite3.OPEN_READWRITE, writable)
	}
	return err
}

// refuseMarked looks at whose mark a database has.
func (m medium) refuseMarked(access sqlite3.OpenFlag, writable bool) error {
	mode := "ro"
	if access&sqlite3.OPEN_READWRITE != 0 {
		mode = "rw"
	}
	c, err := sqlite3.OpenFlags(m.uri(mode), access|sqlite3.OPEN_URI)
	if err != nil {
		return err
	}
	id, err := pragma(c, "application_id")
	if err == nil && id != fmt.Sprint(applicationID) {
		err = refuseFurnished(c, id, writable)
	}
	return errors.Join(err, c.Close())
}

// refuseFurnished lets a file that is not marked as ours pass only if there is nothing in it: that is
// what a server leaves that died while it made the file.
func refuseFurnished(c *sqlite3.Conn, id string, writable bool) error {
	st, _, err := c.Prepare("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	defer st.Close()
	if !st.Step() {
		return st.Err()
	}
	if !writable || id != "0" || st.ColumnInt64(0) > 0 {
		return ErrCorrupt
	}
	return nil
}

// checkFile marks a fresh file as ours, and looks for damage in another as long as it may.
func checkFile(ctx context.Context, c *sqlite3.Conn) error {
	id, err := pragma(c, "application_id")
	if err != nil {
		return err
	}
	if id != fmt.Sprint(applicationID) {
		return c.Exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID))
	}
	ctx, cancel := context.WithTimeout(ctx, quickCheckTime)
	defer cancel()
	old := c.SetInterrupt(ctx)
	defer c.SetInterrupt(old)
	found, err := pragma(c, "quick_check(1)")
	if errors.Is(err, sqlite3.INTERRUPT) {
		return nil // large: what it could read in time was sound
	}
	if err == nil && found != "ok" {
		if err = unread(found); err == nil {
			err = ErrCorrupt
		}
	}
	return err
}

// unread is the error of a page that could not be read, of which SQLite's checks tell in words as they do
// of damage: the page may be sound, and the file is not to be given up for it. nil is damage.
func unread(found string) error {
	for line := range strings.Lines(found) {
		_, number, told := strings.Cut(strings.TrimSpace(line), "error code=")
		n, err := strconv.Atoi(number)
		if code := sqlite3.ErrorCode(n & 0xff); told && err == nil && code != sqlite3.CORRUPT && code != sqlite3.NOTADB {
			return fmt.Errorf("sqlite: %s: %w", line, code)
		}
	}
	return nil
}

// explain turns what SQLite says of a bad file or a full disk into what an operator can act on.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, ErrCorrupt):
		return err
	case errors.Is(err, sqlite3.NOTADB) || errors.Is(err, sqlite3.CORRUPT):
		return fmt.Errorf("%w (%w)", ErrCorrupt, err)
	case (errors.Is(err, sqlite3.IOERR) || errors.Is(err, sqlite3.FULL)) && diskFull(path):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// diskFull reports whether the file system of a file has no room left to speak of.
func diskFull(path string) bool {
	var fs syscall.Statfs_t
	err := syscall.Statfs(filepath.Dir(path), &fs)
	return err == nil && int64(fs.Bavail)*int64(fs.Bsize) < roomMin
}

// Close closes every connection and gives the file up. It waits for what is being read and written;
// whatever is asked of the store afterwards fails with ErrClosed. Closing again does nothing.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		err = s.close()
	})
	return err
}

func (s *Store) close() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
		for range readersMax {
			if c := <-s.readers; c != nil {
				errs = append(errs, c.Close())
			}
		}
	}
	s.write.Lock()
	defer s.write.Unlock()
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
		s.writer = nil
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// isClosed reports whether Close was called.
func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// Ready reports whether the database can be read and written, as far as is known: after a write that
// failed it tries one.
func (s *Store) Ready(ctx context.Context) error {
	if s.failure.Load() != nil {
		if err := s.tryWriting(); err != nil {
			return err
		}
	}
	s.write.Lock()
	err := s.mayWrite()
	s.write.Unlock()
	if err != nil {
		return err
	}
	return s.read(ctx, func(c *conn) error {
		_, err := c.now()
		return err
	})
}

// Backup copies the database, as it stands at one moment, to a new file.
func (s *Store) Backup(ctx context.Context, dst string) error {
	// Made first, and empty, so that nobody else may read it at any moment.
	f, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("backup %s: %w", dst, err)
	}
	if _, err = s.db.ExecContext(ctx, "VACUUM INTO "+sqlite3.Quote(dst)); err != nil {
		return errors.Join(fmt.Errorf("backup %s: %w", dst, err), os.Remove(dst)) // half a copy is none
	}
	return nil
}

// Reader gives package records connections to read with.
func (s *Store) Reader() *sql.DB { return s.db }

// Clock is the SQL expression of now, in microseconds.
func (s *Store) Clock() string { return strings.TrimPrefix(lastLine(queries["clock"]), "SELECT ") }

func lastLine(text string) string {
	lines := strings.Split(text, "\n")
	return lines[len(lines)-1]
}

// Write runs one transaction of paperwork, alone among this process's writers.
func (s *Store) Write(ctx context.Context, fn func(*sql.Tx) error) error {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.mayWrite(); err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sqlite: begin: %w", err)
	}
	if err := fn(tx); err != nil {
		return errors.Join(s.fault(err), ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlite: commit: %w", s.fault(err))
	}
	s.failure.Store(nil)
	return nil
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// read runs fn in one snapshot on a reading connection.
func (s *Store) read(ctx context.Context, fn func(*conn) error) (err error) {
	var c *conn
	select {
	case c = <-s.readers:
	case <-s.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() {
		if c != nil && errors.Is(err, sqlite3.IOERR) {
			c.Close() // where a descriptor is gone, no retry on it succeeds
			c = nil
		}
		s.readers <- c
	}()
	if s.isClosed() {
		return ErrClosed
	}
	if c == nil {
		fresh, err := s.medium.open(false)
		if err != nil {
			return err
		}
		c = fresh
	}
	old := c.SetInterrupt(ctx)
	defer c.SetInterrupt(old)
	if err := c.Exec("BEGIN"); err != nil {
		return fmt.Errorf("sqlite: begin: %w", err)
	}
	defer func() {
		// Nothing was written, so there is nothing a failing end could lose; an interrupted one is ended later.
		c.SetInterrupt(context.Background())
		if endErr := c.Exec("ROLLBACK"); err == nil {
			err = endErr
		}
	}()
	return fn(c)
}
