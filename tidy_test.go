// Package rowlock_test holds the laws of the house that a test can hold: which package may import
// which, what must not be called where, how long things may be, and what every file has to say of
// itself. CONTRIBUTING.md states them for people.
//
// Each law is a function from sources to violations, so that each can be shown to fail:
// TestEveryLawCanFail plants one violation a law.
package rowlock_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rowlock/rowlock"

// floors says on which floor each package stands. Imports point strictly downwards. A package that
// is not in the table fails the test: a new one is a decision, made here and in ARCHITECTURE.md.
var floors = map[string]int{
	"client":                   0,
	"internal/seatmap":         0,
	"internal/live":            0,
	"internal/waitingroom":     0,
	"internal/web":             0,
	"internal/ticket":          0,
	"internal/inventory":       1,
	"internal/checkout":        2,
	"internal/office":          2,
	"internal/store/sqlite":    3,
	"internal/store/postgres":  3,
	"internal/store/redis":     3,
	"internal/store/records":   3,
	"internal/store/storetest": 3,
	"internal/payment":         3,
	"internal/delivery":        3,
	"internal/api":             3,
	"internal/document":        4,
	"internal/race":            4,
	"cmd/rowlock":              5,
}

// testRooms hold tests only, and may import anything.
var testRooms = []string{"", "test", "test/sim"}

const (
	functionLinesMax = 70
	fileLinesMax     = 800
)

// forbiddenNames are packages named after a layer or after nothing.
var forbiddenNames = []string{
	"config", "errors", "models", "types", "dto", "repository", "usecase", "middleware",
	"util", "utils", "common", "log", "clock", "mocks", "helpers",
}

// pkg is what the laws need of `go list -json`.
type pkg struct {
	ImportPath string
	Name       string
	Doc        string
	GoFiles    []string
	Imports    []string
}

// source is one file of the tree; Path is slash-separated and relative to the root.
type source struct {
	Path string
	Text string
}

func TestImportsPointToLowerFloors(t *testing.T) {
	report(t, brokenFloors(listPackages(t)))
}

func TestEveryPackageIsDocumentedAndWellNamed(t *testing.T) {
	report(t, badPackages(listPackages(t)))
}

func TestSourcesKeepTheLaws(t *testing.T) {
	files := readTree(t)
	for _, law := range laws() {
		t.Run(law.name, func(t *testing.T) {
			for _, f := range files {
				report(t, law.check(f))
			}
		})
	}
}

func report(t *testing.T, violations []string) {
	t.Helper()
	for _, v := range violations {
		t.Error(v)
	}
}

// law is one rule over single files.
type law struct {
	name  string
	check func(source) []string
	// Files that break and that keep the law, for TestEveryLawCanFail.
	broken, kept source
}

