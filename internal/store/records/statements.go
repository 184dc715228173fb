package records

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed queries/*.sql
var files embed.FS

// blockMark begins a named statement in a file of SQL.
const blockMark = "-- name: "

// statements are the SQL of this package by name.
type statements map[string]string

// load reads every embedded file, putting the store's clock and earlier blocks in the places that name them.
func load(clock string) statements {
	s := statements{}
	names, err := fs.Glob(files, "queries/*.sql")
	if err != nil {
		panic("records: " + err.Error()) // the pattern is a constant
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic("records: " + err.Error()) // the file is part of the binary
		}
		s.add(string(text), clock)
	}
	return s
}

// add takes one file's blocks; what stands before the first is the file's contract.
func (s statements) add(text, clock string) {
	known := []string{"{clock}", clock}
	for _, block := range strings.Split("\n"+text, "\n"+blockMark)[1:] {
		name, body, _ := strings.Cut(block, "\n")
		name = strings.TrimSpace(name)
		body = strings.NewReplacer(known...).Replace(strings.TrimSpace(body))
		if s[name] != "" {
			panic("records: two statements are named " + name)
		}
		s[name] = body
		known = append(known, "{"+name+"}", body)
	}
}

// named returns a statement. A name that no file has is a fault of this package, so it does not go unnoticed.
func (s statements) named(name string) string {
	text, ok := s[name]
	if !ok {
		panic("records: no statement is named " + name)
	}
	return text
}
