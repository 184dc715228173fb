package records

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/internal/inventory"
)

// InsertVenue stores a new venue and sets v.Created. ErrNotFound when there is no such organizer.
func (r *Records) InsertVenue(ctx context.Context, v *inventory.Venue, rec *inventory.Record) error {
	var created inventory.Instant
	err := r.write(ctx, "insert venue", rec, func(t *transaction) error {
		metadata, err := t.checkVenue(v)
		if err != nil {
			return err
		}
		created = t.now
		_, err = t.exec("insert_venue", v.ID, v.Organizer, text(v.Reference), v.Name, metadata, int64(t.now))
		return err
	})
	if err == nil {
		v.Created = created
	}
	return err
}

// UpdateVenue writes a venue's reference, name and metadata.
func (r *Records) UpdateVenue(ctx context.Context, v *inventory.Venue, rec *inventory.Record) error {
	return r.write(ctx, "update venue", rec, func(t *transaction) error {
		metadata, err := t.checkVenue(v)
		if err != nil {
			return err
		}
		return t.must("update_venue", text(v.Reference), v.Name, metadata, v.Organizer, v.ID)
	})
}

// checkVenue locks the organizer, so that the reference that it finds free stays free until the
// commit, and returns the metadata's column.
func (t *transaction) checkVenue(v *inventory.Venue) (string, error) {
	if err := t.must("lock_organizer", v.Organizer); err != nil {
		return "", err
	}
	if v.Reference != "" {
		used, err := t.finds("venue_with_reference", v.Organizer, v.Reference, v.ID)
		if err != nil {
			return "", err
		}
		if used {
			return "", taken(v.Reference)
		}
	}
	return metadataText(v.Metadata)
}

// Venue reads one venue of an organizer.
func (r *Records) Venue(ctx context.Context, organizer, id string) (*inventory.Venue, error) {
	v, err := scanVenue(r.row(ctx, "venue", organizer, id))
	return v, answer("venue", err)
}

// Venues lists an organizer's venues.
func (r *Records) Venues(ctx context.Context, organizer string, p inventory.Page) ([]*inventory.Venue, error) {
	name, args := paged("venues", p, organizer)
	all, err := list(ctx, r, name, args, scanVenue)
	return all, answer("venues", err)
}

func scanVenue(row row) (*inventory.Venue, error) {
	v := new(inventory.Venue)
	var reference sql.NullString
	var metadata []byte
	err := row.Scan(&v.ID, &v.Organizer, &reference, &v.Name, &metadata, &v.Created)
	if err != nil {
		return nil, err
	}
	v.Reference = reference.String
	v.Metadata, err = metadataOf(metadata)
	return v, err
}

// InsertMap stores a map as the next version of its venue and sets m.Version and m.Created, before it
// calls answer to learn what the record shall keep; without one the record keeps its own Answer.
// answer may be called again when the transaction is. ErrNotFound when the venue is not m.Organizer's.
func (r *Records) InsertMap(ctx context.Context, m *inventory.MapVersion, data []byte, rec *inventory.Record, answer func() ([]byte, error)) error {
	return r.write(ctx, "insert map", rec, func(t *transaction) error {
		if err := t.must("lock_venue", m.Organizer, m.Venue); err != nil {
			return err
		}
		if err := t.row("next_version", m.Venue).Scan(&m.Version); err != nil {
			return err
		}
		m.Created = t.now
		_, err := t.exec("insert_map", m.ID, m.Venue, m.Version, m.Name, m.Seats, m.Areas, present(data), int64(m.Created))
		if err != nil || rec == nil || answer == nil {
			return err
		}
		kept, err := answer()
		if err != nil {
			return err
		}
		return t.must("answer_record", present(kept), rec.ID[:])
	})
}

// Map reads one version and its drawing, whoever owns it.
func (r *Records) Map(ctx context.Context, id string) (*inventory.MapVersion, []byte, error) {
	var data []byte
	m, err := scanMap(r.row(ctx, "map", id), &data)
	return m, data, answer("map", err)
}

// Maps lists a venue's versions. Maps have no reference, so the page's is ignored.
func (r *Records) Maps(ctx context.Context, venue string, p inventory.Page) ([]*inventory.MapVersion, error) {
	all, err := list(ctx, r, "maps", []any{venue, p.After, p.Limit}, func(row row) (*inventory.MapVersion, error) {
		return scanMap(row)
	})
	return all, answer("maps", err)
}

func scanMap(row row, more ...any) (*inventory.MapVersion, error) {
	m := new(inventory.MapVersion)
	columns := []any{&m.ID, &m.Venue, &m.Organizer, &m.Version, &m.Name, &m.Seats, &m.Areas, &m.Created}
	if err := row.Scan(append(columns, more...)...); err != nil {
		return nil, err
	}
	return m, nil
}