func laws() []law {
	const head = "package p\n\n"
	long := strings.Repeat("\t_ = 0\n", functionLinesMax)
	return []law{
		{
			name: "functions fit a page", check: longFunctions,
			broken: source{"internal/p/a.go", head + "func f() {\n" + long + "}\n"},
			kept:   source{"internal/p/a.go", head + "func f() {\n" + long[:len("\t_ = 0\n")*(functionLinesMax-2)] + "}\n"},
		},
		{
			name: "files fit a sitting", check: longFiles,
			broken: source{"internal/p/a.go", head + strings.Repeat("// x\n", fileLinesMax)},
			kept:   source{"internal/p/a.go", head + strings.Repeat("// x\n", fileLinesMax-2)},
		},
		{
			name: "tests do not sleep", check: sleepingTests,
			broken: source{"internal/p/a_test.go", head + "import \"time\"\n\nfunc f() { time.Sleep(1) }\n"},
			kept:   source{"internal/p/a_test.go", head + "import (\n\"testing/synctest\"\n\"time\"\n)\n\nfunc f() { synctest.Wait(); time.Sleep(1) }\n"},
		},
		{
			name: "tests are not skipped", check: skippedTests,
			broken: source{"internal/p/a_test.go", head + "func f(t *testing.T) { t.Skip(\"no server\") }\n"},
			kept:   source{"internal/p/a_test.go", head + "func f(t *testing.T) { t.Fatal(\"no server: install it\") }\n"},
		},
		{
			name: "the house does not print or exit", check: printsAndExits,
			broken: source{"internal/p/a.go", head + "import \"fmt\"\n\nfunc f() { fmt.Println() }\n"},
			kept:   source{"cmd/rowlock/a.go", head + "import \"os\"\n\nfunc f() { os.Exit(1) }\n"},
		},
		{
			name: "nothing registers itself", check: initFunctions,
			broken: source{"internal/p/a.go", head + "func init() {}\n"},
			kept:   source{"internal/p/a.go", head + "type t int\n\nfunc (t) init() {}\n"},
		},
		{
			name: "handlers keep their request's context", check: rootContexts,
			broken: source{"internal/api/a.go", head + "import \"context\"\n\nvar c = context.Background()\n"},
			kept:   source{"internal/api/a_test.go", head + "import \"context\"\n\nvar c = context.Background()\n"},
		},
		{
			name: "time in SQL is the database's, and read where it is judged", check: applicationClock,
			broken: source{"internal/store/sqlite/a.sql", "-- a\nSELECT datetime('now');\n"},
			kept:   source{"internal/store/sqlite/a.sql", "-- a, not CURRENT_TIMESTAMP\nSELECT 1;\n"},
		},
		{
			name: "queries open with their contract", check: missingContracts,
			broken: source{"internal/store/sqlite/a.sql", "SELECT 1;\n"},
			kept:   source{"internal/store/redis/a.lua", "-- Claims units.\nreturn 1\n"},
		},
	}
}

func TestEveryLawCanFail(t *testing.T) {
	for _, l := range laws() {
		if len(l.check(l.broken)) == 0 {
			t.Errorf("%q sees nothing in a file that breaks it", l.name)
		}
		if v := l.check(l.kept); len(v) > 0 {
			t.Errorf("%q complains of a file that keeps it: %v", l.name, v)
		}
	}
}

func TestBannedCallsAreSeenUnderEveryName(t *testing.T) {
	for _, text := range []string{
		"import f \"fmt\"\n\nfunc g() { f.Printf(\"\") }\n",
		"import \"log\"\n\nfunc g() { log.Fatalf(\"\") }\n",
		"import \"os\"\n\nfunc g() { os.Exit(1) }\n",
		"func g() { println() }\n",
	} {
		if len(printsAndExits(source{"internal/p/a.go", "package p\n\n" + text})) != 1 {
			t.Errorf("not seen:\n%s", text)
		}
	}
}

func TestFloorsCanFail(t *testing.T) {
	at := func(name string, imports ...string) pkg {
		p := pkg{ImportPath: module + "/" + name, GoFiles: []string{"a.go"}}
		for _, i := range imports {
			p.Imports = append(p.Imports, module+"/"+i)
		}
		return p
	}
	for what, p := range map[string]pkg{
		"an import upwards":          at("internal/inventory", "internal/store/sqlite"),
		"an import beside":           at("internal/api", "internal/store/sqlite"),
		"a package not in the table": at("internal/surprise"),
		"an import not in the table": at("cmd/rowlock", "internal/surprise"),
	} {
		if len(brokenFloors([]pkg{p})) == 0 {
			t.Errorf("%s is not seen", what)
		}
	}
	if v := brokenFloors([]pkg{at("internal/api", "internal/inventory", "client"), at("test", "cmd/rowlock")}); len(v) > 0 {
		t.Errorf("imports downwards are refused: %v", v)
	}
}

