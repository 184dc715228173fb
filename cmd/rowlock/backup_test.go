package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestABackupGoesToAPlainPathAndToNothingElse(t *testing.T) {
	clean(t)
	t.Chdir(t.TempDir())
	mustCall(t, "migrate", "--db", "sqlite:a.db")
	for _, to := range []string{"sqlite:copy.db", "file:copy.db", ":memory:", "postgres://user:hunter2@db.example.com/x", ""} {
		code, _, errs := call(t, "backup", to, "--db", "sqlite:a.db")
		if code != exitSetting || !strings.Contains(errs, "plain path") && to != "" || strings.Contains(errs, "hunter2") {
			t.Errorf("a copy to %q: exit code %d, %s", to, code, errs)
		}
	}
	for _, to := range []string{"copy.db", "copy-12:30.db"} {
		mustCall(t, "backup", to, "--db", "sqlite:a.db")
		mustCall(t, "audit", "--db", "sqlite:"+to)
	}
	if names, err := filepath.Glob("*"); err != nil || len(names) != 3 {
		t.Errorf("there are %v, %v", names, err)
	}
}

// The steps are those of README.md.
func TestACopyIsPutBackAsTheReadmeTells(t *testing.T) {
	clean(t)
	t.Chdir(t.TempDir())
	s := startServing(t, "--db", "sqlite:rowlock.db")
	mustCall(t, "key", "create", "--organizer", "Kept House")
	mustCall(t, "backup", "copy.db")
	mustCall(t, "key", "create", "--organizer", "Later House")
	if code := s.end(); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, s.log)
	}
	if err := os.Mkdir("aside", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename("rowlock.db"+suffix, "aside/rowlock.db"+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile("copy.db")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("rowlock.db", data, 0o600); err != nil {
		t.Fatal(err)
	}
	again := startServing(t, "--db", "sqlite:rowlock.db")
	mustCall(t, "audit")
	if list := mustCall(t, "key", "list"); !strings.Contains(list, "Kept House") || strings.Contains(list, "Later House") {
		t.Errorf("the keys are\n%s", list)
	}
	if code := again.end(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, again.log)
	}
}
