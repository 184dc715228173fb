package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// call runs a command line in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &errs})
	return code, out.String(), errs.String()
}

// mustCall is call for what has to succeed.
func mustCall(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := call(t, args...)
	if code != exitOK {
		t.Fatalf("rowlock %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// clean removes every setting from the environment of a test.
func clean(t *testing.T) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, envPrefix) {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
}

func settingsAt(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rowlock.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsWinOverTheEnvironmentAndThatOverTheFile(t *testing.T) {
	clean(t)
	file := settingsAt(t, "listen = \"127.0.0.1:1\"\ndb = \"sqlite:from-file.db\"\nlog_level = \"warn\"\ncors_origin = [\"https://a.example.com\", \"https://b.example.com\"]\nlimit_per_address = 2.5\n")
	t.Setenv("ROWLOCK_DB", "sqlite:from-environment.db")
	t.Setenv("ROWLOCK_LISTEN", "127.0.0.1:2")
	out := mustCall(t, "serve", "--config", file, "--listen", "127.0.0.1:3", "--check-config")
	for _, want := range []string{
		`listen = "127.0.0.1:3"`, `db = "sqlite:from-environment.db"`, `log_level = "warn"`,
		`cors_origin = ["https://a.example.com", "https://b.example.com"]`, `limit_per_address = 2.5`, `log_format = "text"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

func TestTheFileMayBeNamedByTheEnvironment(t *testing.T) {
	clean(t)
	t.Setenv("ROWLOCK_CONFIG", settingsAt(t, `db = "sqlite:elsewhere.db"`))
	if out := mustCall(t, "serve", "--check-config"); !strings.Contains(out, "sqlite:elsewhere.db") {
		t.Errorf("the file of ROWLOCK_CONFIG is not read:\n%s", out)
	}
}

func TestWhatCheckConfigPrintsIsAFileThatSaysTheSame(t *testing.T) {
	clean(t)
	first := mustCall(t, "serve", "--check-config", "--cors-origin", "*", "--limit-per-address", "7", "--log-format", "json")
	if again := mustCall(t, "serve", "--check-config", "--config="+settingsAt(t, first)); again != first {
		t.Errorf("printed\n%s\nread back as\n%s", first, again)
	}
}

func TestBadSettingsAreNamedInOneLineAndEndWithTwo(t *testing.T) {
	clean(t)
	typo := settingsAt(t, `lisen = "127.0.0.1:8080"`)
	mistyped := settingsAt(t, `listen = 8080`)
	broken := settingsAt(t, "listen = \n= \"")
	capital := settingsAt(t, "Listen = \"127.0.0.1:8080\"")
	both := settingsAt(t, "db = \"sqlite:a.db\"\nDB = \"sqlite:b.db\"")
	nested := settingsAt(t, "[serve]\nlisten = \"127.0.0.1:8080\"")
	utf16 := settingsAt(t, "\xff\xfel\x00i\x00s\x00t\x00e\x00n\x00")
	utf16Empty := settingsAt(t, "\xff\xfe")
	fine := settingsAt(t, "listen = \"127.0.0.1:8080\"")
	refuseSettings(t, []badCall{
		{[]string{"serve", "--listen", "8080"}, "--listen"},
		{[]string{"serve", "--listen", "127.0.0.1:http"}, "--listen"},
		{[]string{"serve", "--db", "sqlite:"}, "--db"},
		{[]string{"serve", "--db", "rowlock.db"}, "--db"},
		{[]string{"serve", "--db", "sqlite::memory:"}, "--db"},
		{[]string{"serve", "--db", "sqlite:a.db?mode=ro"}, "--db"},
		{[]string{"serve", "--db", "postgres://user:hunter2@db.example.com/x"}, "no store for postgres:"},
		{[]string{"serve", "--holds", "redis://:hunter2@db.example.com"}, "no store for redis:"},
		{[]string{"serve", "--cors-origin", "https://a.example.com/path"}, "--cors-origin"},
		{[]string{"serve", "--cors-origin", "a.example.com"}, "--cors-origin"},
		{[]string{"serve", "--limit-per-address", "-1"}, "--limit-per-address"},
		{[]string{"serve", "--limit-per-address", "NaN"}, "--limit-per-address"},
		{[]string{"serve", "--log-level", "loud"}, "--log-level"},
		{[]string{"serve", "--log-format", "xml"}, "--log-format"},
		{[]string{"serve", "--config", typo, "--check-config"}, `"lisen"`},
		{[]string{"serve", "--config", mistyped, "--check-config"}, "listen"},
		{[]string{"serve", "--config", broken, "--check-config"}, "--config"},
		{[]string{"serve", "--config", filepath.Join(t.TempDir(), "absent.toml")}, "--config"},
		{[]string{"serve", "--config", capital, "--check-config"}, `"Listen"`},
		{[]string{"serve", "--config", both, "--check-config"}, `"DB"`},
		{[]string{"serve", "--config", nested, "--check-config"}, `"serve"`},
		{[]string{"serve", "--config", utf16, "--check-config"}, "UTF-8"},
		{[]string{"serve", "--config", utf16Empty, "--check-config"}, "UTF-8"},
		{[]string{"serve", "--config", fine, "--config", fine, "--check-config"}, "--config: is given 2 times"},
		{[]string{"--config=" + fine, "serve", "--config", fine, "--check-config"}, "--config: is given 2 times"},
		{[]string{"serve", "--config=", "--check-config"}, "--config"},
		{[]string{"serve", "--nonsense"}, "--nonsense"},
		{[]string{"sell"}, "sell"},
		{[]string{"audit", "--db", "sqlite:" + filepath.Join(t.TempDir(), "absent.db")}, "--db"},
		{[]string{"audit", "--db", "sqlite:" + t.TempDir()}, "--db"},
		{[]string{"race", "--url", "http://127.0.0.1:1"}, "--key"},
		{[]string{"race", "--url", "127.0.0.1:1", "--key", "rk_x"}, "--url"},
		{[]string{"race", "--url", "http://127.0.0.1:1", "--key", "rk_x", "--db", "sqlite:a.db"}, "--db"},
		{[]string{"race", "--only", "sack-race"}, "--only"},
		{[]string{"race", "--report", filepath.Join(t.TempDir(), "absent", "race.html")}, "--report"},
		{[]string{"bench", "--only", "picnic"}, "--only"},
		{[]string{"bench", "--connections", "513"}, "--connections"},
		{[]string{"bench", "--duration", "0s"}, "--duration"},
		{[]string{"bench", "--duration", "6m"}, "--duration"},
		{[]string{"key", "create", "--organizer", "", "--db", "sqlite:a.db"}, "--organizer"},
		{[]string{"completion", "tcsh"}, "bash"},
	})
}

func TestBadSettingsOfFilesAndVenuesAreNamed(t *testing.T) {
	clean(t)
	refuseSettings(t, []badCall{
		{[]string{"demo", "--seats", "9"}, "--seats"},
		{[]string{"demo", "--seats", "0"}, "--seats"},
		{[]string{"demo", "--seats", "200001"}, "--seats"},
		{[]string{"demo", "--venue", "circus"}, "--venue"},
		{[]string{"generate", "circus"}, "theatre"},
		{[]string{"generate", "bowl", "--seats", "9"}, "--seats"},
		{[]string{"generate", "bowl", "--seats", "20", "--to", filepath.Join(t.TempDir(), "absent", "a.json")}, "--to"},
		{[]string{"export", "--db", "sqlite:" + filepath.Join(t.TempDir(), "absent.db")}, "--map"},
		{[]string{"export", "--map", "map_1", "--venue", "ven_1"}, "--event"},
		{[]string{"export", "--map", "map_1", "--map-only"}, "--map-only"},
		{[]string{"export", "--map", "map_1", "--db", "sqlite:" + filepath.Join(t.TempDir(), "absent.db")}, "--db"},
		{[]string{"import", "absent.json", "--check"}, "<file>"},
		{[]string{"import", "absent.json"}, "--organizer"},
		{[]string{"import", "absent.json", "--organizer", "A", "--db", "sqlite:" + filepath.Join(t.TempDir(), "absent.db")}, "--db"},
		{[]string{"import", "absent.json", "--url", "http://127.0.0.1:1"}, "--key"},
		{[]string{"import", "absent.json", "--url", "http://127.0.0.1:1", "--key", "rk_x", "--organizer", "A"}, "--organizer"},
		{[]string{"import", "absent.json", "--check", "--starts-at", "tomorrow"}, "--starts-at"},
	})
}

// badCall is a command line that cannot be used, and what its error names.
type badCall struct {
	args []string
	want string
}

func refuseSettings(t *testing.T, calls []badCall) {
	t.Helper()
	for _, c := range calls {
		code, out, errs := call(t, c.args...)
		line := strings.TrimSuffix(errs, "\n")
		if code != exitSetting || !strings.Contains(line, c.want) || strings.Contains(line, "\n") || out != "" {
			t.Errorf("rowlock %s: exit code %d, want one line with %q, got %q%s", strings.Join(c.args, " "), code, c.want, errs, out)
		}
		if strings.Contains(errs, "hunter2") {
			t.Errorf("rowlock %s repeats a password: %s", strings.Join(c.args, " "), errs)
		}
	}
}

func TestARaceNeverTakesTheDatabaseOfTheServersSettings(t *testing.T) {
	clean(t)
	t.Setenv("ROWLOCK_DB", "postgres://no-such-store")
	t.Setenv("ROWLOCK_CONFIG", settingsAt(t, `db = "redis://no-such-store"`))
	// Were the setting taken, this build could not open it.
	for _, verb := range []string{"race", "bench"} {
		if code, _, errs := call(t, verb, "--list"); code != exitOK {
			t.Errorf("%s: %s", verb, errs)
		}
	}
	var c targetSettings
	path, cleanUp, err := c.database()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(path, os.TempDir()) {
		t.Errorf("races run on %s", path)
	}
	if err := cleanUp(); err != nil {
		t.Error(err)
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"key", "create", "--help"}} {
		if out := mustCall(t, args...); !strings.Contains(out, "Usage: rowlock") {
			t.Errorf("%v printed %q", args, out)
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	if out := mustCall(t, "version"); !strings.HasPrefix(out, "rowlock ") || !strings.Contains(out, "go1.") {
		t.Errorf("printed %q", out)
	}
}

func TestBashCompletesVerbsFlagsAndShells(t *testing.T) {
	script := mustCall(t, "completion", "bash")
	for line, want := range map[string]string{
		"rowlock ser":                          "serve",
		"rowlock serve --li":                   "--listen --limit-per-address",
		"rowlock key re":                       "revoke",
		"rowlock key create --db sqlite:a --o": "--organizer",
		"rowlock completion f":                 "fish",
	} {
		words := strings.Fields(line)
		cmd := exec.CommandContext(t.Context(), "bash", "-c", script+`
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rowlock; echo "${COMPREPLY[*]}"`, "bash")
		cmd.Args = append(cmd.Args, words...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := strings.TrimSpace(string(out)); got != want {
			t.Errorf("%q is completed to %q, want %q", line, got, want)
		}
	}
}

func TestEveryShellIsOfferedEveryVerb(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := mustCall(t, "completion", shell)
		for _, verb := range []string{"serve", "demo", "race", "bench", "audit", "migrate", "backup", "export", "import", "generate", "revoke", "check-config"} {
			if !strings.Contains(script, verb) {
				t.Errorf("%s completion does not know %s", shell, verb)
			}
		}
	}
}

func TestAnErrorIsOneLine(t *testing.T) {
	if got := oneLine(context.DeadlineExceeded); got != context.DeadlineExceeded.Error() {
		t.Errorf("got %q", got)
	}
	if got := oneLine(badSetting("--db", "a\nb\r\nc")); strings.ContainsAny(got, "\r\n") || !strings.Contains(got, "--db: a; b; c") {
		t.Errorf("got %q", got)
	}
}
