package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rowlock/rowlock/internal/document"
)

// readFile reads a file for import. It opens nothing that is reached through a link out of the file's
// own directory, and nothing that is no file.
func readFile(path string) (data []byte, err error) {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, badSetting("<file>", "%w", err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	name := filepath.Base(path)
	// Before it is opened: opening a pipe waits for whoever writes to it.
	info, err := dir.Stat(name)
	switch {
	case err != nil:
		return nil, badSetting("<file>", "%w", err)
	case !info.Mode().IsRegular():
		return nil, badSetting("<file>", "%s is no file", path)
	case info.Size() > document.BytesMax:
		return nil, badSetting("<file>", "%s is longer than %d bytes", path, document.BytesMax)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, badSetting("<file>", "%w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if data, err = io.ReadAll(io.LimitReader(f, document.BytesMax+1)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > document.BytesMax { // it has grown since
		return nil, badSetting("<file>", "%s is longer than %d bytes", path, document.BytesMax)
	}
	return data, nil
}

// writeDocument writes a document to a new file, or to standard output when none is named.
func writeDocument(s streams, to string, data []byte) (err error) {
	if to == "" {
		if _, err := s.out.Write(data); err != nil {
			return fmt.Errorf("write the document: %w", err)
		}
		return nil
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return badSetting("--to", "%w", err) // an export overwrites nothing
	}
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", to, err), os.Remove(to))
	}
	return nil
}
