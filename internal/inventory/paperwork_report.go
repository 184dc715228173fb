package inventory

import (
	"context"
	"strconv"
)

// Log lists an event's log for its organizer, after an entry's number (empty: from the start). Next
// is the last number of a full page, and empty when the log ends here. A cursor that is no number is Invalid.
func (s *Service) Log(ctx context.Context, c Caller, event string, p Page) (*LogView, error) {
	e, err := s.owned(ctx, c, event)
	if err != nil {
		return nil, err
	}
	after := int64(0)
	if p.After != "" {
		if after, err = strconv.ParseInt(p.After, 10, 64); err != nil || after < 0 {
			return nil, invalid("?after", faultInvalid, "A log's cursor is the number of an entry.")
		}
	}
	entries, err := s.catalogue.Log(ctx, event, after, p.Limit)
	if err != nil {
		return nil, paperError("read log", err)
	}
	l, err := s.layout(ctx, e)
	if err != nil {
		return nil, paperError("read map", err)
	}
	var lines []Line
	for i := range entries {
		for _, u := range entries[i].Units {
			lines = append(lines, Line{Unit: u.Unit})
		}
	}
	if _, l, err = s.naming(ctx, e, l, lines); err != nil {
		return nil, paperError("read event", err)
	}
	view := &LogView{Entries: entries, Layout: l}
	if n := len(entries); n > 0 && n == p.Limit {
		view.Next = strconv.FormatInt(entries[n-1].Number, 10)
	}
	return view, nil
}

// Report sums an event up for its organizer, units and money at one position as nearly as two reads
// allow. Parts are the map's sections, then its areas, in the map's order.
func (s *Service) Report(ctx context.Context, c Caller, event string) (*ReportView, error) {
	e, err := s.current(ctx, c, event)
	if err != nil {
		return nil, err
	}
	var board *Board
	e, l, err := s.inStep(ctx, e, func() (int64, error) {
		if board, err = s.store.Board(ctx, event); err != nil {
			return 0, err
		}
		return board.Revision, nil
	})
	if err != nil {
		return nil, paperError("read board", err)
	}
	sums, err := s.catalogue.Sums(ctx, event)
	if err != nil {
		return nil, paperError("sum orders", err)
	}
	view := &ReportView{Event: e, Position: board.Position.String(), Sums: sums, Parts: reportParts(board, l)}
	for _, part := range view.Parts {
		view.Units.add(part.AreaState)
	}
	return view, nil
}

// reportParts counts the units of each section and area. A section's seats stand together in the
// map's seat order, so one pass does.
func reportParts(b *Board, l *Layout) []ReportPart {
	var parts []ReportPart
	plan := l.Plan
	count := func(unit Unit) {
		u := b.at(unit)
		parts[len(parts)-1].add(AreaState{Capacity: u.Capacity, Held: u.Held, Reserved: u.Reserved})
	}
	for i := range plan.Seats {
		if key := plan.Seats[i].Section; len(parts) == 0 || parts[len(parts)-1].Key != key {
			parts = append(parts, ReportPart{Key: key})
		}
		count(l.Unit(i))
	}
	for i := range plan.Areas {
		parts = append(parts, ReportPart{Key: plan.Areas[i].Key})
		count(l.AreaUnit(i))
	}
	return parts
}

// add adds the units of another part.
func (a *AreaState) add(b AreaState) {
	a.Capacity += b.Capacity
	a.Held += b.Held
	a.Reserved += b.Reserved
}
