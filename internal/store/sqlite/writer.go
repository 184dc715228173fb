package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowlock/rowlock/internal/inventory"
)

const (
	walBytesMax    = 32 << 20               // past it the write-ahead log is begun anew, whoever reads
	checkpointWait = 250 * time.Millisecond // for readers outside this process; then it is tried again later
	trialBytes     = 64 << 10               // written to learn whether writing works
	clockSlack     = inventory.Instant(1_000_000)
)

// failure is why writing does not work. A damaged file, or one that is not where it was, is never
// written again.
type failure struct {
	err   error
	final bool
}

// writing runs fn alone among writers, in a transaction that begins when fn says so, and commits it.
// Before the next writer's turn, after is told how that ended.
func (s *Store) writing(what string, fn func(begin func() error) error, after func(error)) (err error) {
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	began := false
	begin := func() error {
		if began {
			return nil
		}
		if err := s.mayWrite(); err != nil {
			return err
		}
		err := s.writer.exec("begin")
		began = err == nil
		return err
	}
	if err = fn(begin); err == nil && began {
		err = s.writer.exec("commit")
	}
	if err != nil {
		s.rollback()
		err = fmt.Errorf("sqlite: %s: %w", what, s.fault(err))
	} else if began {
		s.failure.Store(nil)
	}
	after(err)
	return err
}

// writingAll is writing for what changes rows of any event, or in a way that no sheet follows.
func (s *Store) writingAll(what string, fn func() error) error {
	return s.writing(what, func(begin func() error) error {
		if err := begin(); err != nil {
			return err
		}
		return fn()
	}, func(error) { s.forget("") })
}

// mayWrite refuses to write into a file that is damaged or no longer where it was. Called by who
// holds the writer.
func (s *Store) mayWrite() error {
	if err := s.writable(); err != nil {
		return err
	}
	return s.present()
}

// writable is mayWrite without a look at the file system, for what may turn out to write nothing.
func (s *Store) writable() error {
	if s.isClosed() {
		return ErrClosed
	}
	if f := s.failure.Load(); f != nil && f.final {
		return f.err
	}
	if s.worn {
		return s.reopenWriter()
	}
	return nil
}

// present checks that the path still leads to the file that is locked, and beside it to the log that is
// written: otherwise another server could open what stands there now, and both would write into one log, or
// what is acknowledged would go into a log that nobody finds again. Called by who holds the writer.
func (s *Store) present() error {
	if s.lock == nil || leadsTo(s.path, s.locked) && leadsTo(s.path+"-wal", s.logged) {
		return nil
	}
	err := fmt.Errorf("database %s: %w", s.path, ErrMoved)
	// A log that is gone from its directory is still open here, and what is in it belongs into the file.
	if saving := s.writer.Exec("PRAGMA wal_checkpoint(PASSIVE)"); saving != nil {
		err = errors.Join(err, saving)
	}
	s.failure.Store(&failure{err: err, final: true})
	return err
}

func leadsTo(path string, file os.FileInfo) bool {
	there, err := os.Stat(path)
	return err == nil && os.SameFile(file, there)
}

// rollback leaves the writer ready for the next batch. SQLite may have rolled back by itself.
func (s *Store) rollback() {
	if !s.writer.GetAutocommit() {
		if err := s.writer.Exec("ROLLBACK"); err != nil {
			s.worn = true // what it would show the next batch was never committed
		}
	}
}

// reopenWriter gives the store another writing connection, and paperwork others, too: where a descriptor
// is gone, no retry on it succeeds. It begins with what is committed.
func (s *Store) reopenWriter() error {
	fresh, err := s.medium.open(true)
	if err != nil {
		return fmt.Errorf("database %s: opened again: %w", s.path, explain(s.path, err))
	}
	s.writer.Close() // of no use any more, whatever it says
	s.writer, s.worn = fresh, false
	s.db.SetMaxIdleConns(0)
	s.db.SetMaxIdleConns(readersMax)
	return nil
}

// fault keeps why a write failed, says what an operator must know of it, and makes what room there
// is: the write-ahead log is begun anew once its pages are in the file, which is the server's to do. Called by
// who holds the writer.
func (s *Store) fault(err error) error {
	explained := explain(s.path, err)
	switch {
	case errors.Is(explained, ErrCorrupt):
		s.failure.Store(&failure{err: explained, final: true})
	case errors.Is(err, sqlite3.IOERR) || errors.Is(err, sqlite3.FULL):
		if s.lock != nil {
			if checkpoint := s.writer.Exec("PRAGMA wal_checkpoint(PASSIVE)"); checkpoint != nil {
				explained = errors.Join(explained, checkpoint)
			}
		}
		s.failure.Store(&failure{err: explained})
		s.worn = s.worn || errors.Is(err, sqlite3.IOERR)
	}
	return explained
}

// tryWriting writes about as much as a batch does, to learn whether it can be done again: a record of no
// command, which counts as forgotten and is deleted with those.
func (s *Store) tryWriting() error {
	return s.writingAll("trying to write", func() error {
		var nobody [32]byte
		return s.writer.exec("put_record_any", nobody[:], nobody[:], make([]byte, trialBytes), nil, inventory.Instant(0))
	})
}

// trim begins the write-ahead log anew when it has grown past its bound, or could not be when the file
// was opened. Readers that follow each other closely keep SQLite from doing so by itself, so for this
// moment there are none.
func (s *Store) trim(ctx context.Context) error {
	if !s.doubtful.Load() && size(s.path+"-wal") <= s.walMax {
		return nil
	}
	taken := make([]*conn, 0, readersMax)
	defer func() {
		for _, c := range taken {
			s.readers <- c
		}
	}()
	for range readersMax {
		select {
		case c := <-s.readers:
			taken = append(taken, c)
		case <-s.closed:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.write.Lock()
	defer s.write.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	return s.restartLog()
}

// restartLog copies back what is in the log, flushes it and begins the log anew. While somebody outside
// reads it is not done, which is no error. Called by who holds the writer.
func (s *Store) restartLog() error {
	if err := s.writer.BusyTimeout(checkpointWait); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	busy, err := pragma(s.writer.Conn, "wal_checkpoint(TRUNCATE)")
	if errors.Is(err, sqlite3.BUSY) {
		busy, err = "1", nil
	}
	if err == nil && busy == "0" {
		s.doubtful.Store(false)
	}
	return errors.Join(err, s.writer.BusyTimeout(busyTimeout))
}

// settleClock shortens the lives of holds that were made when the clock was ahead: after it has
// stepped back they would outlive their caps by as much as it stepped. On other days it does nothing.
func (s *Store) settleClock() error {
	var now inventory.Instant
	err := s.writingAll("settling the clock", func() (err error) {
		if now, err = s.writer.now(); err != nil {
			return err
		}
		for _, name := range []string{"settle_lines_all", "settle_holds_all"} {
			if err := s.writer.exec(name, now+clockSlack, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		s.swept = now
	}
	return err
}

// watchClock notices when the clock has stepped back since the last sweep, or since the file was
// opened. What could not be settled is noticed again by the next.
func (s *Store) watchClock(now inventory.Instant) error {
	if now+clockSlack < s.swept {
		return s.settleClock()
	}
	s.swept = now
	return nil
}
