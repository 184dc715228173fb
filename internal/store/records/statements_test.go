package records

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestStatementsAreWhole(t *testing.T) {
	all := load("1")
	if len(all) < 40 {
		t.Fatalf("only %d statements were found", len(all))
	}
	for name, text := range all {
		if text == "" || strings.ContainsAny(text, "{}") {
			t.Errorf("%s names a block that does not stand before it: %q", name, text)
		}
	}
}

// SQLite numbers $1 by its first use and not by its name, so that any other order would bind the
// arguments of one database differently from the other's.
func TestParametersAreNumberedInTheOrderOfTheirFirstUse(t *testing.T) {
	for name, text := range load("1") {
		if bad := misnumbered(text); bad != "" {
			t.Errorf("%s uses %s too early", name, bad)
		}
	}
	if misnumbered("SELECT $2, $1") == "" || misnumbered("SELECT $1, $1, $2") != "" {
		t.Error("the order is not seen")
	}
}

func misnumbered(text string) string {
	seen := 0
	for _, p := range regexp.MustCompile(`\$\d+`).FindAllString(text, -1) {
		n, err := strconv.Atoi(p[1:])
		if err != nil || n > seen+1 {
			return p
		}
		seen = max(seen, n)
	}
	return ""
}

func TestOneNameIsOneStatement(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the second statement took the first one's place")
		}
	}()
	s := statements{}
	s.add("-- Contract.\n\n-- name: a\nSELECT 1\n\n-- name: a\nSELECT 2\n", "1")
}

func TestAnUnknownStatementDoesNotGoUnnoticed(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a statement that no file has was empty")
		}
	}()
	statements{}.named("none")
}