func TestPackageLawsCanFail(t *testing.T) {
	good := pkg{ImportPath: module + "/internal/seatmap", Name: "seatmap", Doc: "Package seatmap holds maps.", GoFiles: []string{"a.go"}}
	if v := badPackages([]pkg{good}); len(v) > 0 {
		t.Fatalf("a good package is refused: %v", v)
	}
	silent, misnamed := good, good
	silent.Doc = ""
	misnamed.Name = "util"
	for _, p := range []pkg{silent, misnamed} {
		if len(badPackages([]pkg{p})) == 0 {
			t.Errorf("not seen: %+v", p)
		}
	}
}

func brokenFloors(packages []pkg) []string {
	var out []string
	for _, p := range packages {
		name := inside(p.ImportPath)
		if slices.Contains(testRooms, name) {
			continue
		}
		floor, known := floors[name]
		if !known {
			out = append(out, fmt.Sprintf("%s stands on no floor: decide on one in tidy_test.go and ARCHITECTURE.md", name))
			continue
		}
		for _, imported := range p.Imports {
			if imported != module && !strings.HasPrefix(imported, module+"/") {
				continue
			}
			below, known := floors[inside(imported)]
			if !known || below >= floor {
				out = append(out, fmt.Sprintf("%s (floor %d) may not import %s", name, floor, inside(imported)))
			}
		}
	}
	return out
}

func inside(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

func badPackages(packages []pkg) []string {
	var out []string
	for _, p := range packages {
		name := inside(p.ImportPath)
		if len(p.GoFiles) > 0 && p.Doc == "" {
			out = append(out, name+" has no package comment")
		}
		if slices.Contains(forbiddenNames, p.Name) || slices.Contains(forbiddenNames, path.Base(name)) {
			out = append(out, name+" is named after a layer: a package hides a decision")
		}
	}
	return out
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Name,Doc,GoFiles,Imports", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var all []pkg
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
	if len(all) < 2 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

// readTree reads what the laws speak of, without what is not ours.
func readTree(t *testing.T) []source {
	t.Helper()
	var files []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && name != "."
			if hidden || d.Name() == "testdata" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".sql", ".lua"}, filepath.Ext(name)) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, source{Path: filepath.ToSlash(name), Text: string(text)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parse reads a Go file; nil for other files. What does not parse is a violation of its own.
func (s source) parse() (*token.FileSet, *ast.File, []string) {
	if !strings.HasSuffix(s.Path, ".go") {
		return nil, nil, nil
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, s.Path, s.Text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, []string{err.Error()}
	}
	return set, f, nil
}

func (s source) isTest() bool { return strings.HasSuffix(s.Path, "_test.go") }

// imports maps the names by which a file knows packages to their paths.
func imports(f *ast.File) map[string]string {
	names := make(map[string]string)
	for _, i := range f.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = p
	}
	return names
}

// calls lists the functions that a file calls, as "path.Name" for those of packages and ".Name" for
// methods and builtins, with the place.
func (s source) calls(visit func(name, place string)) []string {
	set, f, broken := s.parse()
	if f == nil {
		return broken
	}
	known := imports(f)
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		place := set.Position(call.Pos()).String()
		switch callee := call.Fun.(type) {
		case *ast.Ident:
			visit("."+callee.Name, place)
		case *ast.SelectorExpr:
			of := ""
			if x, ok := callee.X.(*ast.Ident); ok {
				of = known[x.Name]
			}
			visit(of+"."+callee.Sel.Name, place)
		}
		return true
	})
	return nil
}

func longFunctions(s source) []string {
	set, f, out := s.parse()
	if f == nil {
		return out
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from, to := set.Position(fn.Pos()), set.Position(fn.End())
		if lines := to.Line - from.Line + 1; lines > functionLinesMax {
			out = append(out, fmt.Sprintf("%s: %s has %d lines, more than %d", from, fn.Name.Name, lines, functionLinesMax))
		}
	}
	return out
}

func longFiles(s source) []string {
	if n := strings.Count(s.Text, "\n"); n > fileLinesMax {
		return []string{fmt.Sprintf("%s has %d lines, more than %d", s.Path, n, fileLinesMax)}
	}
	return nil
}

