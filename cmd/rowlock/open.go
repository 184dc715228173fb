package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// sqliteScheme begins the URL of the embedded store.
const sqliteScheme = "sqlite:"

// databasePath turns a store's URL into the path of its file. The error names the setting, and of
// the URL only the scheme, for the rest may hold a password.
func databasePath(setting, url string) (string, error) {
	path, embedded := strings.CutPrefix(url, sqliteScheme)
	switch {
	case embedded && path == "":
		return "", badSetting(setting, "sqlite: needs the path of a file, as in sqlite:rowlock.db")
	case embedded && (strings.HasPrefix(path, ":") || strings.ContainsAny(path, "?#\x00")):
		return "", badSetting(setting, "sqlite: takes the plain path of a file, without options")
	case embedded:
		return path, nil
	case strings.Contains(url, ":"):
		return "", badSetting(setting, "this build has no store for %s; it has sqlite:PATH", scheme(url))
	}
	return "", badSetting(setting, "is no store's URL; this build has sqlite:PATH")
}

// existingPath is databasePath for verbs that never make a database.
func existingPath(setting, url string) (string, error) {
	path, err := databasePath(setting, url)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", badSetting(setting, "there is no database %s; rowlock serve or rowlock migrate makes one", path)
	}
	if err != nil {
		return "", badSetting(setting, "%w", err)
	}
	if info.IsDir() {
		return "", badSetting(setting, "%s is a directory", path)
	}
	return path, nil
}

// scheme is what may be repeated of a URL.
func scheme(url string) string {
	s, _, found := strings.Cut(url, ":")
	if !found || len(s) > 20 {
		return "that URL"
	}
	return s + ":"
}

// aboutDatabase names the setting in a store's error, which has the path and the remedy in it.
func aboutDatabase(err error) error { return fmt.Errorf("--db: %w", err) }
