package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCommand prints the version.
type versionCommand struct{}

// Run implements the verb.
func (c *versionCommand) Run(s streams) error {
	fmt.Fprintf(s.out, "rowlock %s (%s %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// version is what the build says of itself: a tag, or the revision it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
