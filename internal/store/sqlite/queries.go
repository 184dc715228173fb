package sqlite

import (
	_ "embed"
	"strings"
)

//go:embed queries.sql
var queriesSQL string

// queries are the statements of queries.sql by name.
var queries = namedQueries(queriesSQL)

func namedQueries(file string) map[string]string {
	named := make(map[string]string)
	for i, block := range strings.Split(file, "-- name: ") {
		if i == 0 {
			continue // the contract
		}
		name, text, _ := strings.Cut(block, "\n")
		named[strings.TrimSpace(name)] = strings.TrimSpace(text)
	}
	return named
}
