package sqlite

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ncruces/go-sqlite3/vfs"
)

// written is a file that notes each write.
type written struct {
	vfs.File
	data   []byte
	writes int
	synced int // bytes at the last sync
	fail   error
}

func (w *written) WriteAt(p []byte, off int64) (int, error) {
	if w.fail != nil {
		return 0, w.fail
	}
	w.writes++
	if need := int(off) + len(p); need > len(w.data) {
		w.data = append(w.data, make([]byte, need-len(w.data))...)
	}
	return copy(w.data[off:], p), nil
}

func (w *written) ReadAt(p []byte, off int64) (int, error) { return copy(p, w.data[off:]), nil }
func (w *written) Size() (int64, error)                    { return int64(len(w.data)), nil }
func (w *written) Truncate(size int64) error               { w.data = w.data[:size]; return nil }
func (w *written) Sync(vfs.SyncFlag) error                 { w.synced = len(w.data); return nil }

func frameHeader(commit byte) []byte {
	h := make([]byte, walFrameHeaderSize)
	h[7] = commit
	return h
}

func put(t *testing.T, f vfs.File, p []byte, off int64) {
	t.Helper()
	if n, err := f.WriteAt(p, off); err != nil || n != len(p) {
		t.Fatal(n, err)
	}
}

func TestPromise7ATransactionIsInTheLogBeforeItIsSeen(t *testing.T) {
	under := new(written)
	f := &walFile{File: under}
	page := bytes.Repeat([]byte{7}, 512)
	const frame = walFrameHeaderSize + 512
	for i := range int64(3) {
		put(t, f, frameHeader(0), i*frame)
		put(t, f, page, i*frame+walFrameHeaderSize)
	}
	if under.writes != 0 {
		t.Errorf("%d writes before the transaction ended", under.writes)
	}
	put(t, f, frameHeader(9), 3*frame)
	if under.writes != 0 {
		t.Error("the last header was written without its page")
	}
	put(t, f, page, 3*frame+walFrameHeaderSize)
	if under.writes != 1 || len(under.data) != 4*frame {
		t.Errorf("%d writes and %d bytes after a transaction of 4 frames, want 1 and %d", under.writes, len(under.data), 4*frame)
	}
}

func TestPromise7WhateverElseIsAskedOfTheLogComesAfterItsWrites(t *testing.T) {
	header := frameHeader(0)
	for name, ask := range map[string]func(vfs.File) error{
		"sync": func(f vfs.File) error { return f.Sync(0) },
		"size": func(f vfs.File) error { _, err := f.Size(); return err },
		"read": func(f vfs.File) error {
			got := make([]byte, len(header))
			_, err := f.ReadAt(got, 0)
			if !bytes.Equal(got, header) {
				return errors.New("the read does not see the write before it")
			}
			return err
		},
		"truncate":          func(f vfs.File) error { return f.Truncate(walFrameHeaderSize) },
		"a write elsewhere": func(f vfs.File) error { _, err := f.WriteAt([]byte{1}, 4096); return err },
	} {
		under := new(written)
		f := &walFile{File: under}
		put(t, f, header, 0)
		if err := ask(f); err != nil {
			t.Error(name, err)
		}
		if under.writes != 1 {
			t.Errorf("%s: %d writes reached the file before, want 1", name, under.writes)
		}
	}
	under := new(written)
	f := &walFile{File: under}
	put(t, f, header, 0)
	if err := f.Sync(0); err != nil || under.synced != walFrameHeaderSize {
		t.Errorf("a sync covered %d bytes (%v), want %d", under.synced, err, walFrameHeaderSize)
	}
}

func TestPromise7AWriteThatFailsLaterFailsTheTransaction(t *testing.T) {
	under := &written{fail: errors.New("no room")}
	f := &walFile{File: under}
	put(t, f, frameHeader(0), 0)
	if err := f.Sync(0); err == nil {
		t.Error("a sync succeeds although what it was to flush could not be written")
	}
	put(t, f, frameHeader(1), walFrameHeaderSize)
	if _, err := f.WriteAt(make([]byte, 512), 2*walFrameHeaderSize); err == nil {
		t.Error("the last page of a transaction is taken although nothing could be written")
	}
}
