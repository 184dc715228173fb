package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rowlock/rowlock/internal/document"
)

// standardInput is the name that stands for what is piped in.
const standardInput = "-"

// readFile reads a file for import, or standard input.
func readFile(s streams, path string) (data []byte, err error) {
	from := s.in
	if path != standardInput {
		f, err := openFile(path)
		if err != nil {
			return nil, badSetting("<file>", "%w", err)
		}
		defer f.Close() // read only: what matters is whether all was read
		from = f
	}
	if data, err = io.ReadAll(io.LimitReader(from, document.BytesMax+1)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > document.BytesMax {
		return nil, badSetting("<file>", "%s is longer than %d bytes", path, document.BytesMax)
	}
	return data, nil
}

// openFile opens nothing that is no file: opening a pipe by its name waits for whoever writes to it.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file; %s reads what is piped in", path, standardInput)
	}
	return os.Open(path)
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
