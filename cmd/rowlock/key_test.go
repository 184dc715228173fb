package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3/driver"
)

func TestAKeyThatCannotBeMadeLeavesNoOrganizerBehind(t *testing.T) {
	clean(t)
	path := filepath.Join(t.TempDir(), "a.db")
	create := []string{"key", "create", "--organizer", "Example House", "--db", "sqlite:" + path}
	mustCall(t, "migrate", "--db", "sqlite:"+path)
	db, err := driver.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	organizers := func() (n int) {
		if err := db.QueryRow("SELECT count(*) FROM organizers").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	// The disk is full after the organizer, as it were.
	if _, err := db.Exec("CREATE TRIGGER full BEFORE INSERT ON api_keys BEGIN SELECT RAISE(ABORT, 'full'); END"); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := call(t, create...); code != exitFailure || out != "" || strings.Contains(errs, "is new") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
	if n := organizers(); n != 0 {
		t.Errorf("%d organizers without a key", n)
	}
	if _, err := db.Exec("DROP TRIGGER full"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second key is of the same organizer
		mustCall(t, create...)
	}
	if n := organizers(); n != 1 {
		t.Errorf("%d organizers of one name", n)
	}
}

func TestNamesOfOrganizersAndKeysAreOneLine(t *testing.T) {
	clean(t)
	db := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	mustCall(t, "migrate", "--db", db)
	for _, name := range []string{"", " ", "a\nb", "a\u2028b", "\x1b[31m", strings.Repeat("a", keyNameMax+1)} {
		for setting, other := range map[string]string{"--organizer": "--name", "--name": "--organizer"} {
			if code, _, errs := call(t, "key", "create", setting, name, other, "House", "--db", db); code != exitSetting || !strings.Contains(errs, setting) {
				t.Errorf("%s %q: exit code %d, %s", setting, name, code, errs)
			}
		}
	}
	mustCall(t, "key", "create", "--organizer", strings.Repeat("\u00fc", keyNameMax), "--db", db)
}
