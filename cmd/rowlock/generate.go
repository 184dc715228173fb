package main

import (
	"fmt"

	"github.com/rowlock/rowlock/internal/document"
	"github.com/rowlock/rowlock/internal/seatmap"
)

// generateCommand writes the map of a synthetic venue, for import, tests and load runs.
type generateCommand struct {
	Kind  string `arg:"" enum:"theatre,arena,bowl" help:"Kind of venue: ${enum}."`
	Seats *int   `help:"Seats, 10 to 200000; omitted, the kind's usual number." placeholder:"N"`
	To    string `help:"New file to write to; omitted, standard output." placeholder:"FILE"`
}

// Run implements the verb.
func (c *generateCommand) Run(s streams) error {
	kind := seatmap.Kind(c.Kind)
	seats := usualSeats(kind)
	if c.Seats != nil {
		seats = *c.Seats
	}
	drawing, err := seatmap.Generate(kind, seats)
	if err != nil {
		return badSetting("--seats", "%w", err)
	}
	data, err := drawing.Encode()
	if err != nil {
		return fmt.Errorf("encode the map: %w", err)
	}
	return writeDocument(s, c.To, document.LayOut(data))
}
