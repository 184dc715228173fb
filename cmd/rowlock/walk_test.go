package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// walkBlock is the part of README.md that people are told to paste.
var walkBlock = regexp.MustCompile("(?s)<!-- walk[^\n]*\n```sh\n(.*?)```")

func TestTheWalkOfTheReadmeWorksWhenPasted(t *testing.T) {
	clean(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("curl is missing: install it (apt-get install curl)")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := walkBlock.FindSubmatch(readme)
	if block == nil {
		t.Fatal("README.md has no walk")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// As it stands, but in a directory and on a port of its own.
	dir := t.TempDir()
	walk := strings.ReplaceAll(string(block[1]), "127.0.0.1:8080", freeAddress(t))
	walk = strings.Replace(walk, "go build -o rowlock ./cmd/rowlock", "(cd '"+root+"' && go build -o '"+dir+"/rowlock' ./cmd/rowlock)", 1)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -e\ntrap 'kill $server 2>/dev/null || true' EXIT\n"+walk)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := string(out)
	for what, want := range map[string]string{
		"a hold":                    `"state":"live"`,
		"a refusal that names":      `"conflicts":[{"seat":"STALLS-A-3"`,
		"a report of what was sold": `"reserved":4,"free":50,"orders":1,"tickets":4`,
		"an audit":                  "every promise holds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", what, text)
		}
	}
	orders := regexp.MustCompile(`"id":"(ord_\w+)","token"`).FindAllStringSubmatch(text, -1)
	if len(orders) != 2 || orders[0][1] != orders[1][1] {
		t.Errorf("two confirmations gave %v", orders)
	}
	if strings.Contains(text, "rowlock: ") {
		t.Errorf("something failed:\n%s", text)
	}
}

// freeAddress is one that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