func sleepingTests(s source) []string {
	_, f, out := s.parse()
	if f == nil || !s.isTest() {
		return out
	}
	if slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` }) {
		return nil
	}
	return append(out, s.calls(func(name, place string) {
		if name == "time.Sleep" {
			out = append(out, place+": a test sleeps outside a bubble")
		}
	})...)
}

func skippedTests(s source) []string {
	if !s.isTest() {
		return nil
	}
	var out []string
	broken := s.calls(func(name, place string) {
		if slices.Contains([]string{".Skip", ".Skipf", ".SkipNow"}, name) {
			out = append(out, place+": nothing is skipped; fail with what to install")
		}
	})
	return append(out, broken...)
}

// printsAndExits: only the command talks to a terminal and ends the process.
func printsAndExits(s source) []string {
	if s.isTest() || strings.HasPrefix(s.Path, "cmd/") {
		return nil
	}
	banned := regexp.MustCompile(`^(fmt\.Print(f|ln)?|log\.(Print|Fatal|Panic)(f|ln)?|os\.Exit|\.print|\.println)$`)
	var out []string
	broken := s.calls(func(name, place string) {
		if banned.MatchString(name) {
			out = append(out, fmt.Sprintf("%s: %s belongs in cmd", place, strings.TrimPrefix(name, ".")))
		}
	})
	return append(out, broken...)
}

func initFunctions(s source) []string {
	set, f, out := s.parse()
	if f == nil {
		return out
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			out = append(out, set.Position(fn.Pos()).String()+": init hides an order of events; call it from where it is needed")
		}
	}
	return out
}

func rootContexts(s source) []string {
	if s.isTest() || !strings.HasPrefix(s.Path, "internal/api/") {
		return nil
	}
	var out []string
	broken := s.calls(func(name, place string) {
		if name == "context.Background" || name == "context.TODO" {
			out = append(out, place+": a handler's context is its request's")
		}
	})
	return append(out, broken...)
}

// sqlComment is what the laws on SQL and Lua do not look into.
var sqlComment = regexp.MustCompile(`--[^\n]*`)

// wallClock is a clock that is the transaction's start, the application's, or of seconds. Stores
// read time once, after the locks are held, in microseconds.
var wallClock = regexp.MustCompile(`(?i)\b(current_timestamp|current_time|current_date|now\s*\(|datetime\s*\(\s*'now'|localtimestamp|os\.time)`)

func applicationClock(s source) []string {
	if strings.HasSuffix(s.Path, ".go") {
		return nil
	}
	if found := wallClock.FindString(sqlComment.ReplaceAllString(s.Text, "")); found != "" {
		return []string{fmt.Sprintf("%s reads the clock with %q", s.Path, found)}
	}
	return nil
}

func missingContracts(s source) []string {
	if strings.HasSuffix(s.Path, ".go") || strings.HasPrefix(s.Text, "-- ") {
		return nil
	}
	return []string{s.Path + " does not open with a comment that states its contract"}
}

var testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z0-9]\\w*)`")

// missingTests lists the tests that a document names and no file declares.
func missingTests(document string, files []source) []string {
	var out []string
	for _, m := range testName.FindAllStringSubmatch(document, -1) {
		declared := slices.ContainsFunc(files, func(f source) bool {
			return f.isTest() && strings.Contains(f.Text, "func "+m[1]+"(")
		})
		if !declared {
			out = append(out, "there is no test "+m[1])
		}
	}
	return out
}

func TestTheArchitectureNamesTestsThatExist(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(testName.FindAllString(string(text), -1)) == 0 {
		t.Error("it names none at all")
	}
	report(t, missingTests(string(text), readTree(t)))
	files := []source{{Path: "a_test.go", Text: "func TestThere(t *testing.T) {"}}
	if got := missingTests("`TestThere` and `TestGone`", files); len(got) != 1 {
		t.Errorf("of two names, one of a missing test, %v are reported", got)
	}
}
